/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that look drawn by chance and are the same in every run: a test sets `seed` and draws. */
#ifndef GPUVET_UNIT_STATS_NOISE_H
#define GPUVET_UNIT_STATS_NOISE_H

#include <math.h>
#include <stdint.h>

static uint64_t seed;

static inline double uniform(void) { /* splitmix64, in (0, 1) */
    uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double normal(void) {
    double r = sqrt(-2 * log(uniform()));
    return r * cos(2 * M_PI * uniform());
}

#endif
