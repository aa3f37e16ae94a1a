/* SPDX-License-Identifier: Apache-2.0 */
/* decode.step: what one token costs. Per layer four products of few rows by cuBLASLt in bf16, which read all
 * weights once, and two all_reduces of 12 to 96 KiB; with and without a CUDA graph. On one GPU the same
 * without all_reduces. */
#include "base/clock.h"
#include "base/mem.h"
#include "bench/cache_word.h"
#include "bench/decode_model.h"
#include "bench/launch_common.h"
#include "bench/nccl_common.h"
#include "stats/robust.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 4, STEPS = 100, WARM_STEPS = 10 };
/* 12 KiB and 96 KiB an all_reduce. */
static const struct { int m, hidden; } models[] = {{1, 6144}, {16, 3072}};
static const char shelf_name[] = "cublaslt";

static const struct metric metrics[] = {{"call", QUANTITY_TIME, TIMING_HOST}, {0}};
static const struct series_row series[] = {
    {.metric = "call", .statistic = "p50", .delta_rel = 0.03, .between_rel = 0.02},
    {.metric = "call", .statistic = "p99", .delta_rel = 0.25, .between_rel = 0.15, .descriptive = true},
    {0},
};

/* ---- instances ---- */

static double step_seconds(const struct p2p_party *party, const struct decode_shape *shape) {
    const struct gpu_info *gpu = party->gpus[0];
    double gbps = gpu->memory_bus_bits > 0 && gpu->mem_clock_max_mhz > 0
                      ? (double)gpu->mem_clock_max_mhz * 2e6 * gpu->memory_bus_bits / 8 * 0.7
                      : 1e12;
    double reduces = shape->ranks > 1 ? 2 * shape->layers * (10e-6 + 2e-6 * shape->ranks) : 0;
    return shape->weight_bytes / gbps + reduces + shape->layers * DECODE_GEMMS * 3e-6;
}

static void add(const struct p2p_party *party, const struct nccl_group *group, size_t model, bool graph,
                enum level level, struct instance_list *out) {
    struct decode_shape shape;
    if (!decode_shape_make(models[model].m, models[model].hidden, LAYERS, group->n, &shape))
        return;
    struct instance *instance = nccl_instance(party, group, &metrics[0], level, out);
    cache_set(instance, cache_word_gpu(party->gpus[group->gpus[0]], shape.weight_bytes));
    js_set_int(instance->params, "m", shape.m);
    js_set_int(instance->params, "hidden", shape.hidden);
    js_set_int(instance->params, "layers", shape.layers);
    js_set_int(instance->params, "bytes", (int64_t)shape.reduce_bytes);
    js_set_string(instance->params, "dtype", "bf16");
    js_set_string(instance->params, "graph", graph ? "on" : "off");
    launch_set_wait(party->node, instance, GPU_WAIT_SPIN);
    launch_set_after(instance, 0);
    instance->samples = STEPS;
    instance->seconds =
        (STEPS + WARM_STEPS + 2) * step_seconds(party, &shape) + 0.03 + shape.weight_bytes / 1e12;
    if (group->n > 1 && level == LEVEL_PRIMARY)
        instance->seconds += nccl_join_share(group);
    if (level == LEVEL_PRIMARY) /* loading cuBLASLt, between the two judged ones */
        instance->seconds += 0.05;
    double mib = shape.weight_bytes / 1048576 + 2048;
    for (int i = 0; i < group->n && instance->skip == NULL; i++)
        if (party->gpus[group->gpus[i]]->memory_mib > 0 &&
            (double)party->gpus[group->gpus[i]]->memory_mib < mib) {
            char why[100];
            snprintf(why, sizeof why, "needs %.0f MiB of memory on each GPU", mib);
            instance->skip = mem_copy_string(why);
        }
}

/* The largest group of 2, 4 or 8, else the one GPU that there is. */
static void instances(const struct node *node, struct instance_list *out) {
    struct p2p_party party;
    struct nccl_group groups[8] = {0}, chosen = {.n = 1}, alone = {.n = 1};
    p2p_gather(node, &party);
    int n = nccl_groups(&party, groups);
    for (int i = 0; i < n; i++)
        if (groups[i].n == 2 || groups[i].n == 4 || groups[i].n == 8)
            chosen = groups[i];
    for (size_t model = 0; party.n > 0 && model < sizeof models / sizeof *models; model++) {
        add(&party, &chosen, model, true, LEVEL_PRIMARY, out);
        add(&party, &chosen, model, false, LEVEL_DESCRIPTIVE, out);
        if (chosen.n > 1)
            add(&party, &alone, model, true, LEVEL_THOROUGH, out);
    }
    if (party.n == 0)
        instance_add(out, &metrics[0], LEVEL_PRIMARY)->skip = mem_copy_string("no GPU here can be used");
}

