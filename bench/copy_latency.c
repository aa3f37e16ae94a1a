/* SPDX-License-Identifier: Apache-2.0 */
/* copy.latency: small copies, and single reads.
 * call: a copy from its issue to its completion as the host sees it. device: the same copy's time on the
 * device, queued behind the gate. chase: a multiprocessor's read of pinned host memory, by a pointer chase.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "bench/chase_common.h"
#include "bench/copy_common.h"
#include "bench/host_common.h"
#include "bench/launch_common.h"
#include "kernels/chase.h"
#include "system/pin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PRIMARY_BYTES = 4096,
    CALL_SAMPLES = 1000,
    WARM = 200,
    DEVICE_SAMPLES = 20,
    DEVICE_OPERATIONS = 128,
};

/* nvbandwidth's host_device_latency_sm: buffer and stride of 2 MiB and 128 bytes, and about a million reads
 * over all multiprocessors; 256 reads by each of about 132 in a sample are steady enough. */
enum { CHASE_BYTES = 2 << 20, CHASE_STRIDE = 128, CHASE_HOPS = 256, CHASE_SAMPLES = 3, CHASE_WARM_MAX = 6 };
static const double chase_steady = 0.01;

static const struct metric metrics[] = {
    {"call", QUANTITY_TIME, TIMING_HOST},
    {"device", QUANTITY_TIME, TIMING_GATED},
    {"chase", QUANTITY_LATENCY, TIMING_HOST},
    {0},
};
enum { CALL, DEVICE, CHASE };

static const struct series_row series[] = {
    {.metric = "call", .statistic = "p50", .delta_rel = 0.05, .delta_abs = 0.2, .between_rel = 0.03},
    {.metric = "call",
     .statistic = "p99",
     .only = "after=busy",
     .delta_rel = 0.25,
     .between_rel = 0.15,
     .descriptive = true},
    {.metric = "device",
     .statistic = "p50",
     .delta_rel = 0.05,
     .delta_abs = 0.1,
     .between_rel = 0.02,
     .descriptive = true},
    {.metric = "chase", .statistic = "p50", .delta_rel = 0.03, .between_rel = 0.01, .descriptive = true},
    {0},
};

/* A way of waiting, after a busy or an idle time. */
struct way {
    enum gpu_wait wait;
    int64_t idle_us;
};
static const struct way judged = {GPU_WAIT_SPIN, 0};

/* The buffers of an item are the same for every copy of it, and small: what caches there are hold them. */
static struct instance *add_copy(const struct node *node, const struct gpu_info *gpu,
                                 const struct metric *metric, enum level level, const char *direction,
                                 int bytes, struct instance_list *out) {
    struct instance *copy = copy_instance(node, gpu, metric, level, bytes, "pinned", out);
    js_set_string(copy->params, "direction", direction);
    js_set_string(copy->params, "cache", "hot");
    return copy;
}

static void add_call(const struct node *node, const struct gpu_info *gpu, const char *direction, int bytes,
                     struct way way, enum level level, struct instance_list *out) {
    struct instance *call = add_copy(node, gpu, &metrics[CALL], level, direction, bytes, out);
    bool idle = way.idle_us > 0;
    launch_set_clock(gpu, call);
    launch_set_wait(node, call, way.wait);
    launch_set_after(call, way.idle_us);
    call->samples = idle ? LAUNCH_IDLE_SAMPLES : CALL_SAMPLES;
    /* Seconds here and below as they were seen on H200. */
    call->seconds = idle ? LAUNCH_IDLE_SAMPLES * LAUNCH_IDLE_US * 1e-6 + 0.015 : 0.02;
}

static void add_device(const struct node *node, const struct gpu_info *gpu, const char *direction, int bytes,
                       enum level level, struct instance_list *out) {
    struct instance *device = add_copy(node, gpu, &metrics[DEVICE], level, direction, bytes, out);
    device->samples = DEVICE_SAMPLES;
    device->operations = DEVICE_OPERATIONS;
    device->seconds = 0.02;
}

/* Every size waited for as is judged, and one size in every way, on the first GPU of each node: how a core
 * wakes up is the host's doing. */
static void add_copies(const struct node *node, size_t gpu, const char *direction,
                       struct instance_list *out) {
    static const int sizes[] = {8, PRIMARY_BYTES, 65536};
    const struct gpu_info *on = &node->gpus.items[gpu];
    enum level other = host_first_gpu_of_node(node, gpu) ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        bool primary = sizes[s] == PRIMARY_BYTES;
        add_call(node, on, direction, sizes[s], judged, primary ? LEVEL_PRIMARY : other, out);
        add_device(node, on, direction, sizes[s], other, out);
    }
    for (int how = 0; host_first_gpu_of_node(node, gpu) && how < LAUNCH_WAITS; how++)
        for (int idle = 0; idle < 2; idle++) {
            struct way way = {(enum gpu_wait)how, idle ? LAUNCH_IDLE_US : 0};
            if (way.wait != judged.wait || way.idle_us != judged.idle_us)
                add_call(node, on, direction, PRIMARY_BYTES, way, LEVEL_DESCRIPTIVE, out);
        }
}

static void add_chases(const struct node *node, size_t at, struct instance_list *out) {
    const struct gpu_info *gpu = &node->gpus.items[at];
    /* The last one is nvbandwidth's way, for the comparison with it: one GPU of each node tells. */
    static const struct {
        const char *memory, *loads;
    } ways[] = {{"pinned", "sys"}, {"hostalloc", "sys"}, {"hostalloc", "plain"}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        enum level level = i == 0 || host_first_gpu_of_node(node, at) ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH;
        struct instance *chase =
            copy_instance(node, gpu, &metrics[CHASE], level, CHASE_BYTES, ways[i].memory, out);
        js_set_string(chase->params, "loads", ways[i].loads);
        js_set_string(chase->params, "cache", "hot");
        js_set_int(chase->params, "stride", CHASE_STRIDE);
        js_set_int(chase->params, "hops", CHASE_HOPS);
        chase->samples = CHASE_SAMPLES;
        chase->seconds = 0.26;
    }
}

