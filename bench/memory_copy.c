/* SPDX-License-Identifier: Apache-2.0 */
/* memory.copy: device memory copied to device memory, bytes read plus bytes written. */
#include "base/mem.h"
#include "base/text.h"
#include "kernels/pattern.h"
#include "run/case.h"

#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 512 << 20, OPERATIONS = 16, SAMPLES = 3, ROOM_MIB = 1024 };

static const struct metric metrics[] = {{"bandwidth", QUANTITY_BANDWIDTH, TIMING_GATED}, {0}};

static const struct series_row series[] = {
    {.metric = "bandwidth", .statistic = "", .delta_rel = 0.02, .between_rel = 0.003},
    {0},
};

struct state {
    void *from, *to;
    uint32_t seed;
};

static void instances(const struct node *node, struct instance_list *out) {
    for (size_t i = 0; i < node->gpus.count; i++) {
        const struct gpu_info *gpu = &node->gpus.items[i];
        struct instance *instance = instance_add(out, &metrics[0], LEVEL_PRIMARY);
        js_set_string(instance->where, "gpu", gpu->uuid);
        js_set_string(instance->attributes, "bdf", gpu->bdf);
        js_set_int(instance->params, "bytes", BYTES);
        js_set_string(instance->params, "cache", "cold"); /* each buffer is over three times any L2 cache */
        instance->cpu = topology_pin_cpu(node->topology, topology_device_node(node->topology, gpu->bdf));
        instance->operations = OPERATIONS;
        instance->samples = SAMPLES;
        instance->seconds = 0.04;
        /* Memory clock × 2 (both edges) × bus width ÷ 8, as NVML gives them. */
        if (gpu->mem_clock_max_mhz > 0 && gpu->memory_bus_bits > 0)
            instance->limit = instance->limit_raw =
                gpu->mem_clock_max_mhz * 2e6 * gpu->memory_bus_bits / 8 / 1e9;
        if (gpu->memory_mib >= 0 && gpu->memory_mib < 2 * (BYTES >> 20) + ROOM_MIB) {
            struct text why = {0};
            text_addf(&why, "needs %d MiB of device memory, GPU %d has %lld", 2 * (BYTES >> 20) + ROOM_MIB,
                      gpu->index, (long long)gpu->memory_mib);
            instance->skip = text_take(&why);
        }
    }
}

static bool fill(void *buffer, uint32_t seed, struct error *err) {
    return gpu_check(pattern_fill_device(buffer, BYTES, seed, NULL), "cannot fill a device buffer", err) &&
           gpu_synchronize(err);
}

static bool prepare(struct case_context *context, struct error *err) {
    struct state *s = mem_zeroed(1, sizeof *s);
    context->state = s;
    s->seed = pattern_seed(context->seed, 0);
    return gpu_alloc(BYTES, &s->from, err) && gpu_alloc(BYTES, &s->to, err) && fill(s->from, s->seed, err);
}

static bool poison(struct case_context *context, struct error *err) {
    struct state *s = context->state;
    return fill(s->to, pattern_seed(context->seed, 1), err);
}

static bool enqueue(struct case_context *context, gpu_stream stream, int count, struct error *err) {
    struct state *s = context->state;
    for (int i = 0; i < count; i++)
        if (!gpu_copy_async(s->to, s->from, BYTES, stream, err))
            return RELAY(err);
    return true;
}

static bool verify(struct case_context *context, struct verification *out, struct error *err) {
    struct state *s = context->state;
    struct pattern_fault fault = {0};
    if (!gpu_check(pattern_check_device(s->to, BYTES, s->seed, &fault, NULL), "cannot check the copy", err))
        return RELAY(err);
    snprintf(out->what, sizeof out->what, "copied buffer");
    out->checked_bytes = BYTES;
    out->bad = fault.bad;
    out->first_bad_offset = fault.first_offset;
    out->expected = fault.expected;
    out->found = fault.found;
    return true;
}

static double work(const struct case_context *context) {
    (void)context;
    return 2.0 * BYTES; /* read and written */
}

static void finish(struct case_context *context) {
    struct state *s = context->state;
    if (s != NULL) {
        gpu_free(s->from);
        gpu_free(s->to);
    }
    free(s);
    context->state = NULL;
}

const struct bench_case case_memory_copy = {
    .name = "memory.copy",
    .version = 1,
    .summary = "device memory bandwidth of a copy, read and write counted",
    .block = BLOCK_COPY,
    .needs = {.gpus = 1},
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .prepare = prepare,
    .poison = poison,
    .enqueue = enqueue,
    .verify = verify,
    .work = work,
    .finish = finish,
};
