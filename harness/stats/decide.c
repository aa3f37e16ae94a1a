/* SPDX-License-Identifier: Apache-2.0 */
/* Before/after. Everything works on logarithms, so that a difference is a log ratio. Per run the mean of its
 * rounds; the variance of such a run mean comes from the runs themselves where BEFORE has enough of them, and
 * else from the rounds plus the shipped default of the between-run spread.
 * Variances are shrunk to their class (stats/moderate.h). */
#include "stats/decide.h"

#include "base/mem.h"
#include "stats/decide_parts.h"
#include "stats/distributions.h"
#include "stats/moderate.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const double DECIDE_FAMILY_ALPHA = 0.01;

enum {
    MIN_ROUNDS = 2, /* on each side */
    VETO_ROUNDS = 10,
};

const double DECIDE_RESOLUTION = 1e-4;

/* A slow boot slows many series together, so that the run means of a class are not independent draws and
 * their pooled degrees of freedom promise too much. The prior of the between-run variance is given at most
 * this many. In the worst case, one run effect common to all series, three runs before and one after, 4 raise
 * a false alarm in 1.1 % of comparisons (20 series and 100), 8 in 2.2 %; the tests simulate it. */
static const double BETWEEN_PRIOR_DF = 4;

/* What is known of one series on its way to a verdict. */
struct work {
    const char *unusable;               /* why it cannot be compared; NULL: it can */
    double difference;                  /* log ratio */
    double round_s2, round_df;          /* variance of a round about its run's mean */
    double run_s2, run_df;              /* variance of a run's mean; df 0: no estimate */
    double runs_before, runs_after;     /* with at least one value */
    double rounds_before, rounds_after; /* harmonic means over the side's runs */
    double variance, df;                /* of the difference */
    double from_rounds;                 /* the part of `variance` that more rounds would shrink */
};

const char *verdict_name(enum verdict verdict) {
    static const char *const names[VERDICT_COUNT] = {"improved",  "regressed",      "same",
                                                     "undecided", "not comparable", "descriptive"};
    return (unsigned)verdict < VERDICT_COUNT ? names[verdict] : "?";
}

static size_t count_rounds(const struct decide_side *side) {
    size_t n = 0;
    for (size_t i = 0; i < side->n_runs; i++)
        n += side->n_values[i];
    return n;
}

static const char *why_unusable(const struct decide_side *side, bool primary, bool is_before) {
    size_t needed = primary ? MIN_ROUNDS : 1;
    size_t n = count_rounds(side);
    if (n == 0)
        return is_before ? "no value in BEFORE" : "no value in AFTER";
    if (n < needed)
        return is_before ? "fewer than 2 rounds in BEFORE" : "fewer than 2 rounds in AFTER";
    for (size_t i = 0; i < side->n_runs; i++)
        for (size_t j = 0; j < side->n_values[i]; j++)
            if (!(side->values[i][j] > 0))
                return is_before ? "a value in BEFORE is not positive" : "a value in AFTER is not positive";
            else if (!decide_is_value(side->values[i][j]))
                return is_before ? "a value in BEFORE cannot be a measurement"
                                 : "a value in AFTER cannot be a measurement";
    return NULL;
}

/* Sums of one side: its runs with values, the mean of their means, and the squares about them. */
struct side_sums {
    double runs;    /* with at least one value */
    double mean;    /* of the run means */
    double squares; /* of run means about it */
    double within;  /* of rounds about their run's mean */
    double within_df;
    double inverse; /* sum of 1 / rounds */
};

static struct side_sums sum_side(const struct decide_side *side) {
    struct side_sums s = {0};
    for (size_t i = 0; i < side->n_runs; i++) {
        size_t n = side->n_values[i];
        if (n == 0)
            continue;
        double mean = 0;
        for (size_t j = 0; j < n; j++)
            mean += log(side->values[i][j]);
        mean /= (double)n;
        for (size_t j = 0; j < n; j++) {
            double d = log(side->values[i][j]) - mean;
            s.within += d * d;
        }
        s.within_df += (double)(n - 1);
        s.inverse += 1 / (double)n;
        s.runs += 1;
        double from_mean = mean - s.mean; /* Welford's update */
        s.mean += from_mean / s.runs;
        s.squares += from_mean * (mean - s.mean);
    }
    return s;
}

