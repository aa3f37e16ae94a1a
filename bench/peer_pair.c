/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peer_pair.h"

#include "bench/peer_memory.h"
#include "gpu/peers.h"
#include "kernels/copy.h"
#include "kernels/corrupt.h"
#include "kernels/pattern.h"

#include <stdio.h>
#include <string.h>

void peer_pair_plan(struct peer_pair *pair, const struct case_context *context, const struct gpu_device *from,
                    const struct gpu_device *to, int index) {
    size_t bytes = (size_t)case_number(context, "bytes");
    const char *access = case_text(context, "access");
    if (access[0] == '\0') /* where the case's name says it, it is no part of the key */
        access = js_get_string(context->attributes, "access", "");
    bool cold = strcmp(case_text(context, "cache"), "cold") == 0;
    *pair = (struct peer_pair){
        .from = from,
        .to = to,
        .read = strcmp(access, "read") == 0,
        .kernel = strcmp(case_text(context, "engine"), "sm") == 0,
        .direct = strcmp(case_text(context, "peer"), "off") != 0,
        .bytes = bytes,
        .window = cold && bytes > 0 && bytes < PEER_LARGE ? PEER_LARGE / bytes * bytes : bytes,
        .seed = pattern_seed(context->seed, (uint32_t)index),
    };
}

const struct gpu_device *peer_pair_initiator(const struct peer_pair *p) {
    return p->read ? p->to : p->from;
}

/* ---- making ---- */

static bool map_one(const struct gpu_device *from, const struct gpu_device *to, struct error *err) {
    switch (gpu_peer_enable(from, to, err)) {
    case GPU_PEER_ON:
        return true;
    case GPU_PEER_REFUSED:
        return error_context(err, "no P2P");
    case GPU_PEER_FAILED:
        break;
    }
    return RELAY(err);
}

/* Both ways: which of the two mappings a copy goes through is the driver's choice. */
static bool set_access(const struct peer_pair *p, struct error *err) {
    if (p->direct)
        return map_one(p->from, p->to, err) && map_one(p->to, p->from, err);
    return gpu_peer_disable(p->from, p->to, err) && gpu_peer_disable(p->to, p->from, err);
}

bool peer_pair_make(struct peer_pair *p, struct case_context *context, struct error *err) {
    if (p->bytes == 0 || p->bytes % 16 != 0)
        return FAIL(err, ERROR_DATA, "copies of %zu bytes cannot be checked: a multiple of 16 is needed",
                    p->bytes);
    if (p->kernel && !p->direct)
        return FAIL(err, ERROR_DATA, "without peer access a kernel cannot reach the other GPU");
    return set_access(p, err) && peer_memory_take(context->shelf, p->to, p->window, &p->target, err) &&
           peer_memory_take(context->shelf, p->from, p->window, &p->source, err) &&
           gpu_check(pattern_fill_device(p->source, p->window, p->seed, NULL), "cannot fill the source",
                     err) &&
           gpu_synchronize(err);
}

void peer_pair_free(struct peer_pair *p, struct shelf *shelf) {
    peer_memory_give(shelf, p->source);
    peer_memory_give(shelf, p->target);
    p->source = p->target = NULL;
}

/* ---- copying ---- */

bool peer_pair_poison(struct peer_pair *p, struct error *err) {
    p->next = 0;
    p->touched = 0;
    return gpu_use(p->to, err) &&
           gpu_check(pattern_fill_device(p->target, p->window, ~p->seed, NULL),
                     "cannot spoil the destination", err) &&
           gpu_synchronize(err);
}

static bool copy_block(struct peer_pair *p, size_t at, size_t bytes, gpu_stream stream, struct error *err) {
    char *to = (char *)p->target + at;
    const char *from = (const char *)p->source + at;
    p->touched = at + bytes > p->touched ? at + bytes : p->touched;
    if (p->kernel)
        return gpu_check(copy_kernel_launch(to, from, bytes, stream), "cannot launch the copy kernel", err) ||
               RELAY(err);
    return gpu_copy_async(to, from, bytes, stream, err) || RELAY(err);
}

bool peer_pair_enqueue(struct peer_pair *p, gpu_stream stream, int count, struct error *err) {
    for (int i = 0; i < count; i++) {
        size_t at = p->next * p->bytes;
        p->next = at + 2 * p->bytes <= p->window ? p->next + 1 : 0;
        if (!copy_block(p, at, p->bytes, stream, err))
            return RELAY(err);
    }
    return true;
}

bool peer_pair_enqueue_part(struct peer_pair *p, gpu_stream stream, int count, struct error *err) {
    size_t bytes = p->bytes < PEER_WARM ? p->bytes : PEER_WARM;
    for (int i = 0; i < count; i++)
        if (!copy_block(p, 0, bytes, stream, err))
            return RELAY(err);
    return true;
}

/* ---- checking ---- */

bool peer_pair_damage(struct peer_pair *p, const char *how, uint64_t seed, uint64_t *offset,
                      struct error *err) {
    bool other = strcmp(how, "pair") == 0;
    if (p->touched <= CORRUPT_SHIFT_BYTES)
        return FAIL(err, ERROR_DATA, "too little was copied to damage it");
    uint64_t room = p->touched - CORRUPT_SHIFT_BYTES;
    *offset = other ? 0 : seed % room / CORRUPT_WORD_BYTES * CORRUPT_WORD_BYTES;
    if (!gpu_use(p->to, err))
        return RELAY(err);
    int code = other ? pattern_fill_device(p->target, p->touched, pattern_seed(seed, UINT16_MAX), NULL)
               : strcmp(how, "shift") == 0 ? corrupt_shift_device(p->target, *offset, NULL)
                                           : corrupt_word_device(p->target, *offset, NULL);
    return gpu_check(code, "cannot damage the destination", err) && gpu_synchronize(err);
}

bool peer_pair_verify(struct peer_pair *p, struct verification *out, struct error *err) {
    struct pattern_fault fault = {0};
    if (p->touched == 0)
        return FAIL(err, ERROR_VERIFY, "nothing was copied since the destination was spoilt");
    if (!gpu_use(p->to, err) || !gpu_check(pattern_check_device(p->target, p->touched, p->seed, &fault, NULL),
                                           "cannot check the destination", err))
        return RELAY(err);
    if (out->what[0] == '\0' || (fault.bad > 0 && out->bad == 0))
        snprintf(out->what, sizeof out->what, "memory of %s, from %s", p->to->bdf, p->from->bdf);
    if (fault.bad > 0 && out->bad == 0) {
        out->first_bad_offset = fault.first_offset;
        out->expected = fault.expected;
        out->found = fault.found;
    }
    out->checked_bytes += p->touched;
    out->bad += fault.bad;
    return true;
}
