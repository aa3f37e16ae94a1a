/* SPDX-License-Identifier: Apache-2.0 */
/* launch.gap: from kernel to kernel on the device. Empty kernels queued behind the gate, time by events, per
 * kernel. A case of its own and no metric of launch.latency, since no way of waiting and no host clock is in
 * it: what moves the call but not the gap is the CPU's doing. It times itself, because the idle time has to
 * come before the gate closes. */
#include "bench/host_common.h"
#include "bench/launch_common.h"
#include "kernels/launch.h"

enum { KERNELS = 128, BUSY_SAMPLES = 30, WARM = 3 };

static const struct metric metrics[] = {{"device", QUANTITY_TIME, TIMING_HOST}, {0}};

static const struct series_row series[] = {
    {.metric = "device",
     .statistic = "p50",
     .delta_rel = 0.05,
     .delta_abs = 0.1,
     .between_rel = 0.02,
     .descriptive = true},
    {0},
};

static void instances(const struct node *node, struct instance_list *out) {
    for (size_t i = 0; i < node->gpus.count; i++)
        for (int idle = 0; idle < 2; idle++) {
            struct instance *instance =
                launch_instance(node, &node->gpus.items[i], &metrics[0],
                                host_first_gpu_of_node(node, i) ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH, out);
            launch_set_after(instance, idle ? LAUNCH_IDLE_US : 0);
            js_set_int(instance->params, "kernels", KERNELS);
            instance->samples = idle ? LAUNCH_IDLE_SAMPLES : BUSY_SAMPLES;
            instance->seconds = idle ? LAUNCH_IDLE_SAMPLES * LAUNCH_IDLE_US * 1e-6 + 0.03 : 0.05;
        }
}

static bool queue(void *arg, gpu_stream stream, struct error *err) {
    for (int i = 0; i < *(const int *)arg; i++)
        if (!gpu_check(empty_launch(stream), "cannot launch an empty kernel", err))
            return RELAY(err);
    return true;
}

static bool sample_on(struct case_context *context, struct launch_bench *b, struct samples *out,
                      struct error *err) {
    int64_t idle_us = case_number(context, "idle_us");
    int kernels = (int)case_number(context, "kernels");
    if (kernels < 1 || kernels > GPU_GATE_MAX_OPERATIONS)
        return FAIL(err, ERROR_DATA, "%d kernels: 1 to %d may wait behind a gate", kernels,
                    GPU_GATE_MAX_OPERATIONS);
    for (int i = 0; i < WARM; i++)
        if (!queue(&kernels, b->stream, err) || !gpu_stream_wait(b->stream, err))
            return RELAY(err);
    for (int i = 0; i < context->wanted_samples; i++) {
        double seconds = 0;
        if (idle_us > 0)
            launch_rest(idle_us);
        if (!launch_gated(b, queue, &kernels, &seconds, err))
            return RELAY(err);
        samples_add(out, seconds * 1e6 / kernels);
    }
    return true;
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    return launch_sample(context, sample_on, out, err) || RELAY(err);
}

const struct bench_case case_launch_gap = {
    .name = "launch.gap",
    .version = 1,
    .summary = "time from one empty kernel to the next on the device",
    .block = BLOCK_LATENCY,
    .quiet = true,
    .needs = {.gpus = 1},
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
