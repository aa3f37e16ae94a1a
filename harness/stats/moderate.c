/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/moderate.h"

#include "base/mem.h"
#include "stats/distributions.h"
#include "stats/robust.h"

#include <math.h>
#include <stdlib.h>

/* By the moments of e = log s² - digamma(df/2) + log(df/2). */
static void fit(const double *s2, const double *df, size_t n, double floor_s2, struct variance_prior *out) {
    double *e = mem_zeroed(n, sizeof *e);
    double expected = 0;
    double pooled = 0;
    double total_df = 0;
    for (size_t i = 0; i < n; i++) {
        double half = df[i] / 2;
        e[i] = log(fmax(s2[i], floor_s2)) - dist_digamma(half) + log(half);
        expected += dist_trigamma(half) / (double)n;
        pooled += df[i] * s2[i];
        total_df += df[i];
    }
    double excess = stats_variance(e, n) - expected;
    if (excess > 0) {
        double half = dist_trigamma_inverse(excess);
        *out = (struct variance_prior){exp(stats_mean(e, n) + dist_digamma(half) - log(half)), 2 * half};
    } else {
        *out = (struct variance_prior){pooled / total_df, INFINITY};
    }
    free(e);
}

bool variance_prior_fit(const double *s2, const double *df, size_t n, double most_df,
                        struct variance_prior *out) {
    double median = n >= VARIANCE_PRIOR_LEAST ? stats_median(s2, n) : 0;
    if (!(median > 0))
        return false;
    /* The floor keeps single zeros from ruling the moments of the logarithm. */
    fit(s2, df, n, 1e-5 * median, out);
    out->df = fmin(out->df, most_df);
    return true;
}

double variance_moderated(double s2, double df, const struct variance_prior *prior) {
    return isinf(prior->df) ? prior->s2 : (prior->df * prior->s2 + df * s2) / (prior->df + df);
}
