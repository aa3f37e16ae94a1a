/* SPDX-License-Identifier: Apache-2.0 */
/* The decision procedure for two places (or arms) measured in turn within one boot: pure. docs/method.md,
 * "Host and container". */
#ifndef GPUVET_STATS_DECIDE_PAIRED_H
#define GPUVET_STATS_DECIDE_PAIRED_H

#include "stats/decide.h"

#include <stdint.h>

enum { PAIRED_MIN_ROUNDS = 12 }; /* for the test by sign flips; with fewer rounds it could not reject */

struct paired_series {
    size_t n;             /* pairs */
    const int *rounds;    /* which round each is of; a round counts once */
    const double *first;  /* the round's value here (host), in the unit, positive */
    const double *second; /* and there (container) */
    bool higher_is_better;
    bool primary;                /* only these are judged and count in the family */
    double delta_rel, delta_abs; /* the smallest effect that matters, as in struct decide_series */
    const char *class_name;      /* series of one class share their variance prior */
};

/* Judges all series together: `before` of a result is the first side, `after` the second, `ratio` second over
 * first. From PAIRED_MIN_ROUNDS rounds on by step-down max-T over flips of whole rounds, else by Holm on
 * moderated t. `seed` is of the flips, where not all of them are tried. */
void decide_paired(const struct paired_series *series, size_t count, uint64_t seed,
                   struct decide_result *results);

#endif
