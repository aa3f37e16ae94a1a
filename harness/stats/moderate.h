/* SPDX-License-Identifier: Apache-2.0 */
/* Variances shrunk to what is common to their class, as in G. K. Smyth, "Linear models and empirical Bayes
 * methods for assessing differential expression in microarray experiments", Statistical Applications in
 * Genetics and Molecular Biology 3(1), 2004, section 6.2 (the prior from the moments of log s²). Pure. */
#ifndef GPUVET_STATS_MODERATE_H
#define GPUVET_STATS_MODERATE_H

#include <stdbool.h>
#include <stddef.h>

enum { VARIANCE_PRIOR_LEAST = 4 }; /* variances that make a prior */

struct variance_prior {
    double s2, df; /* df INFINITY: no more different than chance makes equal variances */
};

/* From `n` variances with their degrees of freedom (all > 0). The prior gets at most `most_df` (INFINITY: no
 * cap). False: too few of them, or most are zero (quantised values say nothing about the others). */
bool variance_prior_fit(const double *s2, const double *df, size_t n, double most_df,
                        struct variance_prior *out);

/* One variance with that prior. */
double variance_moderated(double s2, double df, const struct variance_prior *prior);

#endif