/* What a side is shown as: after / before is then the ratio that is judged, which medians would not give.
 * NAN without a value, or with one that is not positive. */
static double figure_of(const struct side_sums *side) {
    return side->runs > 0 && isfinite(side->mean) ? exp(side->mean) : NAN;
}

double positive_or_zero(double x) {
    return isfinite(x) && x > 0 ? x : 0;
}

bool decide_is_value(double x) {
    return x > 1e-30 && x < 1e30;
}

void decide_set_interval(struct decide_result *result, double middle, double width) {
    const double most = 1e60; /* the ratio of the largest value to the smallest */
    double high = exp(middle + width);
    if (high < most && exp(width - middle) < most) {
        result->low = exp(middle - width);
        result->high = high;
    }
}

struct decide_result decide_none(const char *reason) {
    struct decide_result none = {.verdict = VERDICT_NOT_COMPARABLE, .before = NAN, .after = NAN};
    none.ratio = none.low = none.high = none.p = none.p_adjusted = NAN;
    none.delta = none.df = none.rounds_needed = none.runs_needed = NAN;
    snprintf(none.reason, sizeof none.reason, "%s", reason);
    return none;
}

static void summarize(const struct decide_series *series, struct work *w, struct decide_result *result) {
    *w = (struct work){0};
    *result = decide_none("");
    result->delta = positive_or_zero(series->delta_rel);
    struct side_sums before = sum_side(&series->before);
    struct side_sums after = sum_side(&series->after);
    result->before = figure_of(&before);
    result->after = figure_of(&after);
    w->unusable = why_unusable(&series->before, series->primary, true);
    if (w->unusable == NULL)
        w->unusable = why_unusable(&series->after, series->primary, false);
    if (w->unusable != NULL)
        return;
    result->delta = fmax(result->delta, positive_or_zero(series->delta_abs) / result->before);
    w->difference = after.mean - before.mean;
    result->ratio = exp(w->difference);
    w->round_df = before.within_df + after.within_df;
    w->round_s2 = w->round_df > 0 ? (before.within + after.within) / w->round_df : 0;
    w->runs_before = before.runs;
    w->runs_after = after.runs;
    w->rounds_before = before.runs / before.inverse;
    w->rounds_after = after.runs / after.inverse;
    if (before.runs >= DECIDE_MIN_RUNS) {
        w->run_df = before.runs + after.runs - 2;
        w->run_s2 = (before.squares + after.squares) / w->run_df;
    }
}

/* ---- shrinking variances to their class ---- */

struct variances {
    double *s2, *df; /* in: each series' own; out: moderated */
    size_t n;
};

static void moderate(struct variances *v, double most_prior_df) {
    struct variance_prior prior;
    if (!variance_prior_fit(v->s2, v->df, v->n, most_prior_df, &prior))
        return;
    double total_df = 0;
    for (size_t i = 0; i < v->n; i++)
        total_df += v->df[i];
    for (size_t i = 0; i < v->n; i++) {
        v->s2[i] = variance_moderated(v->s2[i], v->df[i], &prior);
        v->df[i] = fmin(v->df[i] + prior.df, total_df);
    }
}

/* Which variance of a series, and in what unit: series of one class are alike as they are; of several classes
 * they are compared in units of their default spread. */
struct kind {
    bool of_runs;
    bool scaled;
};

static bool has_variance(const struct work *w, struct kind kind) {
    return w->unusable == NULL && (kind.of_runs ? w->run_df : w->round_df) > 0;
}

