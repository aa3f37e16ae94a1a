/* SPDX-License-Identifier: Apache-2.0 */
/* launch.graph: a graph of empty kernels in a row. call: from its launch to its completion as the host sees
 * it. node: time on the device (behind the gate, by events) per node. */
#include "base/clock.h"
#include "base/mem.h"
#include "bench/host_common.h"
#include "bench/launch_common.h"
#include "kernels/launch.h"

#include <stdio.h>
#include <stdlib.h>

enum { NODES = 64, BUSY_SAMPLES = 500, NODE_SAMPLES = 30, WARM = 50 };

static const struct metric metrics[] = {
    {"call", QUANTITY_TIME, TIMING_HOST},
    {"node", QUANTITY_TIME, TIMING_HOST},
    {0},
};

static const struct series_row series[] = {
    {.metric = "call", .statistic = "p50", .delta_rel = 0.05, .delta_abs = 0.2, .between_rel = 0.03},
    {.metric = "call",
     .statistic = "p99",
     .only = "after=busy",
     .delta_rel = 0.25,
     .between_rel = 0.15,
     .descriptive = true},
    {.metric = "node",
     .statistic = "p50",
     .delta_rel = 0.05,
     .delta_abs = 0.1,
     .between_rel = 0.02,
     .descriptive = true},
    {0},
};

struct state {
    struct launch_bench bench;
    int nodes;
    gpu_graph empty, counting; /* made the same way, of other kernels */
    size_t empty_nodes, counting_nodes;
    uint32_t *counter; /* on the device */
};

static struct instance *add(const struct node *node, const struct gpu_info *gpu, const struct metric *metric,
                            enum level level, int64_t idle_us, struct instance_list *out) {
    struct instance *instance = launch_instance(node, gpu, metric, level, out);
    launch_set_after(instance, idle_us);
    js_set_int(instance->params, "nodes", NODES);
    instance->samples = LAUNCH_IDLE_SAMPLES;
    instance->seconds = LAUNCH_IDLE_SAMPLES * LAUNCH_IDLE_US * 1e-6 + 0.025;
    return instance;
}

static void instances(const struct node *node, struct instance_list *out) {
    for (size_t i = 0; i < node->gpus.count; i++)
        for (int idle = 0; idle < 2; idle++) {
            const struct gpu_info *gpu = &node->gpus.items[i];
            int64_t idle_us = idle ? LAUNCH_IDLE_US : 0;
            for (int how = 0; how < LAUNCH_WAITS; how++) {
                enum level level = launch_level(host_first_gpu_of_node(node, i), (enum gpu_wait)how, idle);
                struct instance *instance = add(node, gpu, &metrics[0], level, idle_us, out);
                launch_set_wait(node, instance, (enum gpu_wait)how);
                if (!idle) {
                    instance->samples = BUSY_SAMPLES;
                    instance->seconds = 0.07;
                }
            }
            enum level level = host_first_gpu_of_node(node, i) ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH;
            struct instance *instance = add(node, gpu, &metrics[1], level, idle_us, out);
            if (!idle) {
                instance->samples = NODE_SAMPLES;
                instance->seconds = 0.05;
            }
        }
}

/* ---- the graphs ---- */

static bool queue_empty(void *arg, gpu_stream stream, struct error *err) {
    const struct state *s = arg;
    for (int i = 0; i < s->nodes; i++)
        if (!gpu_check(empty_launch(stream), "cannot launch an empty kernel", err))
            return RELAY(err);
    return true;
}

static bool queue_counting(void *arg, gpu_stream stream, struct error *err) {
    const struct state *s = arg;
    for (int i = 0; i < s->nodes; i++)
        if (!gpu_check(count_launch(s->counter, (uint32_t)i, stream), "cannot launch a counting kernel", err))
            return RELAY(err);
    return true;
}

static bool launch_empty(void *arg, gpu_stream stream, struct error *err) {
    return gpu_graph_launch(((const struct state *)arg)->empty, stream, err) || RELAY(err);
}

