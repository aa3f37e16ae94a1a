/* SPDX-License-Identifier: Apache-2.0 */
/* What all launchers have in common. They are plain C, return a cudaError_t as int (0: all well), and take a
 * cudaStream_t as void pointer. A build without a toolkit has them too, so that everything links: there each
 * returns KERNELS_WITHOUT_CUDA. */
#ifndef GPUVET_KERNELS_LAUNCH_H
#define GPUVET_KERNELS_LAUNCH_H

#include <stdint.h>

/* No cudaError_t has this value. */
enum { KERNELS_WITHOUT_CUDA = 65536 };

#ifdef __cplusplus
extern "C" {
#endif

/* Loads every kernel of this folder but those of fault.h on the current device, so that no loading falls into
 * a timed part or waits behind a closed gate (loading may synchronise: behind a gate that is a deadlock). */
int kernels_load(void);

/* A kernel that does nothing. */
int empty_launch(void *stream);

/* Adds 1 to the counter (in device memory) if it holds `expected`: n of these with 0 to n - 1 leave n there
 * only when each of them ran, and in this order. */
int count_launch(uint32_t *counter, uint32_t expected, void *stream);

#ifdef __cplusplus
}
#endif

#endif
