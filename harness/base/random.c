/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <math.h>

uint64_t random_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

uint64_t random_next(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15ULL;
    return random_mix(*state);
}

double random_uniform(uint64_t *state) {
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

double random_normal(uint64_t *state) { /* Box and Muller */
    double r = sqrt(-2 * log(random_uniform(state)));
    return r * cos(2 * M_PI * random_uniform(state));
}
