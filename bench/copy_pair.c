/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/copy_pair.h"

#include "bench/host_common.h"
#include "bench/host_data.h"
#include "bench/pinned.h"
#include "kernels/copy.h"
#include "kernels/corrupt.h"
#include "kernels/pattern.h"

#include <stdio.h>
#include <string.h>

void copy_pair_plan(struct copy_pair *pair, const struct case_context *context, const struct gpu_device *gpu,
                    bool to_device, int os_node, int index) {
    const char *memory = case_text(context, "memory");
    size_t bytes = (size_t)case_number(context, "bytes");
    bool cold = strcmp(case_text(context, "cache"), "cold") == 0;
    *pair = (struct copy_pair){
        .gpu = gpu,
        .to_device = to_device,
        .kernel = strcmp(case_text(context, "engine"), "sm") == 0,
        .memory = strcmp(memory, "hostalloc") == 0  ? COPY_HOSTALLOC
                  : strcmp(memory, "pageable") == 0 ? COPY_PAGEABLE
                                                    : COPY_PINNED,
        .bytes = bytes,
        .window = cold && bytes > 0 && bytes < COPY_LARGE ? COPY_LARGE / bytes * bytes : bytes,
        .os_node = os_node,
        .seed = pattern_seed(context->seed, (uint32_t)index),
    };
}

static bool use(const struct copy_pair *pair, struct error *err) {
    return gpu_use(pair->gpu, err) || RELAY(err);
}

/* ---- making ---- */

static bool make_host(struct copy_pair *p, struct case_context *context, struct error *err) {
    if (p->memory == COPY_PAGEABLE) {
        if (!host_memory_suffices(p->window, err) ||
            !host_buffer_make(p->window, p->os_node, &p->pageable, err))
            return RELAY(err);
        p->host = p->pageable.data;
        host_tell_memory(context, &p->pageable, p->name_gpu);
        return true;
    }
    enum pinned_how how = p->memory == COPY_HOSTALLOC ? PINNED_HOSTALLOC : PINNED_REGISTERED;
    if (!pinned_take(context->shelf, how, p->window, p->os_node, p->to_device, &p->pinned, err))
        return RELAY(err);
    p->host = p->pinned->data;
    if (how == PINNED_REGISTERED)
        host_tell_memory(context, p->pinned, p->name_gpu);
    return true;
}

/* Filling takes as long as several copies, and a source is only read: an earlier item's data does as well. */
static void fill_host(struct copy_pair *p) {
    if (p->pinned != NULL && pinned_is_filled(p->pinned, p->window, &p->seed))
        return;
    host_data_fill(p->host, p->window, p->seed);
    if (p->pinned != NULL)
        pinned_mark(p->pinned, p->window, p->seed);
}

bool copy_pair_make(struct copy_pair *p, struct case_context *context, struct error *err) {
    if (p->bytes == 0 || p->bytes % 4 != 0)
        return FAIL(err, ERROR_DATA, "copies of %zu bytes cannot be checked: a multiple of 4 is needed",
                    p->bytes);
    if (!use(p, err) || !make_host(p, context, err) || !gpu_alloc(p->window, &p->device, err) ||
        (p->kernel && !gpu_device_address(p->host, &p->host_for_kernel, err)))
        return RELAY(err);
    if (p->to_device) {
        fill_host(p);
        return true;
    }
    if (p->pinned != NULL)
        pinned_mark(p->pinned, 0, 0);
    return gpu_check(pattern_fill_device(p->device, p->window, p->seed, NULL),
                     "cannot fill the device buffer", err) &&
           gpu_synchronize(err);
}

void copy_pair_free(struct copy_pair *p, struct shelf *shelf) {
    pinned_give(shelf, p->pinned);
    host_buffer_free(&p->pageable);
    gpu_free(p->device);
}

/* ---- copying ---- */

bool copy_pair_poison(struct copy_pair *p, struct error *err) {
    p->measuring = true;
    p->next = 0;
    p->touched = 0;
    /* With another seed every word is another one (kernels/pattern.h), so what an earlier copy left on the
     * host is wrong from now on; writing it all there would take as long as several copies. */
    if (!p->to_device)
        p->seed += 0x9e3779b9U;
    return use(p, err) &&
           gpu_check(pattern_fill_device(p->device, p->window, p->to_device ? ~p->seed : p->seed, NULL),
                     "cannot spoil the device buffer", err) &&
           gpu_synchronize(err);
}

