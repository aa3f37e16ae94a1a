/* SPDX-License-Identifier: Apache-2.0 */
/* The decision procedure of before/after comparisons: pure, no files, no output. docs/method.md, "Judging".
 */
#ifndef GPUVET_STATS_DECIDE_H
#define GPUVET_STATS_DECIDE_H

#include <stdbool.h>
#include <stddef.h>

/* One side of one series: `runs` runs, each with its rounds' values (the declared statistic of each round),
 * in the metric's unit, positive. Borrowed. */
struct decide_side {
    size_t n_runs;
    const double *const *values; /* [run][round] */
    const size_t *n_values;      /* [run] */
};

enum verdict {
    VERDICT_IMPROVED,
    VERDICT_REGRESSED,
    VERDICT_SAME,
    VERDICT_UNDECIDED,
    VERDICT_NOT_COMPARABLE,
    VERDICT_DESCRIPTIVE, /* shown with ratio and interval, never judged */
    VERDICT_COUNT,
};
const char *verdict_name(enum verdict verdict); /* "improved" … "not comparable", "descriptive" */

enum { DECIDE_MIN_RUNS = 3 }; /* of BEFORE, for a spread between runs that is measured */

/* The rate of false alarms that the whole family may have. */
extern const double DECIDE_FAMILY_ALPHA;

struct decide_series {
    struct decide_side before, after;
    bool higher_is_better;
    bool primary;                /* only these are judged and count in the family */
    double delta_rel, delta_abs; /* δ is the larger: relative, and in the unit (0: none) */
    double between_rel;          /* default spread between runs, one sigma, relative; 0: none */
    const char *class_name; /* case, metric and path class: series of one class share their variance prior */
};

struct decide_result {
    enum verdict verdict;
    char reason[200]; /* of undecided and not comparable; "" otherwise or a remark */
    double before,
        after;        /* in the unit: geometric mean over a side's runs of each run's own over its rounds */
    double ratio;     /* after / before: the estimate */
    double low, high; /* unadjusted 95 % interval of the ratio */
    double p, p_adjusted;    /* two-sided, Holm over the primary family; NAN where not tested */
    double delta;            /* the δ used, relative */
    double df;               /* moderated */
    bool between_is_default; /* the between-run part came from the shipped default: marked in output */
    double rounds_needed, runs_needed; /* estimates of what would decide; NAN: none would */
};

/* "not comparable" for this reason, with no figure known. */
struct decide_result decide_none(const char *reason);

/* Judges all series together. `results` has room for `count`. */
void decide_before_after(const struct decide_series *series, size_t count, struct decide_result *results);

#endif