/* ---- preparing ---- */

struct state {
    struct decode_shape shape;
    struct nccl_set *set;
    struct decode_rank *ranks;
    const struct cublaslt *lt;
    uint32_t seed;
    bool graph;
    int samples;
    double *seconds; /* one row of `samples` a rank */
    uint16_t *output, *expected;
};

static bool load(struct case_context *context, struct state *s, struct error *err) {
    struct cublaslt *lt = shelf_find(context->shelf, shelf_name);
    js *about = js_new_object();
    int64_t start = clock_raw();
    bool good = lt != NULL || cublaslt_open(&lt, err);
    if (good && shelf_find(context->shelf, shelf_name) == NULL) {
        shelf_put(context->shelf, shelf_name, lt);
        js_set_number(about, "seconds", (double)(clock_raw() - start) / 1e9);
    }
    if (good)
        cublaslt_describe(lt, about);
    js_set(context->extra, "cublaslt", about);
    s->lt = lt;
    return good || RELAY(err);
}

static bool prepare(struct case_context *context, struct error *err) {
    struct state *s = mem_zeroed(1, sizeof *s);
    struct nccl_set_options options = {.absent_rank = -1, .without_nccl = context->n_gpus == 1};
    context->state = s;
    s->graph = strcmp(case_text(context, "graph"), "on") == 0;
    s->samples = context->wanted_samples;
    s->seed = pattern_seed(context->seed, 0);
    if (!decode_shape_make((int)case_number(context, "m"), (int)case_number(context, "hidden"),
                           (int)case_number(context, "layers"), context->n_gpus, &s->shape))
        return FAIL(err, ERROR_DATA, "these sizes do not divide by the number of ranks");
    if (!load(context, s, err) || !nccl_set_get(context, &options, &s->set, err))
        return RELAY(err);
    s->ranks = mem_zeroed((size_t)s->set->n, sizeof *s->ranks);
    s->seconds = mem_zeroed((size_t)s->samples * (size_t)s->set->n, sizeof *s->seconds);
    return true;
}

/* ---- in a rank's thread ---- */

struct queue_arg {
    const struct state *s;
    struct nccl_rank *rank;
};

static bool queue(void *arg, gpu_stream stream, struct error *err) {
    const struct queue_arg *a = arg;
    return decode_queue(&a->s->shape, a->rank, &a->s->ranks[a->rank->rank], stream, err) || RELAY(err);
}

static bool issue(const struct state *s, struct nccl_rank *rank, struct error *err) {
    const struct decode_rank *d = &s->ranks[rank->rank];
    rank->stage = NCCL_ISSUING;
    if (s->graph)
        return gpu_graph_launch(d->graph, rank->stream, err) || RELAY(err);
    return decode_queue(&s->shape, rank, d, rank->stream, err) || RELAY(err);
}

/* The first step runs outside a graph: it makes NCCL's connections, which may not happen in a capture. */
static bool make(const struct state *s, struct nccl_rank *rank, struct error *err) {
    struct decode_rank *d = &s->ranks[rank->rank];
    struct queue_arg arg = {s, rank};
    rank->stage = NCCL_PREPARING;
    if (!decode_rank_make(s->lt, &s->shape, s->seed, rank, d, err) ||
        !decode_check_gemm(&s->shape, s->seed, rank, d, err) || !nccl_barrier(rank, err))
        return RELAY(err);
    rank->stage = NCCL_ISSUING;
    if (!queue(&arg, rank->stream, err) || !nccl_wait(rank, err))
        return RELAY(err);
    if (!s->graph)
        return true;
    return (nccl_barrier(rank, err) &&
            gpu_graph_capture(rank->stream, queue, &arg, &d->graph, &d->graph_nodes, err) &&
            gpu_graph_upload(d->graph, rank->stream, err) && gpu_stream_wait(rank->stream, err)) ||
           RELAY(err);
}

/* The last warm-up step's output is what all timed ones must give: the same work, bit for bit. Then it is
 * spoiled. */
static bool warm_up(const struct state *s, struct nccl_rank *rank, struct error *err) {
    const struct decode_rank *d = &s->ranks[rank->rank];
    for (int i = 0; i < WARM_STEPS; i++)
        if (!nccl_barrier(rank, err) || !issue(s, rank, err) || !nccl_wait(rank, err))
            return RELAY(err);
    return (gpu_copy(d->expected, d->y, s->shape.reduce_bytes, err) &&
            gpu_memset(d->y, 0xff, s->shape.reduce_bytes, err)) ||
           RELAY(err);
}

