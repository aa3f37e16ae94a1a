/* SPDX-License-Identifier: Apache-2.0 */
/* Inside kernels/ only: one loader a file, called by kernels_load(). A new NAME.cu needs its NAME.h, a loader
 * here and in load.cu, and its launchers in without_cuda.c. */
#ifndef GPUVET_KERNELS_LOAD_H
#define GPUVET_KERNELS_LOAD_H

#ifdef __cplusplus
extern "C" {
#endif

int empty_load(void);
int pattern_load(void);
int corrupt_load(void);
int gate_load(void);
int clock_probe_load(void);
int delay_load(void);
int chase_load(void);
int copy_load(void);
int pingpong_load(void);
int collective_load(void);

#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
#include <cuda_runtime.h>

/* Asking for a kernel's attributes loads it. */
template <typename Kernel> static cudaError_t load_kernel(Kernel *kernel) {
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(kernel));
}
#endif

#endif
