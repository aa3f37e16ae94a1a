/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/copy_common.h"

#include "base/mem.h"
#include "bench/link_limit.h"
#include "kernels/corrupt.h"
#include "kernels/launch.h"
#include "kernels/pattern.h"
#include "system/pin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 512 << 20, OPERATIONS = 4, SAMPLES = 3, POISON_BUFFER = 7 };

/* One host and one device buffer; the data of a pair is its own, so that exchanged pairs show. */
struct copy_pair {
    struct host_buffer paged; /* "pinned": our own memory, registered */
    void *hostalloc;
    void *host; /* one of the two */
    void *device;
    uint32_t seed;
};

struct copy_state {
    size_t bytes;
    bool to_device;
    bool registered[2];
    struct copy_pair pairs[2]; /* the second only for corrupt=swap */
    int n_pairs;
};

struct instance *copy_instance(const struct node *node, const struct gpu_info *gpu,
                               const struct metric *metric, enum level level, int64_t bytes,
                               const char *memory, struct instance_list *out) {
    struct instance *instance = instance_add(out, metric, level);
    int near = topology_device_node(node->topology, gpu->bdf);
    js_set_string(instance->where, "gpu", gpu->uuid);
    js_set_string(instance->where, "role", "local");
    js_set_string(instance->attributes, "bdf", gpu->bdf);
    js_set_int(instance->attributes, "os_node", topology_node_os_index(node->topology, near));
    js_set_int(instance->params, "bytes", bytes);
    js_set_string(instance->params, "memory", memory);
    instance->cpu = topology_pin_cpu(node->topology, near);
    return instance;
}

void copy_bandwidth_instances(const struct node *node, const struct metric *metric,
                              struct instance_list *out) {
    static const char *const damages[] = {"word", "shift", "swap"};
    for (size_t i = 0; i < node->gpus.count; i++)
        for (int kind = 0; kind < 2 + (i == 0 ? 3 : 0); kind++) {
            const struct gpu_info *gpu = &node->gpus.items[i];
            enum level level = kind == 0 ? LEVEL_PRIMARY : kind == 1 ? LEVEL_DESCRIPTIVE : LEVEL_HIDDEN;
            struct instance *instance =
                copy_instance(node, gpu, metric, level, LARGE, kind == 1 ? "hostalloc" : "pinned", out);
            if (kind >= 2)
                js_set_string(instance->params, "corrupt", damages[kind - 2]);
            instance->samples = SAMPLES;
            instance->operations = OPERATIONS;
            instance->seconds = kind == 1 ? 0.55 : 0.45;
            link_set_limits(node, gpu, instance);
        }
}

static bool make_pair(struct copy_state *s, int index, const struct case_context *context,
                      struct error *err) {
    struct copy_pair *p = &s->pairs[index];
    int os_node = (int)js_get_int(context->attributes, "os_node", -1);
    p->seed = pattern_seed(context->seed, (uint32_t)index);
    if (strcmp(case_text(context, "memory"), "hostalloc") == 0) {
        if (!gpu_host_alloc(s->bytes, &p->hostalloc, err))
            return RELAY(err);
        p->host = p->hostalloc;
    } else {
        if (!host_buffer_make(s->bytes, os_node, &p->paged, err) ||
            !gpu_register(p->paged.data, s->bytes, err))
            return RELAY(err);
        s->registered[index] = true;
        p->host = p->paged.data;
        js_set_int(context->extra, "host_node", p->paged.found_node);
        if (p->paged.on_node < 1)
            js_append_string(context->flags, "memory-not-local");
    }
    if (!gpu_alloc(s->bytes, &p->device, err))
        return RELAY(err);
    if (s->to_device) {
        pattern_fill_host(p->host, s->bytes, p->seed);
        return true;
    }
    return gpu_check(pattern_fill_device(p->device, s->bytes, p->seed, NULL), "filling the device buffer",
                     err) &&
           gpu_synchronize(err);
}

static bool prepare(struct case_context *context, bool to_device, struct error *err) {
    struct copy_state *s = mem_zeroed(1, sizeof *s);
    context->state = s;
    s->bytes = (size_t)case_number(context, "bytes");
    s->to_device = to_device;
    s->n_pairs = strcmp(case_text(context, "corrupt"), "swap") == 0 ? 2 : 1;
    if (!gpu_check(kernels_load(), "loading kernels", err))
        return RELAY(err);
    for (int i = 0; i < s->n_pairs; i++)
        if (!make_pair(s, i, context, err))
            return RELAY(err);
    return true;
}