static void instances(const struct node *node, struct instance_list *out) {
    for (size_t i = 0; i < node->gpus.count; i++) {
        add_copies(node, i, "h2d", out);
        add_copies(node, i, "d2h", out);
        add_chases(node, i, out);
    }
}

/* ---- the chase ---- */

struct chase_state {
    struct chase_run run;
    struct host_buffer paged;
    bool registered;
    void *hostalloc;
};

static bool chase_memory(struct case_context *context, struct chase_state *s, void **out, struct error *err) {
    size_t bytes = s->run.chase.bytes;
    if (strcmp(case_text(context, "memory"), "hostalloc") == 0) {
        if (!gpu_host_alloc(bytes, &s->hostalloc, err))
            return RELAY(err);
        *out = s->hostalloc;
        return true;
    }
    int os_node = (int)js_get_int(context->attributes, "os_node", -1);
    if (!host_buffer_make(bytes, os_node, &s->paged, err) || !gpu_register(s->paged.data, bytes, err))
        return RELAY(err);
    s->registered = true;
    host_tell_memory(context, &s->paged, false);
    *out = s->paged.data;
    return true;
}

static bool chase_prepare(struct case_context *context, struct error *err) {
    struct chase_state *s = mem_zeroed(1, sizeof *s);
    void *memory = NULL;
    context->state = s;
    struct gpu_chase *chase = &s->run.chase;
    if (!chase_plan(context, chase, err) || !gpu_stream_make(&s->run.stream, err) ||
        !chase_memory(context, s, &memory, err))
        return RELAY(err);
    chase_fill_host(memory, chase->bytes, chase->stride);
    chase->memory = memory;
    return true;
}

/* Until two sweeps in a row take the same time: by then link and clock are awake. */
static bool chase_warm(struct case_context *context, struct chase_run *run, struct error *err) {
    double last = NAN;
    for (int i = 0; i < CHASE_WARM_MAX; i++) {
        if (!chase_sweep(context, run, err))
            return RELAY(err);
        if (run->last.wrong > 0 || fabs(run->last.ns - last) <= chase_steady * last)
            return true;
        last = run->last.ns;
    }
    js_append_string(context->flags, "not-steady");
    return true;
}

static bool chase_sample(struct case_context *context, struct samples *out, struct error *err) {
    struct chase_run *run = &((struct chase_state *)context->state)->run;
    return (chase_warm(context, run, err) && chase_take_samples(context, run, out, err)) || RELAY(err);
}

static void chase_finish(struct case_context *context) {
    struct chase_state *s = context->state;
    if (s == NULL)
        return;
    gpu_stream_free(s->run.stream);
    if (s->registered)
        gpu_unregister(s->paged.data);
    host_buffer_free(&s->paged);
    gpu_host_free(s->hostalloc);
    free(s);
    context->state = NULL;
}

/* ---- slots ---- */

static bool prepare(struct case_context *context, struct error *err) {
    if (chase_is_wanted(context))
        return chase_prepare(context, err) || RELAY(err);
    bool to_device = strcmp(case_text(context, "direction"), "h2d") == 0;
    return to_device ? copy_prepare_h2d(context, err) : copy_prepare_d2h(context, err);
}

static bool poison(struct case_context *context, struct error *err) {
    return chase_is_wanted(context) || copy_poison(context, err) || RELAY(err);
}

static bool copy_and_wait(struct case_context *context, struct launch_bench *b, enum gpu_wait how,
                          struct error *err) {
    return (copy_enqueue(context, b->stream, 1, err) && gpu_wait_for(b->stream, how, b->sleeping, err)) ||
           RELAY(err);
}

static bool call_sample(struct case_context *context, struct launch_bench *b, struct samples *out,
                        struct error *err) {
    int64_t idle_us = case_number(context, "idle_us");
    enum gpu_wait how = launch_wait(context);
    for (int i = 0; i < WARM; i++)
        if (!copy_and_wait(context, b, how, err))
            return RELAY(err);
    if (!copy_poison(context, err)) /* what the warm-up wrote must not pass for a sample's */
        return RELAY(err);
    for (int i = 0; i < context->wanted_samples; i++) {
        if (idle_us > 0)
            launch_rest(idle_us);
        int64_t start = clock_raw();
        if (!copy_and_wait(context, b, how, err))
            return RELAY(err);
        samples_add(out, (double)(clock_raw() - start) / 1e3);
    }
    return true;
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    bool good = chase_is_wanted(context) ? chase_sample(context, out, err)
                                         : launch_sample(context, call_sample, out, err);
    return good || RELAY(err);
}

static bool verify(struct case_context *context, struct verification *out, struct error *err) {
    if (!chase_is_wanted(context))
        return copy_verify(context, out, err) || RELAY(err);
    chase_verify(&((const struct chase_state *)context->state)->run, out);
    return true;
}

static void finish(struct case_context *context) {
    if (chase_is_wanted(context))
        chase_finish(context);
    else
        copy_finish(context);
}

const struct bench_case case_copy_latency = {
    .name = "copy.latency",
    .version = 2,
    .summary = "time of a small copy, as host and device see it; of a GPU's read of host memory",
    .block = BLOCK_LATENCY,
    .quiet = true,
    .needs = {.gpus = 1},
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .prepare = prepare,
    .poison = poison,
    .enqueue = copy_enqueue,
    .sample = sample,
    .verify = verify,
    .finish = finish,
};
