/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of decode.step on one rank: weights, activations, what a step queues. */
#ifndef GPUVET_BENCH_DECODE_MODEL_H
#define GPUVET_BENCH_DECODE_MODEL_H

#include "bench/nccl_set.h"
#include "gpu/cublaslt.h"

enum { DECODE_GEMMS = 4 };

/* Sizes, as plain data. */
struct decode_shape {
    int m, hidden, layers, ranks;
    struct {
        int n, k, ldx;
    } gemms[DECODE_GEMMS]; /* query-key-value, output, up and gate, down; of one rank */
    int wide;              /* most elements of a row of what the first and third give */
    size_t reduce_bytes;   /* of each all_reduce: m × hidden × 2 */
    double weight_bytes;   /* that a rank reads in a step */
};
/* False where the ranks do not divide it. */
bool decode_shape_make(int m, int hidden, int layers, int ranks, struct decode_shape *out);

struct decode_rank {
    struct cublaslt_gpu *lt;
    struct cublaslt_gemm *gemms[DECODE_GEMMS];
    char *weights;       /* of all layers, one after the other */
    char *x, *inner, *y; /* activations: input, inside a half layer, output */
    char *expected;      /* the output of the first step that counts */
    gpu_graph graph;     /* NULL: steps are queued one by one */
    size_t graph_nodes;
};

/* For the rank's current GPU; fills weights and input. Release with decode_rank_free, also after a failure.
 */
bool decode_rank_make(const struct cublaslt *lt, const struct decode_shape *shape, uint32_t seed,
                      struct nccl_rank *rank, struct decode_rank *out, struct error *err);
void decode_rank_free(struct decode_rank *d);
/* The first product of the first layer at 32 places, against the host. False with ERROR_VERIFY. */
bool decode_check_gemm(const struct decode_shape *shape, uint32_t seed, struct nccl_rank *rank,
                       struct decode_rank *d, struct error *err);

/* Queues one step: per layer four products and, with several ranks, two all_reduces. */
bool decode_queue(const struct decode_shape *shape, struct nccl_rank *rank, const struct decode_rank *d,
                  gpu_stream stream, struct error *err);

#endif
