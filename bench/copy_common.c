/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/copy_common.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bench/copy_pair.h"
#include "bench/host_common.h"
#include "bench/link_limit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 3, OPERATIONS = 2, SMALLEST = 4096, PAGEABLE_WARM_MAX = 4 };
static const double pageable_steady = 0.05;
static const int64_t bytes_a_sample =
    256 << 20; /* of the smaller copies, as far as a gate can hold so many of them */

/* ---- instances ---- */

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

void copy_set_way(struct instance *instance, const char *engine) {
    js_set_string(instance->params, "engine", engine);
    js_set_string(instance->params, "cache", "cold");
}

/* What the instances of one GPU have in common. */
struct maker {
    const struct node *node;
    const struct gpu_info *gpu;
    const struct metric *metric;
    struct instance_list *out;
};

static struct instance *add(const struct maker *m, enum level level, int64_t bytes, const char *memory,
                            const char *engine, double seconds) {
    struct instance *instance = copy_instance(m->node, m->gpu, m->metric, level, bytes, memory, m->out);
    copy_set_way(instance, engine);
    instance->samples = SAMPLES;
    instance->operations = OPERATIONS;
    instance->seconds = seconds;
    link_set_limits(m->node, m->gpu, instance);
    return instance;
}

static void add_pageable(const struct maker *m) {
    struct instance *instance = add(m, LEVEL_DESCRIPTIVE, COPY_LARGE, "pageable", "ce", 0.45);
    instance->operations = 1;
    host_mark(m->node, instance);
}

/* Memory of the other NUMA nodes, named by their rank. The nearest and the farthest stand for those between.
 */
static void add_remote(const struct maker *m) {
    int near = topology_device_node(m->node->topology, m->gpu->bdf);
    int n = topology_node_count(m->node->topology);
    int *nodes = mem_zeroed((size_t)n, sizeof *nodes);
    if (near >= 0)
        topology_nodes_by_distance(m->node->topology, near, nodes);
    for (int rank = 1; near >= 0 && rank < n; rank++) {
        char role[24];
        enum level level = rank == 1 || rank == n - 1 ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH;
        struct instance *instance = add(m, level, COPY_LARGE, "pinned", "ce", 0.2);
        snprintf(role, sizeof role, "remote%d", rank);
        js_set_string(instance->where, "role", role);
        js_set_int(instance->attributes, "os_node", topology_node_os_index(m->node->topology, nodes[rank]));
    }
    free(nodes);
}

/* Steps of sixteen show the curve's shape; thorough has those between. */
static void add_sizes(const struct maker *m) {
    bool shown = true;
    for (int64_t bytes = SMALLEST; bytes < COPY_LARGE; bytes *= 4, shown = !shown) {
        enum level level = shown ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH;
        struct instance *instance = add(m, level, bytes, "pinned", "ce", 0.08);
        int64_t wanted = bytes_a_sample / bytes;
        instance->operations = wanted > GPU_GATE_MAX_OPERATIONS ? GPU_GATE_MAX_OPERATIONS
                               : wanted < OPERATIONS            ? OPERATIONS
                                                                : (int)wanted;
    }
}

static void add_damaged(const struct maker *m) {
    static const char *const damages[] = {"word", "shift", "swap"};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        js_set_string(add(m, LEVEL_HIDDEN, COPY_LARGE, "pinned", "ce", 0.45)->params, "corrupt", damages[i]);
}

void copy_bandwidth_instances(const struct node *node, const struct metric *metric,
                              struct instance_list *out) {
    for (size_t i = 0; i < node->gpus.count; i++) {
        const struct maker m = {node, &node->gpus.items[i], metric, out};
        add(&m, LEVEL_PRIMARY, COPY_LARGE, "pinned", "ce", 0.1);
        /* How memory was allocated and who copies is the host's doing: one GPU of each node tells. */
        enum level shown = host_first_gpu_of_node(node, i) ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH;
        add(&m, shown, COPY_LARGE, "hostalloc", "ce", 0.4);
        add(&m, shown, COPY_LARGE, "pinned", "sm", 0.11);
        add_remote(&m);
        if (host_first_gpu_of_node(node, i)) {
            add_pageable(&m);
            add_sizes(&m);
        }
        if (i == 0)
            add_damaged(&m);
    }
}

