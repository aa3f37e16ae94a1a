/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as if by chance, the same from the same seed on every machine: splitmix64. */
#ifndef GPUVET_BASE_RANDOM_H
#define GPUVET_BASE_RANDOM_H

#include <stdint.h>

uint64_t random_next(uint64_t *state);
double random_uniform(uint64_t *state); /* in (0, 1) */
double random_normal(uint64_t *state);  /* mean 0, variance 1; takes two of the state's numbers */

/* Its finaliser: spreads the bits of one number over all 64. */
uint64_t random_mix(uint64_t x);

#endif