static double unit_of(const struct decide_series *series, struct kind kind) {
    return kind.scaled ? series->between_rel * series->between_rel : 1;
}

/* Moderates one kind of variance over the series `order[0 … n)`; returns how many of them have it. */
static size_t moderate_group(const struct decide_series *series, struct work *work, const size_t *order,
                             size_t n, struct kind kind) {
    struct variances v = {mem_zeroed(n, sizeof(double)), mem_zeroed(n, sizeof(double)), 0};
    for (size_t i = 0; i < n; i++) {
        const struct work *w = &work[order[i]];
        if (!has_variance(w, kind))
            continue;
        v.s2[v.n] = (kind.of_runs ? w->run_s2 : w->round_s2) / unit_of(&series[order[i]], kind);
        v.df[v.n++] = kind.of_runs ? w->run_df : w->round_df;
    }
    moderate(&v, kind.of_runs ? BETWEEN_PRIOR_DF : INFINITY);
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        struct work *w = &work[order[i]];
        if (!has_variance(w, kind))
            continue;
        *(kind.of_runs ? &w->run_s2 : &w->round_s2) = v.s2[next] * unit_of(&series[order[i]], kind);
        *(kind.of_runs ? &w->run_df : &w->round_df) = v.df[next++];
    }
    free(v.s2);
    free(v.df);
    return v.n;
}

static const char *class_of(const struct decide_series *series) {
    return series->class_name == NULL ? "" : series->class_name;
}

static int by_class(const void *a, const void *b, void *context) {
    const struct decide_series *series = context;
    return strcmp(class_of(&series[*(const size_t *)a]), class_of(&series[*(const size_t *)b]));
}

/* A class with fewer than VARIANCE_PRIOR_LEAST series has no prior of its own; on a small node that is most
 * of them, and two degrees of freedom of a baseline of three runs then leave no power. Between runs such
 * series lend each other one: the spread of each in units of its shipped default, so that only the ratio is
 * taken as common, and the data say how common it is (variance_prior_fit). */
static void moderate_all(const struct decide_series *series, struct work *work, size_t count) {
    size_t *order = mem_zeroed(count, sizeof *order);
    size_t *small = mem_zeroed(count, sizeof *small);
    size_t n_small = 0;
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, by_class, (void *)(uintptr_t)series);
    for (size_t start = 0; start < count;) {
        size_t end = start;
        while (end < count && strcmp(class_of(&series[order[start]]), class_of(&series[order[end]])) == 0)
            end++;
        size_t n = end - start;
        moderate_group(series, work, order + start, n, (struct kind){0});
        if (moderate_group(series, work, order + start, n, (struct kind){.of_runs = true}) <
            VARIANCE_PRIOR_LEAST)
            for (size_t i = start; i < end; i++)
                if (positive_or_zero(series[order[i]].between_rel) > 0)
                    small[n_small++] = order[i];
        start = end;
    }
    moderate_group(series, work, small, n_small, (struct kind){.of_runs = true, .scaled = true});
    free(small);
    free(order);
}

/* ---- the test ---- */

/* Variance and degrees of freedom of the difference; df 0 where nothing is known of its spread. */
static void difference_variance(const struct decide_series *series, struct work *w,
                                struct decide_result *result) {
    double floor_s2 = DECIDE_RESOLUTION * DECIDE_RESOLUTION;
    double round = w->round_df > 0 ? fmax(w->round_s2, floor_s2) : 0;
    w->from_rounds =
        round * (1 / (w->runs_before * w->rounds_before) + 1 / (w->runs_after * w->rounds_after));
    if (w->run_df > 0) {
        /* A run's mean cannot vary less than its rounds make it. AFTER's runs vary more when they have fewer
         * rounds than the runs that the estimate comes from. */
        double run = fmax(fmax(w->run_s2, floor_s2), round / w->rounds_before);
        double shorter = round * fmax(0, 1 / w->rounds_after - 1 / w->rounds_before);
        w->variance = run / w->runs_before + (run + shorter) / w->runs_after;
        w->df = w->run_df;
        return;
    }
    result->between_is_default = true;
    double between = positive_or_zero(series->between_rel);
    w->variance = w->from_rounds + between * between * (1 / w->runs_before + 1 / w->runs_after);
    w->df = w->round_df; /* the default is no measurement and brings no degrees of freedom */
}