static bool prepare(struct case_context *context, struct error *err) {
    struct state *s = mem_zeroed(1, sizeof *s);
    void *counter = NULL;
    context->state = s;
    s->nodes = (int)case_number(context, "nodes");
    if (!launch_bench_make(&s->bench, err) || !gpu_alloc(sizeof *s->counter, &counter, err))
        return RELAY(err);
    s->counter = counter;
    gpu_stream stream = s->bench.stream;
    if (!gpu_graph_capture(stream, queue_empty, s, &s->empty, &s->empty_nodes, err) ||
        !gpu_graph_capture(stream, queue_counting, s, &s->counting, &s->counting_nodes, err) ||
        !gpu_graph_upload(s->empty, stream, err) || !gpu_stream_wait(stream, err))
        return RELAY(err);
    js_set_int(context->extra, "graph_nodes", (int64_t)s->empty_nodes);
    return true;
}

static bool poison(struct case_context *context, struct error *err) {
    const struct state *s = context->state;
    return gpu_memset(s->counter, 0, sizeof *s->counter, err) || RELAY(err);
}

/* ---- samples ---- */

static bool timed_call(struct state *s, enum gpu_wait how, double *us, struct error *err) {
    int64_t start = clock_raw();
    if (!launch_empty(s, s->bench.stream, err) || !gpu_wait_for(s->bench.stream, how, s->bench.sleeping, err))
        return RELAY(err);
    *us = (double)(clock_raw() - start) / 1e3;
    return true;
}

static bool timed_nodes(struct state *s, double *us, struct error *err) {
    double seconds = 0;
    if (!launch_gated(&s->bench, launch_empty, s, &seconds, err))
        return RELAY(err);
    *us = seconds * 1e6 / s->nodes;
    return true;
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    struct state *s = context->state;
    int64_t idle_us = case_number(context, "idle_us");
    bool calls = case_text(context, "wait")[0] != '\0';
    enum gpu_wait how = launch_wait(context);
    double us = 0;
    if (!launch_wake(context, &s->bench, err))
        return RELAY(err);
    for (int i = 0; i < WARM; i++)
        if (!timed_call(s, how, &us, err))
            return RELAY(err);
    for (int i = 0; i < context->wanted_samples; i++) {
        if (idle_us > 0)
            launch_rest(idle_us);
        if (!(calls ? timed_call(s, how, &us, err) : timed_nodes(s, &us, err)))
            return RELAY(err);
        samples_add(out, us);
    }
    return launch_still_awake(context, &s->bench, err);
}

/* An empty kernel leaves no trace: a graph captured the same way, of kernels that count in order, shows that
 * every node runs; the timed one has as many nodes. */
static bool verify(struct case_context *context, struct verification *out, struct error *err) {
    struct state *s = context->state;
    uint32_t found = 0;
    if (!gpu_graph_launch(s->counting, s->bench.stream, err) || !gpu_stream_wait(s->bench.stream, err) ||
        !gpu_copy(&found, s->counter, sizeof found, err))
        return RELAY(err);
    uint32_t expected = (uint32_t)s->nodes;
    snprintf(out->what, sizeof out->what, "graph's nodes");
    out->checked_bytes = sizeof found;
    out->expected = expected;
    out->found = found != expected ? found : (uint32_t)s->empty_nodes;
    out->bad = out->found != expected || s->counting_nodes != s->empty_nodes;
    return true;
}

static void finish(struct case_context *context) {
    struct state *s = context->state;
    if (s == NULL)
        return;
    launch_bench_free(&s->bench);
    gpu_graph_free(s->empty);
    gpu_graph_free(s->counting);
    gpu_free(s->counter);
    free(s);
    context->state = NULL;
}

const struct bench_case case_launch_graph = {
    .name = "launch.graph",
    .version = 1,
    .summary = "time of a graph of 64 empty kernels, from its launch to its end as the host sees it",
    .block = BLOCK_LATENCY,
    .quiet = true,
    .needs = {.gpus = 1},
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .prepare = prepare,
    .poison = poison,
    .sample = sample,
    .verify = verify,
    .finish = finish,
};