static bool copy_one(struct copy_pair *p, gpu_stream stream, struct error *err) {
    size_t at = p->next * p->bytes;
    size_t bytes = p->measuring || p->bytes < COPY_WARM ? p->bytes : COPY_WARM;
    char *device = (char *)p->device + at;
    char *host = (char *)(p->kernel ? p->host_for_kernel : p->host) + at;
    p->next = at + 2 * p->bytes <= p->window ? p->next + 1 : 0;
    p->touched = at + p->bytes > p->touched ? at + p->bytes : p->touched;
    void *to = p->to_device ? device : host;
    const void *from = p->to_device ? host : device;
    if (p->kernel)
        return gpu_check(copy_kernel_launch(to, from, bytes, stream), "cannot launch the copy kernel", err) ||
               RELAY(err);
    return gpu_copy_async(to, from, bytes, stream, err) || RELAY(err);
}

bool copy_pair_enqueue(struct copy_pair *p, gpu_stream stream, int count, struct error *err) {
    for (int i = 0; i < count; i++)
        if (!copy_one(p, stream, err))
            return RELAY(err);
    return true;
}

/* ---- checking ---- */

static bool damage_device(struct copy_pair *p, struct copy_pair *other, const char *how, uint64_t offset,
                          struct error *err) {
    int code = strcmp(how, "word") == 0    ? corrupt_word_device(p->device, offset, NULL)
               : strcmp(how, "shift") == 0 ? corrupt_shift_device(p->device, offset, NULL)
                                           : corrupt_swap_device(p->device, other->device, p->window, NULL);
    return gpu_check(code, "cannot damage the device buffer", err) && gpu_synchronize(err);
}

static void damage_host(struct copy_pair *p, struct copy_pair *other, const char *how, uint64_t offset) {
    if (strcmp(how, "word") == 0)
        corrupt_word_host(p->host, offset);
    else if (strcmp(how, "shift") == 0)
        corrupt_shift_host(p->host, offset);
    else
        corrupt_swap_host(p->host, other->host, p->window);
}

bool copy_pair_damage(struct copy_pair *p, struct copy_pair *other, const char *how, uint64_t seed,
                      uint64_t *offset, struct error *err) {
    bool swap = strcmp(how, "swap") == 0;
    if (p->touched <= CORRUPT_SHIFT_BYTES || (swap && other == NULL))
        return FAIL(err, ERROR_DATA, "nothing here can be damaged by '%s'", how);
    uint64_t room = p->touched - CORRUPT_SHIFT_BYTES;
    *offset = swap ? 0 : seed % room / CORRUPT_WORD_BYTES * CORRUPT_WORD_BYTES;
    if (!use(p, err) || (swap && (!copy_one(other, NULL, err) || !gpu_synchronize(err))))
        return RELAY(err);
    if (p->to_device)
        return damage_device(p, other, how, *offset, err);
    damage_host(p, other, how, *offset);
    return true;
}

bool copy_pair_verify(struct copy_pair *p, struct verification *out, struct error *err) {
    struct pattern_fault fault = {0};
    if (p->touched == 0)
        return FAIL(err, ERROR_VERIFY, "nothing was copied since the destination was spoilt");
    if (!p->to_device)
        host_data_check(p->host, p->touched, p->seed, &fault);
    else if (!use(p, err) || !gpu_check(pattern_check_device(p->device, p->touched, p->seed, &fault, NULL),
                                        "cannot check the device buffer", err))
        return RELAY(err);
    if (fault.bad > 0 && out->bad == 0) {
        snprintf(out->what, sizeof out->what, "%s buffer%s%s", p->to_device ? "device" : "host",
                 p->name_gpu ? " of GPU " : "", p->name_gpu ? p->gpu->bdf : "");
        out->first_bad_offset = fault.first_offset;
        out->expected = fault.expected;
        out->found = fault.found;
    } else if (out->what[0] == '\0') {
        snprintf(out->what, sizeof out->what, "%s buffer", p->to_device ? "device" : "host");
    }
    out->checked_bytes += p->touched;
    out->bad += fault.bad;
    return true;
}