/* ---- one pair ---- */

struct copy_state {
    struct copy_pair pairs[2]; /* the second only for corrupt=swap */
    int n_pairs;
};

static bool prepare(struct case_context *context, bool to_device, struct error *err) {
    struct copy_state *s = mem_zeroed(1, sizeof *s);
    int os_node = (int)js_get_int(context->attributes, "os_node", -1);
    context->state = s;
    s->n_pairs = strcmp(case_text(context, "corrupt"), "swap") == 0 ? 2 : 1;
    for (int i = 0; i < s->n_pairs; i++)
        copy_pair_plan(&s->pairs[i], context, &context->gpu, to_device, os_node, i);
    for (int i = 0; i < s->n_pairs; i++)
        if (!copy_pair_make(&s->pairs[i], context, err))
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
    for (int i = 0; i < s->n_pairs; i++)
        if (!copy_pair_poison(&s->pairs[i], err))
            return RELAY(err);
    return true;
}

bool copy_enqueue(struct case_context *context, gpu_stream stream, int count, struct error *err) {
    struct copy_state *s = context->state;
    return copy_pair_enqueue(&s->pairs[0], stream, count, err) || RELAY(err);
}

double copy_work(const struct case_context *context) {
    return (double)((const struct copy_state *)context->state)->pairs[0].bytes;
}

bool copy_is_pageable(const struct case_context *context) {
    return strcmp(case_text(context, "memory"), "pageable") == 0;
}

static bool pageable_copy(struct case_context *context, gpu_stream stream, double *seconds,
                          struct error *err) {
    int64_t start = clock_raw();
    if (!copy_enqueue(context, stream, context->operations, err) || !gpu_stream_wait(stream, err))
        return RELAY(err);
    *seconds = (double)(clock_raw() - start) / 1e9;
    return true;
}

/* Until two in a row take about the same time; what the driver stages with its own copies never takes quite
 * the same. */
static bool pageable_warm(struct case_context *context, gpu_stream stream, struct error *err) {
    double last = NAN;
    for (int i = 0; i < PAGEABLE_WARM_MAX; i++) {
        double seconds = 0;
        if (!pageable_copy(context, stream, &seconds, err))
            return RELAY(err);
        if (fabs(seconds - last) <= pageable_steady * last)
            return true;
        last = seconds;
    }
    js_append_string(context->flags, "not-steady");
    return true;
}

bool copy_sample_pageable(struct case_context *context, struct samples *out, struct error *err) {
    gpu_stream stream = NULL;
    bool good =
        gpu_stream_make(&stream, err) && pageable_warm(context, stream, err) && copy_poison(context, err);
    for (int i = 0; good && i < context->wanted_samples; i++) {
        double seconds = 0;
        good = pageable_copy(context, stream, &seconds, err);
        if (good)
            samples_add(out, copy_work(context) * context->operations / seconds / 1e9);
    }
    gpu_stream_free(stream);
    return good;
}

bool copy_verify(struct case_context *context, struct verification *out, struct error *err) {
    struct copy_state *s = context->state;
    const char *how = case_text(context, "corrupt");
    struct copy_pair *other = s->n_pairs > 1 ? &s->pairs[1] : NULL;
    uint64_t offset = 0;
    if (how[0] != '\0') {
        if (!copy_pair_damage(&s->pairs[0], other, how, context->seed, &offset, err))
            return RELAY(err);
        js_set_int(context->extra, "corrupted_at", (int64_t)offset);
    }
    return copy_pair_verify(&s->pairs[0], out, err) || RELAY(err);
}

void copy_finish(struct case_context *context) {
    struct copy_state *s = context->state;
    for (int i = 0; s != NULL && i < s->n_pairs; i++)
        copy_pair_free(&s->pairs[i], context->shelf);
    free(s);
    context->state = NULL;
}
