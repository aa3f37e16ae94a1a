/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives as plain data: how much each rank sends and gets, what arrives, and the two bandwidths, by
 * the definitions of nccl-tests (its doc/PERFORMANCE.md). */
#ifndef GPUVET_BENCH_NCCL_OPS_H
#define GPUVET_BENCH_NCCL_OPS_H

#include "gpu/nccl.h"
#include "kernels/collective.h"

enum nccl_op {
    NCCL_ALL_REDUCE,
    NCCL_ALL_GATHER,
    NCCL_REDUCE_SCATTER,
    NCCL_BROADCAST,
    NCCL_REDUCE,
    NCCL_ALLTOALL,
    NCCL_SENDRECV,
    NCCL_OPS
};

struct nccl_shape {
    enum nccl_op op;
    int ranks, root;
    enum nccl_type type;
    bool in_place;
    size_t element;  /* bytes */
    size_t part;     /* elements: the count in NCCL's call */
    size_t sent;     /* elements that a rank gives */
    size_t received; /* elements that it gets */
    size_t bytes;    /* of the larger of both: the size that nccl-tests prints */
};

/* `bytes` of which the shape may use fewer: parts are whole multiples of 16 bytes where there is one a rank.
 * False where nothing is left, or the operation has no such form (in place). */
bool nccl_shape_make(enum nccl_op op, int ranks, enum nccl_type type, size_t bytes, bool in_place,
                     struct nccl_shape *out);

/* Operations work on the windows of the buffers in turn, each `nccl_stride` bytes after the one before, as
 * nccl-tests' do, so that large ones find no data in a cache. Of `loop` operations a sample. */
size_t nccl_stride(const struct nccl_shape *shape);
int nccl_windows(const struct nccl_shape *shape, int loop);
/* Bytes that a rank sends from and receives into, in all windows. */
double nccl_walked(const struct nccl_shape *shape, int loop);

double nccl_algbw(const struct nccl_shape *shape, double seconds); /* GB/s: size ÷ time */
double nccl_busbw_factor(enum nccl_op op, int ranks);              /* busbw ÷ algbw */

/* Elements from a window's start to what this rank sends and receives, in place. */
size_t nccl_send_offset(const struct nccl_shape *shape, int rank);
size_t nccl_receive_offset(const struct nccl_shape *shape, int rank);

/* What `rank` must hold after the operation on the window that begins at element `first`: `count` elements
 * (0: it gets nothing). */
void nccl_expect(const struct nccl_shape *shape, int rank, uint64_t first, uint32_t seed,
                 struct collective_data *out, size_t *count);
/* What it gives. */
void nccl_give(const struct nccl_shape *shape, int rank, uint64_t first, uint32_t seed,
               struct collective_data *out);

/* One operation of this rank; `send` and `receive` are where its data is. */
bool nccl_issue(const struct nccl *nccl, const struct nccl_shape *shape, int rank, const void *send,
                void *receive, nccl_comm comm, gpu_stream stream, struct error *err);

const char *nccl_op_name(enum nccl_op op); /* "all_reduce" */
const char *nccl_type_name(enum nccl_type type);
bool nccl_type_of(const char *name, enum nccl_type *out);

#endif