bool copy_prepare_h2d(struct case_context *context, struct error *err) {
    return prepare(context, true, err);
}

bool copy_prepare_d2h(struct case_context *context, struct error *err) {
    return prepare(context, false, err);
}

bool copy_poison(struct case_context *context, struct error *err) {
    struct copy_state *s = context->state;
    uint32_t other = pattern_seed(context->seed, POISON_BUFFER);
    for (int i = 0; i < s->n_pairs; i++) {
        if (!s->to_device)
            memset(s->pairs[i].host, 0xa5, s->bytes);
        else if (!gpu_check(pattern_fill_device(s->pairs[i].device, s->bytes, other, NULL),
                            "spoiling the device buffer", err))
            return RELAY(err);
    }
    return gpu_synchronize(err);
}

static bool copy_one(const struct copy_state *s, int index, gpu_stream stream, struct error *err) {
    const struct copy_pair *p = &s->pairs[index];
    return s->to_device ? gpu_copy_async(p->device, p->host, s->bytes, stream, err)
                        : gpu_copy_async(p->host, p->device, s->bytes, stream, err);
}

bool copy_enqueue(struct case_context *context, gpu_stream stream, int count, struct error *err) {
    for (int i = 0; i < count; i++)
        if (!copy_one(context->state, 0, stream, err))
            return RELAY(err);
    return true;
}

double copy_work(const struct case_context *context) {
    return (double)((const struct copy_state *)context->state)->bytes;
}

static bool damage_device(struct copy_state *s, const char *how, uint64_t offset, struct error *err) {
    void *device = s->pairs[0].device;
    int code = strcmp(how, "word") == 0    ? corrupt_word_device(device, offset, NULL)
               : strcmp(how, "shift") == 0 ? corrupt_shift_device(device, offset, NULL)
                                           : corrupt_swap_device(device, s->pairs[1].device, s->bytes, NULL);
    return gpu_check(code, "damaging the device buffer", err) && gpu_synchronize(err);
}

static void damage_host(struct copy_state *s, const char *how, uint64_t offset) {
    void *host = s->pairs[0].host;
    if (strcmp(how, "word") == 0)
        corrupt_word_host(host, offset);
    else if (strcmp(how, "shift") == 0)
        corrupt_shift_host(host, offset);
    else
        corrupt_swap_host(host, s->pairs[1].host, s->bytes);
}

/* The hidden parameter: what the copy left is damaged at a place that the seed chooses. */
static bool damage(struct case_context *context, struct error *err) {
    struct copy_state *s = context->state;
    const char *how = case_text(context, "corrupt");
    if (how[0] == '\0')
        return true;
    uint64_t room = s->bytes - CORRUPT_SHIFT_BYTES;
    bool swap = strcmp(how, "swap") == 0;
    uint64_t offset = swap ? 0 : context->seed % room / CORRUPT_WORD_BYTES * CORRUPT_WORD_BYTES;
    js_set_int(context->extra, "corrupted_at", (int64_t)offset);
    if (swap && (!copy_one(s, 1, NULL, err) || !gpu_synchronize(err)))
        return RELAY(err);
    if (s->to_device)
        return damage_device(s, how, offset, err);
    damage_host(s, how, offset);
    return true;
}

bool copy_verify(struct case_context *context, struct verification *out, struct error *err) {
    struct copy_state *s = context->state;
    struct pattern_fault fault = {0};
    const struct copy_pair *p = &s->pairs[0];
    if (!damage(context, err))
        return RELAY(err);
    if (s->to_device) {
        if (!gpu_check(pattern_check_device(p->device, s->bytes, p->seed, &fault, NULL),
                       "checking the device buffer", err))
            return RELAY(err);
    } else {
        pattern_check_host(p->host, s->bytes, p->seed, &fault);
    }
    snprintf(out->what, sizeof out->what, "%s buffer", s->to_device ? "device" : "host");
    out->checked_bytes = s->bytes;
    out->bad = fault.bad;
    out->first_bad_offset = fault.first_offset;
    out->expected = fault.expected;
    out->found = fault.found;
    return true;
}

void copy_finish(struct case_context *context) {
    struct copy_state *s = context->state;
    for (int i = 0; s != NULL && i < 2; i++) {
        struct copy_pair *p = &s->pairs[i];
        if (s->registered[i])
            gpu_unregister(p->paged.data);
        host_buffer_free(&p->paged);
        gpu_host_free(p->hostalloc);
        gpu_free(p->device);
    }
    free(s);
    context->state = NULL;
}
