/* SPDX-License-Identifier: Apache-2.0 */
/* p2p.latency: chase: a multiprocessor of `from` reads the memory of `to`, each read waiting for the one
 * before. flag: half the time in which a number goes from `from` to `to` and back, written into the flag in
 * the other's memory (st.release.sys), awaited in the own (ld.acquire.sys). */
#include "base/mem.h"
#include "bench/cache_word.h"
#include "bench/chase_common.h"
#include "bench/p2p_common.h"
#include "bench/peer_exchange.h"
#include "bench/peer_memory.h"
#include "gpu/peers.h"
#include "kernels/chase.h"

#include <stdio.h>
#include <stdlib.h>

/* nvbandwidth's device_to_device_latency_sm: a buffer of 2 MiB, a stride of 128 bytes, plain loads. */
enum { CHASE_BYTES = 2 << 20, CHASE_STRIDE = 128, CHASE_HOPS = 32, CHASE_SAMPLES = 3 };
enum { EXCHANGES = 200, WARM_EXCHANGES = 50, FLAG_SAMPLES = 5 };
static const uint64_t exchange_limit_ns = 2000000000;

static const struct metric metrics[] = {
    {"flag", QUANTITY_LATENCY, TIMING_HOST},
    {"chase", QUANTITY_LATENCY, TIMING_HOST},
    {0},
};

static const struct series_row series[] = {
    {.metric = "flag", .statistic = "", .delta_rel = 0.05, .between_rel = 0.02},
    {.metric = "chase", .statistic = "", .delta_rel = 0.05, .between_rel = 0.01},
    {0},
};

/* ---- instances ---- */

static void add_flag(const struct p2p_party *party, const struct p2p_path *path, struct instance_list *out) {
    enum level level = p2p_is_judged(party, path) ? LEVEL_PRIMARY : LEVEL_DESCRIPTIVE;
    struct instance *flag = p2p_instance(party, path, &metrics[0], level, false, out);
    js_set_int(flag->params, "exchanges", EXCHANGES);
    cache_set(flag, "hot");
    flag->samples = FLAG_SAMPLES;
    flag->seconds = 0.016; /* seen on H200, as the next */
}

static void add_chase(const struct p2p_party *party, const struct p2p_path *path, const char *loads,
                      enum level level, struct instance_list *out) {
    struct instance *chase = p2p_instance(party, path, &metrics[1], level, false, out);
    js_set_int(chase->params, "bytes", CHASE_BYTES);
    js_set_int(chase->params, "stride", CHASE_STRIDE);
    js_set_int(chase->params, "hops", CHASE_HOPS);
    js_set_string(chase->params, "loads", loads);
    cache_set(chase, cache_word_gpu(party->gpus[path->to], CHASE_BYTES)); /* read again in each sweep */
    chase->samples = CHASE_SAMPLES;
    chase->seconds = p2p_is_nvlink(path) ? 0.034 : 0.064; /* four sweeps of about 5,000 reads */
}

static void instances(const struct node *node, struct instance_list *out) {
    struct p2p_party party;
    struct p2p_path *paths = NULL;
    p2p_gather(node, &party);
    int n = p2p_paths(&party, &paths);
    bool none = p2p_skip_all(&party, 2, paths, n, &metrics[0], out);
    for (int i = 0; !none && i < n; i++) {
        bool stands = paths[i].stands_for_others;
        if (paths[i].from < paths[i].to) /* the round trip is the same from either end */
            add_flag(&party, &paths[i], out);
        add_chase(&party, &paths[i], "plain", stands ? LEVEL_PRIMARY : LEVEL_DESCRIPTIVE, out);
        if (stands)
            add_chase(&party, &paths[i], "sys", LEVEL_DESCRIPTIVE, out);
    }
    free(paths);
}

/* ---- in the worker ---- */

struct state {
    struct chase_run run;
    void *memory;
    struct peer_exchange *exchange;
    uint64_t exchanged;
};