static bool measure(struct nccl_rank *rank, void *arg, struct error *err) {
    struct state *s = arg;
    double *seconds = s->seconds + (size_t)rank->rank * (size_t)s->samples;
    if (!make(s, rank, err))
        return RELAY(err);
    nccl_settle(rank);
    if (!warm_up(s, rank, err))
        return RELAY(err);
    for (int i = 0; i < s->samples; i++) {
        if (!nccl_barrier(rank, err))
            return RELAY(err);
        int64_t start = clock_raw();
        if (!issue(s, rank, err))
            return RELAY(err);
        rank->stage = NCCL_WAITING;
        if (!gpu_stream_wait(rank->stream, err))
            return RELAY(err);
        seconds[i] = (double)(clock_raw() - start) / 1e9;
    }
    return true;
}

/* ---- results ---- */

static void tell(struct case_context *context, const struct state *s, const double *seconds) {
    double middle = stats_median(seconds, (size_t)s->samples);
    js_set_number(context->extra, "step_us", middle * 1e6);
    js_set_number(context->extra, "weight_gb", s->shape.weight_bytes / 1e9);
    js_set_number(context->extra, "weight_gbps", s->shape.weight_bytes / 1e9 / middle);
    if (s->graph)
        js_set_int(context->extra, "graph_nodes", (int64_t)s->ranks[0].graph_nodes);
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    struct state *s = context->state;
    if (!nccl_set_run(context, s->set, measure, s, err)) {
        nccl_set_drop(context, s->set, true);
        s->set = NULL;
        return RELAY(err);
    }
    double *seconds = mem_zeroed((size_t)s->samples, sizeof *seconds);
    for (int i = 0; i < s->samples; i++) {
        for (int r = 0; r < s->set->n; r++)
            seconds[i] = fmax(seconds[i], s->seconds[(size_t)r * (size_t)s->samples + (size_t)i]);
        samples_add(out, seconds[i] * 1e6);
    }
    tell(context, s, seconds);
    free(seconds);
    return true;
}

/* ---- verification ---- */

/* Bit for bit what the reference step gave, finite, and not all zero. */
static void compare(const struct state *s, int rank, size_t count, struct verification *out) {
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        bool finite = (s->output[i] & 0x7f80U) != 0x7f80U;
        any = any || (s->output[i] & 0x7fffU) != 0;
        if (s->output[i] == s->expected[i] && finite)
            continue;
        if (out->bad++ == 0) {
            snprintf(out->what, sizeof out->what, "output at rank %d", rank);
            out->first_bad_offset = i * sizeof *s->output;
            out->expected = s->expected[i];
            out->found = s->output[i];
        }
    }
    if (!any && out->bad++ == 0)
        snprintf(out->what, sizeof out->what, "output at rank %d, which is all zero", rank);
}

static bool verify(struct case_context *context, struct verification *out, struct error *err) {
    struct state *s = context->state;
    size_t bytes = s->shape.reduce_bytes, count = bytes / sizeof *s->output;
    snprintf(out->what, sizeof out->what, "outputs at all ranks");
    s->output = mem_zeroed(count, sizeof *s->output);
    s->expected = mem_zeroed(count, sizeof *s->expected);
    for (int r = 0; r < s->set->n; r++) {
        const struct decode_rank *d = &s->ranks[r];
        if (!gpu_use(&s->set->ranks[r].device, err) || !gpu_copy(s->output, d->y, bytes, err) ||
            !gpu_copy(s->expected, d->expected, bytes, err))
            return RELAY(err);
        compare(s, r, count, out);
        out->checked_bytes += bytes;
    }
    return gpu_use(&s->set->ranks[0].device, err) || RELAY(err);
}

static void finish(struct case_context *context) {
    struct state *s = context->state;
    struct error ignored = {0};
    if (s == NULL)
        return;
    for (int r = 0; s->ranks != NULL && r < context->n_gpus; r++) {
        if (s->set != NULL)
            gpu_use(&s->set->ranks[r].device, &ignored);
        decode_rank_free(&s->ranks[r]);
    }
    if (context->n_gpus > 0)
        gpu_use(&context->gpus[0], &ignored);
    free(s->ranks);
    free(s->seconds);
    free(s->output);
    free(s->expected);
    free(s);
    context->state = NULL;
}

const struct bench_case case_decode_step = {
    .name = "decode.step",
    .version = 1,
    .summary = "one token through 4 layers: four products of 1 or 16 rows and two all_reduces a layer",
    .block = BLOCK_COLLECTIVE,
    .quiet = true,
    .needs = {.gpus = 1, .nccl = true, .cublaslt = true},
    .control = nccl_control,
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .prepare = prepare,
    .sample = sample,
    .verify = verify,
    .finish = finish,
};
