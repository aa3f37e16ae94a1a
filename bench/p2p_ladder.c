/* SPDX-License-Identifier: Apache-2.0 */
/* p2p.ladder: what P2P between two GPUs stands on, rung by rung (bench/p2p_rungs.h), with its own verdict
 * each. Where the driver offers no P2P, or refuses a mapping, that is a finding, and the item ends well; data
 * that is wrong, and flags that are lost, fail it. */
#include "bench/nccl_pair.h"
#include "bench/p2p_common.h"
#include "bench/p2p_rungs.h"
#include "bench/peer_exchange.h"
#include "bench/peer_pair.h"
#include "gpu/peers.h"
#include "kernels/pattern.h"

#include <inttypes.h>
#include <stdlib.h>

/* Large enough for many packets and pages, small enough for every round. */
enum { BYTES = 8 << 20, EXCHANGES = 100 };
static const uint64_t exchange_limit_ns = 2000000000;

static const struct metric metrics[] = {{"rungs", QUANTITY_COUNT, TIMING_HOST}, {0}};

static const struct series_row series[] = {
    {.metric = "rungs", .statistic = "", .delta_rel = 0.01, .descriptive = true},
    {0},
};

static void instances(const struct node *node, struct instance_list *out) {
    struct p2p_party party;
    struct p2p_path *paths = NULL;
    p2p_gather(node, &party);
    int n = p2p_paths(&party, &paths);
    for (int i = 0; i < n; i++) {
        const struct p2p_path *path = &paths[i];
        if (path->from > path->to) /* both ways are in one ladder */
            continue;
        const struct gpu_info *from = party.gpus[path->from], *to = party.gpus[path->to];
        enum level level = p2p_is_judged(&party, path) ? LEVEL_PRIMARY : LEVEL_DESCRIPTIVE;
        struct instance *instance = p2p_instance(&party, path, &metrics[0], level, false, out);
        const char *back = gpu_list_p2p(&node->gpus, to->index, from->index);
        js_set_string(instance->attributes, "driver_status_back", back[0] == '\0' ? NULL : back);
        free(instance->skip); /* that the driver offers none is the first rung's verdict */
        instance->skip = NULL;
        instance->samples = 1;
        /* A communicator takes half a second, so one pair of each kind stands for all; once a run. */
        instance->seconds = path->stands_for_others ? 0.05 : 0.012;
        js_set_bool(instance->attributes, "collective", path->stands_for_others);
    }
    if (party.n < 2)
        p2p_skip_all(&party, 2, paths, n, &metrics[0], out);
    free(paths);
}

/* ---- rungs ---- */

/* False with `err` only where it went wrong otherwise than by a refusal. */
static bool try_access(struct case_context *context, struct p2p_ladder *ladder, struct error *err) {
    const struct gpu_device *a = &context->gpus[0], *b = &context->gpus[1];
    for (int i = 0; i < 2; i++) {
        struct error why = {0};
        switch (gpu_peer_enable(i == 0 ? a : b, i == 0 ? b : a, &why)) {
        case GPU_PEER_ON:
            break;
        case GPU_PEER_REFUSED:
            p2p_ladder_set(ladder, RUNG_ACCESS, VERDICT_FAIL, "%.250s", why.text);
            return true;
        case GPU_PEER_FAILED:
            *err = why;
            return RELAY(err);
        }
    }
    p2p_ladder_set(ladder, RUNG_ACCESS, VERDICT_OK, "both map the other's memory");
    return true;
}

/* One verified copy: `way` bit 0: back, bit 1: by a kernel, bit 2: pulled. */
static bool copy_once(struct case_context *context, int way, struct verification *found, struct error *err) {
    const struct gpu_device *a = &context->gpus[0], *b = &context->gpus[1];
    struct peer_pair pair = {.from = (way & 1) == 0 ? a : b,
                             .to = (way & 1) == 0 ? b : a,
                             .kernel = (way & 2) != 0,
                             .read = (way & 4) != 0,
                             .direct = true,
                             .bytes = BYTES,
                             .window = BYTES,
                             .seed = pattern_seed(context->seed, (uint32_t)way)};
    gpu_stream stream = NULL;
    bool good = peer_pair_make(&pair, context, err) && peer_pair_poison(&pair, err) &&
                gpu_use(peer_pair_initiator(&pair), err) && gpu_stream_make(&stream, err) &&
                peer_pair_enqueue(&pair, stream, 1, err) && gpu_stream_wait(stream, err) &&
                peer_pair_verify(&pair, found, err);
    gpu_stream_free(stream);
    peer_pair_free(&pair, context->shelf);
    return good;
}

enum { WAYS = 8 };

