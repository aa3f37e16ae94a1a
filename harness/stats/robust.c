/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/robust.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double stats_mean(const double *x, size_t n) {
    if (n == 0)
        return NAN;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

double stats_geometric_mean(const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] > 0 ? log(x[i]) : NAN;
    return n == 0 ? NAN : exp(sum / (double)n);
}

double stats_variance(const double *x, size_t n) {
    if (n < 2)
        return NAN;
    double mean = stats_mean(x, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum / (double)(n - 1);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sorted_copy(const double *x, size_t n) {
    double *copy = mem_zeroed(n, sizeof *copy);
    memcpy(copy, x, n * sizeof *copy);
    qsort(copy, n, sizeof *copy, by_value);
    return copy;
}

double stats_quantile(const double *x, size_t n, double q) {
    if (n == 0 || !(q >= 0) || !(q <= 1))
        return NAN;
    double *sorted = sorted_copy(x, n);
    double position = q * (double)(n - 1);
    size_t low = (size_t)position;
    size_t high = low + 1 < n ? low + 1 : low;
    double fraction = position - (double)low;
    double value = sorted[low] + (fraction > 0 ? fraction * (sorted[high] - sorted[low]) : 0);
    free(sorted);
    return value;
}

double stats_median(const double *x, size_t n) {
    return stats_quantile(x, n, 0.5);
}

/* How many values may lie outside at either end: the most for which a binomial of n and 1/2 falls on those
 * numbers or fewer with at most 2.5 %. -1: not even none may. */
static long outside_each_end(size_t n) {
    double log_term = -(double)n * log(2), below = 0;
    for (size_t k = 0; k < n; k++) {
        below += exp(log_term);
        if (below > 0.025)
            return (long)k - 1;
        log_term += log((double)(n - k)) - log((double)(k + 1));
    }
    return -1;
}

bool stats_median_interval(const double *x, size_t n, double *low, double *high) {
    long outside = outside_each_end(n);
    *low = *high = NAN;
    if (n == 0 || outside < 0)
        return false;
    double *sorted = sorted_copy(x, n);
    *low = sorted[outside];
    *high = sorted[n - 1 - (size_t)outside];
    free(sorted);
    return true;
}

double stats_mad_sigma(const double *x, size_t n) {
    if (n == 0)
        return NAN;
    double median = stats_median(x, n);
    double *distances = mem_zeroed(n, sizeof *distances);
    for (size_t i = 0; i < n; i++)
        distances[i] = fabs(x[i] - median);
    double mad = stats_median(distances, n);
    free(distances);
    return 1.4826 * mad;
}

double stats_named(const char *statistic, const double *x, size_t n) {
    if (statistic[0] == '\0' || strcmp(statistic, "p50") == 0)
        return stats_median(x, n);
    if (strcmp(statistic, "p90") == 0)
        return stats_quantile(x, n, 0.90);
    if (strcmp(statistic, "p99") == 0)
        return stats_quantile(x, n, 0.99);
    return NAN;
}
