/* SPDX-License-Identifier: Apache-2.0 */
/* Two resident kernels that hand a number to and fro through flags in each other's memory
 * (kernels/pingpong.h): on two GPUs that reach each other, or on one. */
#ifndef GPUVET_BENCH_PEER_EXCHANGE_H
#define GPUVET_BENCH_PEER_EXCHANGE_H

#include "gpu/gpu.h"
#include "kernels/pingpong.h"

struct peer_exchange;

/* Peer access is on already. Release with peer_exchange_free (NULL allowed). */
bool peer_exchange_make(const struct gpu_device *a, const struct gpu_device *b, struct peer_exchange **out,
                        struct error *err);
void peer_exchange_free(struct peer_exchange *exchange);

struct peer_exchange_result {
    double ns;     /* half a round trip, mean over the timed ones */
    double sm_mhz; /* mean SM clock of the side that begins */
    struct pingpong_reading sides[2];
};

/* `a` begins. Waits: at most about the plan's time limit after the last number that came. False with kind
 * ERROR_VERIFY when a number was lost or changed. */
bool peer_exchange_run(struct peer_exchange *exchange, const struct pingpong *plan,
                       struct peer_exchange_result *out, struct error *err);

/* What a run's readings amount to; the same failure. */
bool peer_exchange_judge(const struct pingpong *plan, const char *const bdfs[2],
                         struct peer_exchange_result *result, struct error *err);

#endif
