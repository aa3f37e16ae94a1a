/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that look drawn by chance and are the same in every run: a test sets `seed` and draws. */
#ifndef GPUVET_UNIT_STATS_NOISE_H
#define GPUVET_UNIT_STATS_NOISE_H

#include "base/random.h"

static uint64_t seed;

static inline double uniform(void) { /* in (0, 1) */
    return random_uniform(&seed);
}

static inline double normal(void) {
    return random_normal(&seed);
}

#endif
