/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/nccl_pair.h"

#include "bench/nccl_ops.h"
#include "bench/nccl_set.h"
#include "system/pin.h"

#include <inttypes.h>
#include <stdio.h>

enum { PAIR_BYTES = 1 << 20 };

struct work {
    struct nccl_shape shape;
    uint32_t seed;
    struct collective_fault faults[2];
};

static bool reduce_once(struct nccl_rank *rank, void *arg, struct error *err) {
    struct work *work = arg;
    struct collective_data given, expected;
    size_t count = 0;
    nccl_give(&work->shape, rank->rank, 0, work->seed, &given);
    nccl_expect(&work->shape, rank->rank, 0, work->seed, &expected, &count);
    rank->stage = NCCL_PREPARING;
    bool good = gpu_memset(rank->receive, 0xff, PAIR_BYTES, err) &&
                gpu_check(collective_fill_device(rank->send, work->shape.sent, &given, rank->stream),
                          "filling", err) &&
                nccl_issue(rank->set->nccl, &work->shape, rank->rank, rank->send, rank->receive, rank->comm,
                           rank->stream, err) &&
                nccl_wait(rank, err) &&
                gpu_check(collective_check_device(rank->receive, count, &expected, &work->faults[rank->rank],
                                                  rank->stream),
                          "checking", err);
    return good || RELAY(err);
}

static void judge(const struct work *work, struct nccl_pair *out) {
    snprintf(out->why, sizeof out->why, "an all_reduce of %d MiB is right at both", PAIR_BYTES >> 20);
    for (int rank = 0; rank < 2; rank++) {
        const struct collective_fault *fault = &work->faults[rank];
        if (fault->bad == 0)
            continue;
        out->verdict = NCCL_PAIR_WRONG;
        snprintf(out->why, sizeof out->why,
                 "all_reduce: %" PRIu64 " of %d numbers are wrong at rank %d, the first at offset %" PRIu64
                 ": expected 0x%08x, found 0x%08x",
                 fault->bad, PAIR_BYTES / 4, rank, fault->first_offset, fault->expected, fault->found);
        return;
    }
}

void nccl_pair_check(struct case_context *context, const struct gpu_device *from, const struct gpu_device *to,
                     struct nccl_pair *out) {
    struct gpu_device gpus[2] = {*from, *to};
    struct case_context two = *context;
    struct nccl_set_options options = {.absent_rank = -1};
    struct nccl_set *set = NULL;
    struct work work = {.seed = pattern_seed(context->seed, 77)};
    struct error err = {0}, ignored = {0};
    *out = (struct nccl_pair){.verdict = NCCL_PAIR_OK};
    two.gpus = gpus;
    two.n_gpus = 2;
    two.attributes = NULL; /* neither an order nor cores */
    nccl_shape_make(NCCL_ALL_REDUCE, 2, NCCL_FLOAT, PAIR_BYTES, false, &work.shape);
    if (context->cpu >=
        0) /* NCCL's helper threads inherit where they may run, and later items have them too */
        pin_release(&ignored);
    bool got = nccl_set_get(&two, &options, &set, &err);
    bool good = got && nccl_set_room(&two, set, PAIR_BYTES, &err) &&
                nccl_set_run(&two, set, reduce_once, &work, &err);
    out->seconds = got ? set->join_seconds : 0;
    if (got && !good)
        nccl_set_drop(&two, set, true);
    if (good) {
        judge(&work, out);
    } else {
        out->verdict = err.kind == ERROR_ABSENT ? NCCL_PAIR_ABSENT : NCCL_PAIR_FAILED;
        snprintf(out->why, sizeof out->why, "%.250s", err.text);
    }
    if (context->cpu >= 0)
        pin_thread(context->cpu, &ignored);
    gpu_use(from, &ignored);
}