static bool try_copies(struct case_context *context, struct p2p_ladder *ladder, struct error *err) {
    for (int way = 0; way < WAYS; way++) {
        struct verification found = {0};
        if (!copy_once(context, way, &found, err))
            return RELAY(err);
        if (found.bad == 0)
            continue;
        p2p_ladder_set(ladder, RUNG_COPY, VERDICT_FAIL,
                       "%s by %s: %" PRIu64 " of %d words are wrong in the %s, the first at offset %" PRIu64
                       ": expected 0x%08x, found 0x%08x",
                       (way & 4) != 0 ? "pulled" : "pushed", (way & 2) != 0 ? "a kernel" : "the copy engine",
                       found.bad, BYTES / 4, found.what, found.first_bad_offset, found.expected, found.found);
        return true;
    }
    p2p_ladder_set(ladder, RUNG_COPY, VERDICT_OK, "%d copies of %d MiB are right at their destinations", WAYS,
                   BYTES >> 20);
    return true;
}

static bool try_exchange(struct case_context *context, struct p2p_ladder *ladder, struct error *err) {
    const struct pingpong plan = {
        .first = (uint32_t)context->seed | 1U, .warm = 1, .timed = EXCHANGES, .limit_ns = exchange_limit_ns};
    struct peer_exchange *exchange = NULL;
    struct peer_exchange_result result;
    struct error why = {0};
    bool good = peer_exchange_make(&context->gpus[0], &context->gpus[1], &exchange, &why) &&
                peer_exchange_run(exchange, &plan, &result, &why);
    peer_exchange_free(exchange);
    if (good)
        p2p_ladder_set(ladder, RUNG_EXCHANGE, VERDICT_OK, "%d numbers went to and fro, %.0f ns each way",
                       EXCHANGES, result.ns);
    else if (why.kind == ERROR_VERIFY)
        p2p_ladder_set(ladder, RUNG_EXCHANGE, VERDICT_FAIL, "%.250s", why.text);
    else
        *err = why;
    return good || why.kind == ERROR_VERIFY || RELAY(err);
}

/* Where NCCL hangs the item does, and its deadline says what each rank waits for. That NCCL itself fails is
 * an error and no finding: too small a /dev/shm has nothing to do with P2P. */
static bool try_collective(struct case_context *context, struct p2p_ladder *ladder, struct error *err) {
    static const enum p2p_verdict verdicts[] = {[NCCL_PAIR_OK] = VERDICT_OK,
                                                [NCCL_PAIR_ABSENT] = VERDICT_UNKNOWN,
                                                [NCCL_PAIR_WRONG] = VERDICT_FAIL,
                                                [NCCL_PAIR_FAILED] = VERDICT_UNKNOWN};
    struct nccl_pair pair;
    if (context->round != 0 || !js_get_bool(context->attributes, "collective", false)) {
        p2p_ladder_set(ladder, RUNG_COLLECTIVE, VERDICT_NOT_TRIED,
                       "tried for one pair of each kind, in the first round");
        return true;
    }
    nccl_pair_check(context, &context->gpus[0], &context->gpus[1], &pair);
    p2p_ladder_set(ladder, RUNG_COLLECTIVE, verdicts[pair.verdict], "%s", pair.why);
    return pair.verdict != NCCL_PAIR_FAILED || FAIL(err, ERROR_GPU, "%s", pair.why);
}

typedef bool rung_fn(struct case_context *context, struct p2p_ladder *ladder, struct error *err);

static bool climb(struct case_context *context, struct p2p_ladder *ladder, struct error *err) {
    static rung_fn *const rungs[] = {try_access, try_copies, try_exchange, try_collective};
    p2p_ladder_status(ladder, js_get_string(context->attributes, "driver_status", ""),
                      js_get_string(context->attributes, "driver_status_back", ""));
    for (size_t i = 0; i < sizeof rungs / sizeof *rungs && p2p_ladder_broken(ladder) == RUNG_COUNT; i++)
        if (!rungs[i](context, ladder, err))
            return RELAY(err);
    return true;
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    struct p2p_ladder ladder;
    if (context->n_gpus != 2)
        return FAIL(err, ERROR_DATA, "two GPUs are needed");
    p2p_ladder_start(&ladder);
    bool good = climb(context, &ladder, err);
    p2p_ladder_tell(&ladder, context->extra);
    if (!good)
        return RELAY(err);
    samples_add(out, p2p_ladder_passed(&ladder));
    enum p2p_rung broken = p2p_ladder_broken(&ladder);
    if (broken == RUNG_COUNT || broken < RUNG_COPY)
        return true;
    return FAIL(err, ERROR_VERIFY, "%s: %s", p2p_rung_finding(broken), ladder.rungs[broken].why);
}

const struct bench_case case_p2p_ladder = {
    .name = "p2p.ladder",
    .version = 1,
    .summary =
        "what P2P between two GPUs stands on: driver, mapping, verified copies, flags, a collective; the first that fails",
    .block = BLOCK_P2P,
    .needs = {.gpus = 2},
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
