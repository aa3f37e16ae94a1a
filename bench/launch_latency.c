/* SPDX-License-Identifier: Apache-2.0 */
/* launch.latency: an empty kernel from its issue to its completion as the host sees it, by the way of
 * waiting, after a busy and after an idle time. */
#include "base/clock.h"
#include "bench/host_common.h"
#include "kernels/launch.h"
#include "run/case.h"

#include <string.h>
#include <time.h>

enum { BUSY_SAMPLES = 1000, IDLE_SAMPLES = 30, IDLE_US = 10000, WARM = 200 };

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

static const char *const waits[] = {"spin", "block", "poll"};

static void add(const struct node *node, const struct gpu_info *gpu, bool first_of_node, int wait, bool idle,
                struct instance_list *out) {
    bool primary = first_of_node && (idle ? wait == GPU_WAIT_BLOCK : wait == GPU_WAIT_SPIN);
    struct instance *instance = instance_add(out, &metrics[0], primary ? LEVEL_PRIMARY : LEVEL_DESCRIPTIVE);
    js_set_string(instance->where, "gpu", gpu->uuid);
    js_set_string(instance->attributes, "bdf", gpu->bdf);
    js_set_string(instance->params, "wait", waits[wait]);
    js_set_string(instance->params, "after", idle ? "idle" : "busy");
    js_set_int(instance->params, "idle_us", idle ? IDLE_US : 0);
    instance->cpu = topology_pin_cpu(node->topology, topology_device_node(node->topology, gpu->bdf));
    instance->samples = idle ? IDLE_SAMPLES : BUSY_SAMPLES;
    instance->seconds = idle ? IDLE_SAMPLES * IDLE_US * 1e-6 + 0.02 : 0.03;
    host_mark(node, instance);
}

static void instances(const struct node *node, struct instance_list *out) {
    bool seen[65] = {false}; /* by node; the last: not known */
    for (size_t i = 0; i < node->gpus.count; i++) {
        const struct gpu_info *gpu = &node->gpus.items[i];
        int near = topology_device_node(node->topology, gpu->bdf);
        size_t slot = near >= 0 && near < 64 ? (size_t)near : 64;
        for (int wait = 0; wait < 3; wait++) {
            add(node, gpu, !seen[slot], wait, false, out);
            add(node, gpu, !seen[slot], wait, true, out);
        }
        seen[slot] = true;
    }
}

static void rest(int64_t us) {
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

static bool launch_and_wait(gpu_stream stream, enum gpu_wait how, gpu_event event, struct error *err) {
    return gpu_check(empty_launch(stream), "launching an empty kernel", err) &&
           gpu_wait_for(stream, how, event, err);
}

static bool sample_on(struct case_context *context, gpu_stream stream, gpu_event event, struct samples *out,
                      struct error *err) {
    int64_t idle_us = case_number(context, "idle_us");
    int how = 0;
    while (how < 2 && strcmp(case_text(context, "wait"), waits[how]) != 0)
        how++;
    for (int i = 0; i < WARM; i++)
        if (!launch_and_wait(stream, (enum gpu_wait)how, event, err))
            return RELAY(err);
    for (int i = 0; i < context->wanted_samples; i++) {
        if (idle_us > 0)
            rest(idle_us);
        int64_t start = clock_raw();
        if (!launch_and_wait(stream, (enum gpu_wait)how, event, err))
            return RELAY(err);
        samples_add(out, (double)(clock_raw() - start) / 1e3);
    }
    return true;
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    gpu_stream stream = NULL;
    gpu_event event = NULL;
    bool good = gpu_check(kernels_load(), "loading kernels", err) && gpu_stream_make(&stream, err) &&
                gpu_event_make(true, &event, err) && sample_on(context, stream, event, out, err);
    gpu_event_free(event);
    gpu_stream_free(stream);
    return good;
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
