/* SPDX-License-Identifier: Apache-2.0 */
/* Filling and checking large host buffers (kernels/pattern.h) by several threads, on whatever CPUs
 * the process may use: it happens between timed parts, and by one thread would take as long as they do. */
#ifndef GPUVET_BENCH_HOST_DATA_H
#define GPUVET_BENCH_HOST_DATA_H

#include "kernels/pattern.h"

/* `bytes` is a multiple of 4. The results are those of pattern_fill_host and pattern_check_host. */
void host_data_fill(void *buffer, size_t bytes, uint32_t seed);
void host_data_check(const void *buffer, size_t bytes, uint32_t seed, struct pattern_fault *out);
/* One byte of every page, so that the kernel clears them: one thread alone needs longer for that than ten
 * copies. */
void host_data_touch(void *buffer, size_t bytes);

#endif
