/* SPDX-License-Identifier: Apache-2.0 */
/* launch.latency: an empty kernel from its issue to its completion as the host sees it, by the way of
 * waiting, after a busy and after an idle time. */
#include "base/clock.h"
#include "bench/host_common.h"
#include "bench/launch_common.h"
#include "kernels/launch.h"

enum { BUSY_SAMPLES = 1000, WARM = 200 };

static const struct metric metrics[] = {{"call", QUANTITY_TIME, TIMING_HOST}, {0}};

static const struct series_row series[] = {
    {.metric = "call", .statistic = "p50", .delta_rel = 0.05, .delta_abs = 0.2, .between_rel = 0.03},
    {.metric = "call",
     .statistic = "p99",
     .only = "after=busy",
     .delta_rel = 0.25,
     .between_rel = 0.15,
     .descriptive = true},
    {0},
};

static void instances(const struct node *node, struct instance_list *out) {
    for (size_t i = 0; i < node->gpus.count; i++)
        for (int how = 0; how < LAUNCH_WAITS; how++)
            for (int idle = 0; idle < 2; idle++) {
                enum level level = launch_level(host_first_gpu_of_node(node, i), (enum gpu_wait)how, idle);
                struct instance *instance =
                    launch_instance(node, &node->gpus.items[i], &metrics[0], level, out);
                launch_set_wait(node, instance, (enum gpu_wait)how);
                launch_set_after(instance, idle ? LAUNCH_IDLE_US : 0);
                instance->samples = idle ? LAUNCH_IDLE_SAMPLES : BUSY_SAMPLES;
                instance->seconds = idle ? LAUNCH_IDLE_SAMPLES * LAUNCH_IDLE_US * 1e-6 + 0.015 : 0.02;
            }
}

static bool launch_and_wait(struct launch_bench *b, enum gpu_wait how, struct error *err) {
    return gpu_check(empty_launch(b->stream), "cannot launch an empty kernel", err) &&
           gpu_wait_for(b->stream, how, b->sleeping, err);
}

static bool sample_on(struct case_context *context, struct launch_bench *b, struct samples *out,
                      struct error *err) {
    int64_t idle_us = case_number(context, "idle_us");
    enum gpu_wait how = launch_wait(context);
    for (int i = 0; i < WARM; i++)
        if (!launch_and_wait(b, how, err))
            return RELAY(err);
    for (int i = 0; i < context->wanted_samples; i++) {
        if (idle_us > 0)
            launch_rest(idle_us);
        int64_t start = clock_raw();
        if (!launch_and_wait(b, how, err))
            return RELAY(err);
        samples_add(out, (double)(clock_raw() - start) / 1e3);
    }
    return true;
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    return launch_sample(context, sample_on, out, err) || RELAY(err);
}

const struct bench_case case_launch_latency = {
    .name = "launch.latency",
    .version = 1,
    .summary = "time of an empty kernel, from its issue to its end as the host sees it",
    .block = BLOCK_LATENCY,
    .quiet = true,
    .needs = {.gpus = 1},
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
