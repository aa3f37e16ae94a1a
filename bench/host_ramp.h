/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the end of a ramp in the windows of host.ramp. */
#ifndef GPUVET_BENCH_HOST_RAMP_H
#define GPUVET_BENCH_HOST_RAMP_H

#include <stddef.h>

/* The first of `n` windows that is at `threshold` or above, and after which nine in ten of `hold` windows
 * (itself the first) are: an interrupt may take one. `speed` and `threshold` are in the same unit, whichever.
 * `n` where there is none. */
size_t ramp_find(const double *speed, size_t n, double threshold, size_t hold);

#endif
