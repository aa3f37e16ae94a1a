/* SPDX-License-Identifier: Apache-2.0 */
/* What the two decision procedures (decide.c, decide_paired.c) have in common. */
#ifndef GPUVET_STATS_DECIDE_PARTS_H
#define GPUVET_STATS_DECIDE_PARTS_H

#include "stats/decide.h"

enum { DECIDE_MAX_NEEDED = 1000 }; /* an estimate of rounds or runs beyond this is "none would" */

/* Round values are not believed to be reproducible below this (relative, one sigma): clocks tick, figures are
 * rounded, and a spread of exactly zero says only that. */
extern const double DECIDE_RESOLUTION;

double positive_or_zero(double x); /* 0 for what is not finite too */

/* Whether a value can be a measurement at all: positive, and by magnitude such that no figure made of it
 * overflows (nothing that is measured comes near the bounds). */
bool decide_is_value(double x);

/* The interval of a ratio, from that of its logarithm; none where it says nothing, being wider than any
 * number. */
void decide_set_interval(struct decide_result *result, double middle, double width);

void decide_say(struct decide_result *result, enum verdict verdict, const char *reason);

/* The half width of an interval that decides a difference (of logs) of this size: beyond `limit` the one that
 * makes it significant in a family of `family`, else the one that keeps the 90 % interval inside ± limit. In
 * standard errors: what the standard error may be at most. */
double decide_wanted_error(double distance, double limit, size_t family, double df);

#endif
