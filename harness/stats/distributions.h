/* SPDX-License-Identifier: Apache-2.0 */
/* The few distribution functions that the decision procedure needs. Pure; NAN in, or an argument outside the
 * domain, gives NAN. */
#ifndef GPUVET_STATS_DISTRIBUTIONS_H
#define GPUVET_STATS_DISTRIBUTIONS_H

#include <stddef.h>

double dist_digamma(double x);          /* x > 0 */
double dist_trigamma(double x);         /* x > 0 */
double dist_trigamma_inverse(double y); /* y > 0: the x with trigamma(x) = y */

/* P(|T| >= |t|) with `df` degrees of freedom; INFINITY is the normal distribution. */
double dist_t_two_sided(double t, double df);
/* The t >= 0 with P(|T| >= t) = p. */
double dist_t_critical(double p, double df);

/* Two-sided Mann-Whitney test: normal approximation with continuity and tie corrections. 1 when all values
 * are equal, NAN when a side is empty. */
double dist_mann_whitney(const double *x, size_t n, const double *y, size_t m);

#endif
