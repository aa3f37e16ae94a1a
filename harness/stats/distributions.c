/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/distributions.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Beyond this many degrees of freedom t and normal agree to more digits than a decision could use. */
static const double DF_NORMAL = 1e6;

static double log_gamma(double x) {
    int sign = 0; /* lgamma_r: lgamma itself writes to a global */
    return x > 0 ? lgamma_r(x, &sign) : NAN;
}

double dist_digamma(double x) {
    if (!(x > 0))
        return NAN;
    double sum = 0;
    for (; x < 10; x += 1)
        sum -= 1 / x;
    double r = 1 / (x * x);
    return sum + log(x) - 0.5 / x -
           r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132))));
}

double dist_trigamma(double x) {
    if (!(x > 0))
        return NAN;
    double sum = 0;
    for (; x < 10; x += 1)
        sum += 1 / (x * x);
    double r = 1 / (x * x);
    double series = 1.0 / 6 - r * (1.0 / 30 - r * (1.0 / 42 - r * (1.0 / 30 - r * 5.0 / 66)));
    return sum + 1 / x + 0.5 * r + series * r / x;
}

static double tetragamma(double x) {
    double sum = 0;
    for (; x < 10; x += 1)
        sum -= 2 / (x * x * x);
    double r = 1 / (x * x);
    return sum - r * (1 + 1 / x + r * (0.5 - r * (1.0 / 6 - r * (1.0 / 6 - r * 0.3))));
}

/* Newton's method on 1/trigamma, which is nearly linear and convex, so that it converges from above without
 * overshooting (Smyth 2004, appendix). */
double dist_trigamma_inverse(double y) {
    if (!(y > 0))
        return NAN;
    if (y > 1e7)
        return 1 / sqrt(y);
    if (y < 1e-6)
        return 1 / y;
    double x = 0.5 + 1 / y;
    for (int i = 0; i < 60; i++) {
        double value = dist_trigamma(x);
        double step = value * (1 - value / y) / tetragamma(x);
        x += step;
        if (fabs(step) < 1e-10 * x)
            break;
    }
    return x;
}

/* Continued fraction of the incomplete beta function by Lentz's method; converges fast for x below
 * (a + 1) / (a + b + 2), in about sqrt(max(a, b)) steps. */
static double beta_fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1;
    double d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m <= 20000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 + even * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + even / c;
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + odd * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + odd / c;
        c = fabs(c) < tiny ? tiny : c;
        double factor = d * c;
        value *= factor;
        if (fabs(factor - 1) < 1e-15)
            break;
    }
    return value;
}

/* The regularised incomplete beta function I_x(a, b). `y` is 1 - x, given apart because it carries the digits
 * when x is near 1. */
static double incomplete_beta(double a, double b, double x, double y) {
    if (x <= 0 || y <= 0)
        return x <= 0 ? 0 : 1;
    double front = exp(a * log(x) + b * log(y) + log_gamma(a + b) - log_gamma(a) - log_gamma(b));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, y) / b;
}

double dist_t_two_sided(double t, double df) {
    if (isnan(t) || !(df > 0))
        return NAN;
    t = fabs(t);
    if (isinf(t))
        return 0;
    if (df > DF_NORMAL)
        return erfc(t / sqrt(2));
    double square = t * t;
    if (isinf(square))
        return 0;
    return incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square));
}

static double t_density(double t, double df) {
    if (df > DF_NORMAL)
        return exp(-t * t / 2) / sqrt(2 * M_PI);
    double constant = log_gamma((df + 1) / 2) - log_gamma(df / 2) - 0.5 * log(df * M_PI);
    return exp(constant - (df + 1) / 2 * log1p(t * t / df));
}

/* The two-sided tail falls and is convex, so Newton's steps from 0 rise to the root and never pass it. */
double dist_t_critical(double p, double df) {
    if (!(p > 0) || !(p <= 1) || !(df > 0))
        return NAN;
    double t = 0;
    for (int i = 0; i < 2000; i++) {
        double excess = dist_t_two_sided(t, df) - p;
        double slope = 2 * t_density(t, df);
        if (excess <= 0 || !(slope > 0))
            break;
        double step = excess / slope;
        t += step;
        if (step < 1e-12 * t)
            break;
    }
    return t;
}

struct ranked {
    double value;
    int side;
};

static int by_value(const void *a, const void *b) {
    double x = ((const struct ranked *)a)->value;
    double y = ((const struct ranked *)b)->value;
    return (x > y) - (x < y);
}

double dist_mann_whitney(const double *x, size_t n, const double *y, size_t m) {
    if (n == 0 || m == 0)
        return NAN;
    size_t total = n + m;
    struct ranked *all = mem_zeroed(total, sizeof *all);
    for (size_t i = 0; i < total; i++)
        all[i] = i < n ? (struct ranked){x[i], 0} : (struct ranked){y[i - n], 1};
    qsort(all, total, sizeof *all, by_value);
    double rank_sum = 0; /* of x */
    double ties = 0;
    for (size_t i = 0; i < total;) {
        size_t end = i;
        while (end < total && all[end].value == all[i].value)
            end++;
        double length = (double)(end - i);
        double rank = (double)i + (length + 1) / 2;
        for (; i < end; i++)
            rank_sum += all[i].side == 0 ? rank : 0;
        ties += length * length * length - length;
    }
    free(all);
    double a = (double)n;
    double b = (double)m;
    double size = a + b;
    double u = rank_sum - a * (a + 1) / 2;
    double variance = a * b / 12 * (size + 1 - ties / (size * (size - 1)));
    if (!(variance > 0))
        return 1;
    double distance = fmax(0, fabs(u - a * b / 2) - 0.5);
    return erfc(distance / sqrt(2 * variance));
}
