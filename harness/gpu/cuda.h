/* SPDX-License-Identifier: Apache-2.0 */
/* For the files of gpu/ that call CUDA, in builds that have it. */
#ifndef GPUVET_GPU_CUDA_H
#define GPUVET_GPU_CUDA_H

#include "gpu/gpu.h"

#include <cuda_runtime.h>

/* True when the call succeeded; else fills `err` with CUDA's own words, what was tried, and what it usually
 * means. */
bool cuda_check(cudaError_t status, const char *what, struct error *err, const char *file, int line,
                const char *function);

#define CUDA(call, what, err) cuda_check((call), (what), (err), __FILE__, __LINE__, __func__)

#endif