/* Whether a change of this series could be declared at all: others take no room in the family. */
static bool is_tested(const struct decide_series *series, const struct work *w) {
    return series->primary && w->unusable == NULL && w->df > 0 &&
           (w->run_df > 0 || positive_or_zero(series->between_rel) > 0);
}

static void estimate(const struct decide_series *series, struct work *w, struct decide_result *result) {
    difference_variance(series, w, result);
    if (!(w->df > 0)) {
        if (series->primary)
            w->unusable = "fewer than 2 rounds in any run: no spread to judge by";
        return;
    }
    double error = sqrt(w->variance);
    double width = dist_t_critical(0.05, w->df) * error;
    result->df = w->df;
    decide_set_interval(result, w->difference, width);
    if (is_tested(series, w))
        result->p = dist_t_two_sided(w->difference / error, w->df);
}

static int by_p(const void *a, const void *b, void *context) {
    const struct decide_result *results = context;
    double x = results[*(const size_t *)a].p;
    double y = results[*(const size_t *)b].p;
    return (x > y) - (x < y);
}

/* Holm's step-down adjustment over all results that have a p. Returns their number. */
static size_t adjust_holm(struct decide_result *results, size_t count) {
    size_t *order = mem_zeroed(count, sizeof *order);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(results[i].p))
            order[n++] = i;
    qsort_r(order, n, sizeof *order, by_p, results);
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fmin(1, (double)(n - i) * results[order[i]].p));
        results[order[i]].p_adjusted = largest;
    }
    free(order);
    return n;
}

/* ---- the verdict ---- */

static double *pooled_values(const struct decide_side *side, size_t *n) {
    *n = count_rounds(side);
    double *all = mem_zeroed(*n, sizeof *all);
    size_t used = 0;
    for (size_t i = 0; i < side->n_runs; i++) {
        if (side->n_values[i] > 0)
            memcpy(all + used, side->values[i], side->n_values[i] * sizeof *all);
        used += side->n_values[i];
    }
    return all;
}

/* Ranks do not see how far, only how often; where they see no order, a few wild rounds made the difference.
 */
static bool vetoed(const struct decide_series *series) {
    size_t n;
    size_t m;
    double *before = pooled_values(&series->before, &n);
    double *after = pooled_values(&series->after, &m);
    bool veto = n >= VETO_ROUNDS && m >= VETO_ROUNDS && !(dist_mann_whitney(before, n, after, m) <= 0.01);
    free(before);
    free(after);
    return veto;
}

static double needed_or_nan(double n) {
    return n > 0 && n <= DECIDE_MAX_NEEDED ? ceil(n) : NAN;
}

double decide_wanted_error(double distance, double limit, size_t family, double df) {
    double alpha = DECIDE_FAMILY_ALPHA / (double)(family > 0 ? family : 1);
    return distance > limit ? distance / dist_t_critical(alpha, df)
                            : (limit - distance) / dist_t_critical(0.10, df);
}

/* The least number of runs on each side, from 3 on; more runs also bring degrees of freedom. */
static double needed_runs(const struct work *w, double limit, size_t family, double run_variance) {
    double low = DECIDE_MIN_RUNS - 1;
    double high = DECIDE_MAX_NEEDED;
    while (high - low > 1) {
        double n = floor((low + high) / 2);
        bool enough =
            sqrt(2 * run_variance / n) <= decide_wanted_error(fabs(w->difference), limit, family, 2 * n - 2);
        *(enough ? &high : &low) = n;
    }
    return high < DECIDE_MAX_NEEDED ? high : NAN;
}