static bool map(const struct gpu_device *from, const struct gpu_device *to, struct error *err) {
    return gpu_peer_enable(from, to, err) == GPU_PEER_ON || error_context(err, "no P2P");
}

static bool prepare_chase(struct case_context *context, struct state *s, struct error *err) {
    struct gpu_chase *chase = &s->run.chase;
    bool good =
        chase_plan(context, chase, err) &&
        peer_memory_take(context->shelf, &context->gpus[1], chase->bytes, &s->memory, err) &&
        gpu_check(chase_fill_device(s->memory, chase->bytes, chase->stride, NULL), "laying the chain", err) &&
        gpu_synchronize(err) && gpu_use(&context->gpus[0], err) && gpu_stream_make(&s->run.stream, err);
    chase->memory = s->memory;
    return good;
}

static bool prepare(struct case_context *context, struct error *err) {
    struct state *s = mem_zeroed(1, sizeof *s);
    context->state = s;
    if (context->n_gpus != 2)
        return FAIL(err, ERROR_DATA, "two GPUs are needed");
    const struct gpu_device *from = &context->gpus[0], *to = &context->gpus[1];
    if (!map(from, to, err) || !map(to, from, err))
        return RELAY(err);
    return chase_is_wanted(context) ? prepare_chase(context, s, err)
                                    : peer_exchange_make(from, to, &s->exchange, err);
}

/* The first sweep wakes link and clock. */
static bool sample_chase(struct case_context *context, struct samples *out, struct error *err) {
    struct state *s = context->state;
    return (gpu_use(&context->gpus[0], err) && chase_sweep(context, &s->run, err) &&
            chase_take_samples(context, &s->run, out, err)) ||
           RELAY(err);
}

static bool sample_flag(struct case_context *context, struct samples *out, struct error *err) {
    struct state *s = context->state;
    struct pingpong plan = {.first = (uint32_t)context->seed | 1U,
                            .warm = WARM_EXCHANGES,
                            .timed = (uint32_t)case_number(context, "exchanges"),
                            .limit_ns = exchange_limit_ns};
    if (plan.timed < 1 || plan.timed > 1000000)
        return FAIL(err, ERROR_DATA, "%u exchanges cannot be timed", plan.timed);
    for (int i = -1; i < context->wanted_samples; i++) {
        struct peer_exchange_result result;
        if (!peer_exchange_run(s->exchange, &plan, &result, err))
            return RELAY(err);
        plan.first += plan.warm + plan.timed;
        s->exchanged += plan.warm + plan.timed;
        if (i < 0)
            continue;
        samples_add(out, result.ns);
        js_append_number(context->sm_mhz, result.sm_mhz);
    }
    return true;
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    return chase_is_wanted(context) ? sample_chase(context, out, err) : sample_flag(context, out, err);
}

static bool verify(struct case_context *context, struct verification *out, struct error *err) {
    const struct state *s = context->state;
    (void)err;
    if (chase_is_wanted(context)) {
        chase_verify(&s->run, out);
        return true;
    }
    /* A number that was lost or changed has failed the sample already. */
    snprintf(out->what, sizeof out->what, "flags in both GPUs' memory");
    out->checked_bytes = 2 * s->exchanged * sizeof(uint32_t);
    return true;
}

static void finish(struct case_context *context) {
    struct state *s = context->state;
    if (s == NULL)
        return;
    gpu_stream_free(s->run.stream);
    peer_memory_give(context->shelf, s->memory);
    peer_exchange_free(s->exchange);
    free(s);
    context->state = NULL;
}

const struct bench_case case_p2p_latency = {
    .name = "p2p.latency",
    .version = 1,
    .summary = "time of a GPU's read of another one's memory, and of a flag written into it",
    .block = BLOCK_LATENCY,
    .needs = {.gpus = 2, .peer = true},
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .prepare = prepare,
    .sample = sample,
    .verify = verify,
    .finish = finish,
};
