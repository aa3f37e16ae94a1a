/* SPDX-License-Identifier: Apache-2.0 */
/* bf16 matrix products by cuBLASLt, loaded at run time; what is used of it is declared by us. For the
 * worker's child process only. */
#ifndef GPUVET_GPU_CUBLASLT_H
#define GPUVET_GPU_CUBLASLT_H

#include "base/json.h"
#include "gpu/gpu.h"

enum { CUBLASLT_WORKSPACE = 32 << 20 };

struct cublaslt;     /* the library */
struct cublaslt_gpu; /* what it keeps for one GPU */

/* ERROR_ABSENT with the way to install it where there is none. Never unloaded. */
bool cublaslt_open(struct cublaslt **out, struct error *err);
/* {"version","path","found","bytes"}; adds to `out`. */
void cublaslt_describe(const struct cublaslt *lt, js *out);

/* For the current GPU, with a workspace of its own: one stream at a time. Release also after a failure. */
bool cublaslt_gpu_make(const struct cublaslt *lt, struct cublaslt_gpu **out, struct error *err);
void cublaslt_gpu_free(struct cublaslt_gpu *gpu); /* NULL allowed */

/* y (m × n) = x (m × k) × w transposed (w is n × k), all bf16, rows contiguous; a row of x begins `ldx`
 * elements after the one before (at least k). Sums in float. Release before `gpu`, also after a failure. */
struct cublaslt_gemm;
bool cublaslt_gemm_make(struct cublaslt_gpu *gpu, int m, int n, int k, int ldx, struct cublaslt_gemm **out,
                        struct error *err);
void cublaslt_gemm_free(struct cublaslt_gemm *gemm); /* NULL allowed */
/* Queues it and does not wait. */
bool cublaslt_gemm_enqueue(const struct cublaslt_gemm *gemm, const void *x, const void *w, void *y,
                           gpu_stream stream, struct error *err);

#endif
