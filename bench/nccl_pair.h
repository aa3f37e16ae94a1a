/* SPDX-License-Identifier: Apache-2.0 */
/* Do two GPUs get a collective done together? For the last rung of the P2P ladder. */
#ifndef GPUVET_BENCH_NCCL_PAIR_H
#define GPUVET_BENCH_NCCL_PAIR_H

#include "run/case.h"

enum nccl_pair_verdict {
    NCCL_PAIR_OK,     /* verified at both */
    NCCL_PAIR_ABSENT, /* no NCCL here, or one too old for these GPUs: nobody can say */
    NCCL_PAIR_WRONG,  /* data arrived wrong */
    NCCL_PAIR_FAILED, /* NCCL refused or failed */
};

struct nccl_pair {
    enum nccl_pair_verdict verdict;
    char why[256];
    double seconds; /* of making the communicator, which is most of it; 0: it was there */
};

/* An all_reduce of 1 MiB of float between two of context->gpus, each a thread. The communicator stays for the
 * next item of the same two GPUs. Takes about half a second the first time, so not for every pair in every
 * round: one pair of each kind of path in the first round is enough. Where it never ends the item does not
 * either; its deadline then says what each rank waits for. */
void nccl_pair_check(struct case_context *context, const struct gpu_device *from, const struct gpu_device *to,
                     struct nccl_pair *out);

#endif
