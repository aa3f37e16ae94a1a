/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of one pair of GPUs, as plain data: each rung stands on the one before, so that the first which
 * breaks is the cause. */
#ifndef GPUVET_BENCH_P2P_RUNGS_H
#define GPUVET_BENCH_P2P_RUNGS_H

#include "base/json.h"

#include <stdbool.h>

enum p2p_rung {
    RUNG_STATUS,     /* what the driver says (NVML) */
    RUNG_ACCESS,     /* each GPU may map the other's memory */
    RUNG_COPY,       /* verified copies each way, by copy engine and kernel, pushed and pulled */
    RUNG_EXCHANGE,   /* resident kernels exchange flags */
    RUNG_COLLECTIVE, /* a two-rank collective */
    RUNG_COUNT,
};

enum p2p_verdict {
    VERDICT_NOT_REACHED, /* an earlier one failed */
    VERDICT_OK,
    VERDICT_UNKNOWN, /* nobody can say; the next rung is tried all the same */
    VERDICT_FAIL,
    VERDICT_NOT_TRIED, /* not for this pair, or not in this round */
};

struct p2p_ladder {
    struct {
        enum p2p_verdict verdict;
        char why[256];
    } rungs[RUNG_COUNT];
};

/* All rungs not reached. */
void p2p_ladder_start(struct p2p_ladder *ladder);
void p2p_ladder_set(struct p2p_ladder *ladder, enum p2p_rung rung, enum p2p_verdict verdict, const char *why,
                    ...) __attribute__((format(printf, 4, 5)));
/* The driver's words there and back ("" unknown): one that is not OK fails. */
void p2p_ladder_status(struct p2p_ladder *ladder, const char *there, const char *back);

/* The first rung that failed; RUNG_COUNT: none. */
enum p2p_rung p2p_ladder_broken(const struct p2p_ladder *ladder);
/* How many hold, of the rungs that every round climbs: the collective is not among them. */
int p2p_ladder_passed(const struct p2p_ladder *ladder);
/* The finding that names a rung: "p2p.status", "p2p.access", "p2p.copy", "p2p.exchange", "nccl.wrong";
 * static text. */
const char *p2p_rung_finding(enum p2p_rung rung);

/* {"rungs":[{"rung","verdict","why"}],"finding"}; "finding" where one failed. Adds to `out`. */
void p2p_ladder_tell(const struct p2p_ladder *ladder, js *out);

#endif
