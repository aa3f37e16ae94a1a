/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peer_exchange.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { FLAG_BYTES = 256 }; /* lines of their own */

struct side {
    struct gpu_device gpu;
    gpu_stream stream;
    void *flag;    /* in the GPU's memory */
    void *reading; /* in pinned host memory */
};

struct peer_exchange {
    struct side sides[2];
};

static bool make_side(struct side *side, const struct gpu_device *gpu, struct error *err) {
    side->gpu = *gpu;
    return gpu_use(gpu, err) && gpu_stream_make(&side->stream, err) &&
           gpu_alloc(FLAG_BYTES, &side->flag, err) &&
           gpu_host_alloc(sizeof(struct pingpong_reading), &side->reading, err);
}

bool peer_exchange_make(const struct gpu_device *a, const struct gpu_device *b, struct peer_exchange **out,
                        struct error *err) {
    struct peer_exchange *x = mem_zeroed(1, sizeof *x);
    if (make_side(&x->sides[0], a, err) && make_side(&x->sides[1], b, err)) {
        *out = x;
        return true;
    }
    peer_exchange_free(x);
    *out = NULL;
    return RELAY(err);
}

void peer_exchange_free(struct peer_exchange *x) {
    struct error ignored = {0};
    for (int i = 0; x != NULL && i < 2; i++) {
        struct side *side = &x->sides[i];
        if (side->stream != NULL && gpu_use(&side->gpu, &ignored))
            gpu_stream_wait(side->stream, &ignored); /* it may still write its reading */
    }
    for (int i = 0; x != NULL && i < 2; i++) {
        gpu_stream_free(x->sides[i].stream);
        gpu_free(x->sides[i].flag);
        gpu_host_free(x->sides[i].reading);
    }
    free(x);
}

static bool reset(struct side *side, uint32_t number, struct error *err) {
    memset(side->reading, 0, sizeof(struct pingpong_reading));
    return gpu_use(&side->gpu, err) && gpu_copy(side->flag, &number, sizeof number, err);
}

static bool launch(struct side *mine, struct side *theirs, const struct pingpong *plan, bool begins,
                   struct error *err) {
    return gpu_use(&mine->gpu, err) &&
           gpu_check(pingpong_launch(plan, begins, mine->flag, theirs->flag, mine->reading, mine->stream),
                     "cannot launch the exchange of flags", err);
}

static bool wait_for(struct side *side, struct error *err) {
    return (gpu_use(&side->gpu, err) && gpu_stream_wait(side->stream, err)) || RELAY(err);
}

bool peer_exchange_run(struct peer_exchange *x, const struct pingpong *plan, struct peer_exchange_result *out,
                       struct error *err) {
    struct side *a = &x->sides[0], *b = &x->sides[1];
    *out = (struct peer_exchange_result){0};
    /* The side that answers is there first, so that the beginner's time limit is not spent on its launch. */
    bool good = reset(a, plan->first - 1, err) && reset(b, plan->first - 1, err) &&
                launch(b, a, plan, false, err) && launch(a, b, plan, true, err);
    struct error ignored = {0};
    good = wait_for(a, good ? err : &ignored) && good;
    good = wait_for(b, good ? err : &ignored) && good;
    if (!good)
        return RELAY(err);
    memcpy(&out->sides[0], a->reading, sizeof out->sides[0]);
    memcpy(&out->sides[1], b->reading, sizeof out->sides[1]);
    return peer_exchange_judge(plan, (const char *const[]){a->gpu.bdf, b->gpu.bdf}, out, err) || RELAY(err);
}

bool peer_exchange_judge(const struct pingpong *plan, const char *const bdfs[2],
                         struct peer_exchange_result *result, struct error *err) {
    const struct pingpong_reading *sides = result->sides;
    /* Where both gave up, the one that waited first lost a number: the beginner has seen as many as the other
     * or one fewer. */
    int loser = sides[0].done != 0                      ? 1
                : sides[1].done != 0                    ? 0
                : sides[1].received > sides[0].received ? 0
                                                        : 1;
    const struct pingpong_reading *lost = &sides[loser];
    for (int i = 0; i < 2; i++)
        if (sides[i].gave_up == 2)
            return FAIL(err, ERROR_VERIFY, "%s found %u in its flag, where %s had written %u", bdfs[i],
                        sides[i].wrong, bdfs[1 - i], sides[i].expected);
    if (lost->done == 0 && lost->gave_up != 0)
        return FAIL(err, ERROR_VERIFY,
                    "%s wrote number %u of %u into the flag of %s, which does not see it in its own memory",
                    bdfs[1 - loser], lost->received + 1, plan->warm + plan->timed, bdfs[loser]);
    if (lost->done == 0 || sides[0].ns == 0)
        return FAIL(err, ERROR_VERIFY, "the kernel that exchanges flags on %s ended without a result",
                    bdfs[lost->done == 0 ? loser : 0]);
    result->ns = (double)sides[0].ns / plan->timed / 2;
    result->sm_mhz = (double)sides[0].cycles * 1e3 / (double)sides[0].ns;
    return true;
}
