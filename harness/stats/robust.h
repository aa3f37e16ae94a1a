/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries of samples. None changes its input. An empty set gives NAN. */
#ifndef GPUVET_STATS_ROBUST_H
#define GPUVET_STATS_ROBUST_H

#include <stdbool.h>
#include <stddef.h>

double stats_mean(const double *x, size_t n);
double stats_geometric_mean(const double *x, size_t n); /* all positive; NAN where one is not */
double stats_variance(const double *x, size_t n);       /* unbiased, n - 1; NAN under two */
double stats_median(const double *x, size_t n);         /* mean of the middle two when n is even */
/* Quantile by linear interpolation of order statistics (Hyndman and Fan type 7), 0 <= q <= 1. */
double stats_quantile(const double *x, size_t n, double q);
/* 1.4826 × median absolute deviation: estimates sigma under normal errors. */
double stats_mad_sigma(const double *x, size_t n);
/* 95 % interval of the median that assumes no distribution: the narrowest pair of order statistics, as far
 * from either end, that holds the median in at least 95 % of all sample sets (sign test). False under six
 * values, where there is none. */
bool stats_median_interval(const double *x, size_t n, double *low, double *high);
/* The statistic a series names: "" and "p50" the median, "p90", "p99" the quantiles. NAN for another name. */
double stats_named(const char *statistic, const double *x, size_t n);

#endif