/* How many rounds a run, or runs a side, would decide if the estimate stayed where it is. */
static void estimate_needs(const struct work *w, size_t family, struct decide_result *result) {
    double limit = log1p(result->delta);
    double error = decide_wanted_error(fabs(w->difference), limit, family, w->df);
    double target = error * error;
    double from_runs = fmax(0, w->variance - w->from_rounds);
    double rounds = fmax(w->rounds_before, w->rounds_after);
    if (target > from_runs)
        result->rounds_needed =
            needed_or_nan(fmax(rounds + 1, rounds * w->from_rounds / (target - from_runs)));
    result->runs_needed =
        needed_runs(w, limit, family, w->variance / (1 / w->runs_before + 1 / w->runs_after));
}

void decide_say(struct decide_result *result, enum verdict verdict, const char *reason) {
    result->verdict = verdict;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
}

static void say_undecided(struct decide_result *result) {
    result->verdict = VERDICT_UNDECIDED;
    if (isfinite(result->rounds_needed))
        snprintf(result->reason, sizeof result->reason, "about %.0f rounds a run would decide",
                 result->rounds_needed);
    else if (isfinite(result->runs_needed))
        snprintf(result->reason, sizeof result->reason, "about %.0f runs on each side would decide",
                 result->runs_needed);
    else
        snprintf(result->reason, sizeof result->reason, "too close to the smallest effect that matters");
}

static void decide(const struct decide_series *series, const struct work *w, size_t family,
                   struct decide_result *result) {
    static const char unknown_spread[] = "between-run spread unknown: a baseline of 3 runs gives it";
    double limit = log1p(result->delta);
    double error = sqrt(w->variance);
    double half = dist_t_critical(0.10, w->df) * error; /* of the 90 % interval */
    double between = positive_or_zero(series->between_rel);
    if (result->between_is_default && between == 0) {
        result->runs_needed = DECIDE_MIN_RUNS;
        decide_say(result, VERDICT_UNDECIDED, unknown_spread);
        return;
    }
    if (fabs(w->difference) + half < limit) {
        bool differs = fabs(w->difference) > dist_t_critical(0.05, w->df) * error;
        decide_say(result, VERDICT_SAME, differs ? "changed, but by less than matters" : "");
        return;
    }
    if (result->p_adjusted <= DECIDE_FAMILY_ALPHA && fabs(w->difference) > limit) {
        bool better = (w->difference > 0) == series->higher_is_better;
        if (result->between_is_default && fabs(w->difference) <= 3 * between) {
            result->runs_needed = DECIDE_MIN_RUNS;
            decide_say(result, VERDICT_UNDECIDED, unknown_spread);
        } else if (vetoed(series)) {
            decide_say(result, VERDICT_UNDECIDED, "rank test disagrees: a few rounds make the difference");
        } else {
            decide_say(result, better ? VERDICT_IMPROVED : VERDICT_REGRESSED, "");
        }
        return;
    }
    estimate_needs(w, family, result);
    say_undecided(result);
}

void decide_before_after(const struct decide_series *series, size_t count, struct decide_result *results) {
    struct work *work = mem_zeroed(count, sizeof *work);
    for (size_t i = 0; i < count; i++)
        summarize(&series[i], &work[i], &results[i]);
    moderate_all(series, work, count);
    for (size_t i = 0; i < count; i++)
        if (work[i].unusable == NULL)
            estimate(&series[i], &work[i], &results[i]);
    size_t family = adjust_holm(results, count);
    for (size_t i = 0; i < count; i++) {
        if (work[i].unusable != NULL)
            decide_say(&results[i], VERDICT_NOT_COMPARABLE, work[i].unusable);
        else if (!series[i].primary)
            decide_say(&results[i], VERDICT_DESCRIPTIVE, "");
        else
            decide(&series[i], &work[i], family, &results[i]);
    }
    free(work);
}
