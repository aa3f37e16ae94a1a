/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL's own log (NCCL_DEBUG=INFO) tells of how ranks are connected. Its format is nobody's promise:
 * what is not understood is left out, and nothing is guessed. */
#ifndef GPUVET_BENCH_NCCL_LOG_H
#define GPUVET_BENCH_NCCL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NCCL_LOG_PAIRS = 256, NCCL_LOG_WORD = 48 };

struct nccl_log_pair {
    int from, to;                  /* ranks */
    char transport[NCCL_LOG_WORD]; /* "P2P/CUMEM", "SHM/direct/direct", "NET/IB/0" */
    bool mixed;                    /* other channels have another one */
    uint64_t channels[2];          /* a bit a channel */
};

struct nccl_log {
    struct nccl_log_pair pairs[NCCL_LOG_PAIRS];
    int n_pairs;
    int collective, nvls, peer; /* channels by its summary; -1: not told */
};

/* Any bytes. Lines beyond what fits are left out. */
void nccl_log_read(const char *text, size_t length, struct nccl_log *out);
int nccl_log_channels(const struct nccl_log_pair *pair);

#endif
