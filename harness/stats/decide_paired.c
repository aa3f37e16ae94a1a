/* SPDX-License-Identifier: Apache-2.0 */
/* Everything works on d = log(second / first), one a round. If the two places are alike, a round's d is as
 * likely as its negative, and that of all series of the round together: whole rounds change their sign, so
 * that what depends on each other stays so. The largest of the moderated t over the family, at each pattern
 * of signs, gives the adjusted p (P. H. Westfall, S. S. Young, "Resampling-Based Multiple Testing", 1993,
 * algorithm 2.8). */
#include "stats/decide_paired.h"

#include "base/mem.h"
#include "base/random.h"
#include "stats/decide_parts.h"
#include "stats/distributions.h"
#include "stats/moderate.h"
#include "stats/robust.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_ROUNDS = 14,   /* up to here all patterns are tried */
    RANDOM_FLIPS = 9999, /* beyond: so many, and the one that was seen */
};

/* A noisy round moves many series together, so that the variances of a class are no independent draws, and
 * with few rounds a class of few series knows little of what is common. At most so many degrees of freedom
 * come from there: in the simulation (16 series, 5 and 8 rounds, noise shared up to 0.9) no cap gave up
 * to 4.4 % of comparisons with a false alarm, 8 gave 1.9 %, 4 gave 1.25 %, 2 gives 0.8 %. */
static const double PRIOR_DF = 2;

/* What is known of one series on its way. */
struct pair_work {
    const char *unusable;
    double *d;               /* by round of the family, owned; 0 where it has none */
    bool *has;               /* likewise */
    double n, mean, squares; /* sum of d² */
    double s2, df;           /* own, about the mean */
    struct variance_prior prior;
    bool has_prior;
    double error, error_df; /* standard error of the mean */
};

static const char *why_unusable(const struct paired_series *s) {
    if (s->n == 0)
        return "no round has a value on both sides";
    if (s->primary && s->n < 2)
        return "fewer than 2 rounds have a value on both sides";
    for (size_t i = 0; i < s->n; i++)
        if (!(s->first[i] > 0) || !(s->second[i] > 0))
            return "a value is not positive";
        else if (!decide_is_value(s->first[i]) || !decide_is_value(s->second[i]))
            return "a value cannot be a measurement";
    return NULL;
}

/* ---- rounds ---- */

static int by_value(const void *a, const void *b) {
    int x = *(const int *)a;
    int y = *(const int *)b;
    return (x > y) - (x < y);
}

/* All rounds that any usable series has, sorted, each once; owned. */
static int *all_rounds(const struct paired_series *series, const struct pair_work *work, size_t count,
                       size_t *n) {
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        most += series[i].n;
    int *rounds = mem_zeroed(most + 1, sizeof *rounds);
    size_t filled = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < series[i].n && work[i].unusable == NULL; k++)
            rounds[filled++] = series[i].rounds[k];
    qsort(rounds, filled, sizeof *rounds, by_value);
    *n = 0;
    for (size_t i = 0; i < filled; i++)
        if (*n == 0 || rounds[*n - 1] != rounds[i])
            rounds[(*n)++] = rounds[i];
    return rounds;
}

static void fill(const struct paired_series *s, const int *rounds, size_t n_rounds, struct pair_work *w) {
    w->d = mem_zeroed(n_rounds, sizeof *w->d);
    w->has = mem_zeroed(n_rounds, sizeof *w->has);
    for (size_t i = 0; i < s->n; i++) {
        const int *at = bsearch(&s->rounds[i], rounds, n_rounds, sizeof *rounds, by_value);
        if (at == NULL || w->has[at - rounds])
            continue; /* a round counts once */
        w->has[at - rounds] = true;
        w->d[at - rounds] = log(s->second[i] / s->first[i]);
        w->n += 1;
        w->mean += w->d[at - rounds];
        w->squares += w->d[at - rounds] * w->d[at - rounds];
    }
    w->mean /= w->n;
    double about = 0;
    for (size_t k = 0; k < n_rounds; k++)
        about += w->has[k] ? (w->d[k] - w->mean) * (w->d[k] - w->mean) : 0;
    w->df = w->n - 1;
    w->s2 = w->df > 0 ? about / w->df : 0;
}

/* ---- variances ---- */

static const char *class_of(const struct paired_series *s) {
    return s->class_name == NULL ? "" : s->class_name;
}

static void share_variances(const struct paired_series *series, struct pair_work *work, size_t count) {
    double *s2 = mem_zeroed(count, sizeof *s2);
    double *df = mem_zeroed(count, sizeof *df);
    bool *done = mem_zeroed(count, sizeof *done);
    for (size_t i = 0; i < count; i++) {
        size_t n = 0;
        struct variance_prior prior;
        for (size_t k = i; k < count && !done[i]; k++)
            if (work[k].unusable == NULL && work[k].df > 0 &&
                strcmp(class_of(&series[i]), class_of(&series[k])) == 0) {
                s2[n] = work[k].s2;
                df[n++] = work[k].df;
            }
        bool found = n > 0 && variance_prior_fit(s2, df, n, PRIOR_DF, &prior);
        for (size_t k = i; k < count && n > 0; k++)
            if (strcmp(class_of(&series[i]), class_of(&series[k])) == 0) {
                done[k] = true;
                work[k].has_prior = found;
                if (found)
                    work[k].prior = prior;
            }
    }
    free(s2);
    free(df);
    free(done);
}

static double moderated(const struct pair_work *w, double s2) {
    double out = w->has_prior ? variance_moderated(s2, w->df, &w->prior) : s2;
    return fmax(out, DECIDE_RESOLUTION * DECIDE_RESOLUTION);
}

static void estimate(struct pair_work *work, size_t count) {
    double total_df = 0;
    for (size_t i = 0; i < count; i++)
        total_df += work[i].unusable == NULL ? work[i].df : 0;
    for (size_t i = 0; i < count; i++) {
        struct pair_work *w = &work[i];
        if (w->unusable != NULL || !(w->df > 0))
            continue;
        w->error = sqrt(moderated(w, w->s2) / w->n);
        w->error_df = w->has_prior ? fmin(w->df + w->prior.df, total_df) : w->df;
    }
}

/* ---- the test by sign flips ---- */

struct family {
    const struct pair_work **members; /* by their t, the largest first */
    double *t, *now;                  /* seen; at one pattern of signs */
    double *at_least, *alone;
    size_t n;
};

static double flipped_t(const struct pair_work *w, const signed char *signs, size_t n_rounds) {
    double sum = 0;
    for (size_t k = 0; k < n_rounds; k++)
        sum += signs[k] * w->d[k]; /* 0 where it has none */
    double mean = sum / w->n;
    double s2 = fmax(0, w->squares - w->n * mean * mean) / w->df;
    return fabs(mean) / sqrt(moderated(w, s2) / w->n);
}

static void count_pattern(struct family *f, const signed char *signs, size_t n_rounds) {
    double largest = 0;
    for (size_t i = 0; i < f->n; i++)
        f->now[i] = flipped_t(f->members[i], signs, n_rounds);
    for (size_t i = f->n; i-- > 0;) {
        const double slack = 1e-9 * f->t[i]; /* the same sum in another order is not another value */
        largest = fmax(largest, f->now[i]);
        f->at_least[i] += largest >= f->t[i] - slack;
        f->alone[i] += f->now[i] >= f->t[i] - slack;
    }
}

/* A pattern and its opposite give the same |t|: the first sign stays. Returns how many patterns were tried.
 */
static double try_patterns(struct family *f, size_t n_rounds, uint64_t seed) {
    signed char *signs = mem_zeroed(n_rounds, sizeof *signs);
    bool exact = n_rounds <= EXACT_ROUNDS;
    size_t total = exact ? (size_t)1 << (n_rounds - 1) : RANDOM_FLIPS + 1;
    for (size_t i = 0; i < total; i++) {
        uint64_t bits = 0;
        for (size_t k = 0; k < n_rounds; k++) {
            if (exact)
                bits = k == 0 ? 0 : (uint64_t)i >> (k - 1);
            else if (k % 64 == 0)
                bits = i == 0 ? 0 : random_next(&seed); /* the first is what was seen */
            else
                bits >>= 1;
            signs[k] = (bits & 1) != 0 ? -1 : 1;
        }
        count_pattern(f, signs, n_rounds);
    }
    free(signs);
    return (double)total;
}

struct ranked {
    double t;
    size_t at;
};
static int by_t(const void *a, const void *b) {
    double x = ((const struct ranked *)a)->t;
    double y = ((const struct ranked *)b)->t;
    return (x < y) - (x > y);
}

static bool is_tested(const struct paired_series *s, const struct pair_work *w) {
    return s->primary && w->unusable == NULL && w->df > 0;
}

/* The tested series, the largest t first; owned. */
static struct ranked *rank(const struct paired_series *series, const struct pair_work *work, size_t count,
                           size_t *n) {
    struct ranked *order = mem_zeroed(count, sizeof *order);
    *n = 0;
    for (size_t i = 0; i < count; i++)
        if (is_tested(&series[i], &work[i]))
            order[(*n)++] = (struct ranked){fabs(work[i].mean) / work[i].error, i};
    qsort(order, *n, sizeof *order, by_t);
    return order;
}

static void test_by_flips(const struct ranked *order, size_t n, const struct pair_work *work, size_t n_rounds,
                          uint64_t seed, struct decide_result *results) {
    struct family f = {.n = n};
    f.members = mem_zeroed(n, sizeof *f.members);
    f.t = mem_zeroed(4 * n, sizeof *f.t);
    f.now = f.t + n;
    f.at_least = f.now + n;
    f.alone = f.at_least + n;
    for (size_t i = 0; i < n; i++) {
        f.members[i] = &work[order[i].at];
        f.t[i] = order[i].t;
    }
    double total = try_patterns(&f, n_rounds, seed);
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, f.at_least[i] / total); /* never smaller than a more distinct one's */
        results[order[i].at].p = f.alone[i] / total;
        results[order[i].at].p_adjusted = largest;
    }
    free(f.members);
    free(f.t);
}

static void test_by_holm(const struct ranked *order, size_t n, const struct pair_work *work,
                         struct decide_result *results) {
    for (size_t i = 0; i < n; i++)
        results[order[i].at].p = dist_t_two_sided(order[i].t, work[order[i].at].error_df);
    /* Degrees of freedom differ, so that the order by t need not be that by p. */
    bool *done = mem_zeroed(n, sizeof *done);
    double largest = 0;
    for (size_t left = n; left > 0; left--) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!done[i] && (best == n || results[order[i].at].p < results[order[best].at].p))
                best = i;
        done[best] = true;
        largest = fmax(largest, fmin(1, (double)left * results[order[best].at].p));
        results[order[best].at].p_adjusted = largest;
    }
    free(done);
}

/* ---- verdicts ---- */

static bool enough(const struct pair_work *w, double limit, size_t family, double n) {
    double df = w->error_df + n - w->n;
    double wanted = decide_wanted_error(fabs(w->mean), limit, family, df);
    return w->error * sqrt(w->n / n) <= wanted;
}

/* The least number of rounds at which an estimate that stays where it is would be decided. */
static double needed_rounds(const struct pair_work *w, double limit, size_t family) {
    double low = w->n;
    double high = DECIDE_MAX_NEEDED;
    if (!enough(w, limit, family, high))
        return NAN;
    while (high - low > 1) {
        double n = floor((low + high) / 2);
        *(enough(w, limit, family, n) ? &high : &low) = n;
    }
    return fabs(w->mean) > limit ? fmax(high, PAIRED_MIN_ROUNDS) : high;
}

static void decide(const struct paired_series *s, const struct pair_work *w, size_t family,
                   struct decide_result *r) {
    double limit = log1p(r->delta);
    double half = dist_t_critical(0.10, w->error_df) * w->error; /* of the 90 % interval */
    if (fabs(w->mean) + half < limit) {
        bool differs = fabs(w->mean) > dist_t_critical(0.05, w->error_df) * w->error;
        decide_say(r, VERDICT_SAME, differs ? "differs, but by less than matters" : "");
        return;
    }
    if (r->p_adjusted <= DECIDE_FAMILY_ALPHA && fabs(w->mean) > limit) {
        bool better = (w->mean > 0) == s->higher_is_better;
        decide_say(r, better ? VERDICT_IMPROVED : VERDICT_REGRESSED, "");
        return;
    }
    r->rounds_needed = needed_rounds(w, limit, family);
    decide_say(r, VERDICT_UNDECIDED, "too close to the smallest effect that matters");
    if (isfinite(r->rounds_needed))
        snprintf(r->reason, sizeof r->reason, "about %.0f rounds would decide", r->rounds_needed);
}

static void begin(const struct paired_series *s, struct pair_work *w, struct decide_result *r) {
    *w = (struct pair_work){.unusable = why_unusable(s)};
    *r = decide_none("");
    r->delta = positive_or_zero(s->delta_rel);
    r->before = stats_geometric_mean(s->first, s->n); /* shown also where there is too little to judge */
    r->after = stats_geometric_mean(s->second, s->n);
    if (w->unusable != NULL)
        return;
    r->delta = fmax(r->delta, positive_or_zero(s->delta_abs) / r->before);
}

static void finish(const struct paired_series *s, const struct pair_work *w, size_t family,
                   struct decide_result *r) {
    if (w->unusable != NULL) {
        decide_say(r, VERDICT_NOT_COMPARABLE, w->unusable);
        return;
    }
    r->ratio = exp(w->mean);
    if (w->df > 0) {
        double width = dist_t_critical(0.05, w->error_df) * w->error;
        r->df = w->error_df;
        decide_set_interval(r, w->mean, width);
    }
    if (!s->primary)
        decide_say(r, VERDICT_DESCRIPTIVE, "");
    else
        decide(s, w, family, r);
}

void decide_paired(const struct paired_series *series, size_t count, uint64_t seed,
                   struct decide_result *results) {
    struct pair_work *work = mem_zeroed(count, sizeof *work);
    size_t n_rounds = 0;
    size_t family = 0;
    for (size_t i = 0; i < count; i++)
        begin(&series[i], &work[i], &results[i]);
    int *rounds = all_rounds(series, work, count, &n_rounds);
    for (size_t i = 0; i < count; i++) {
        if (work[i].unusable == NULL)
            fill(&series[i], rounds, n_rounds, &work[i]);
        if (work[i].unusable == NULL && series[i].primary && work[i].n < 2)
            work[i].unusable = "fewer than 2 rounds have a value on both sides";
    }
    share_variances(series, work, count);
    estimate(work, count);
    struct ranked *order = rank(series, work, count, &family);
    if (n_rounds >= PAIRED_MIN_ROUNDS)
        test_by_flips(order, family, work, n_rounds, seed, results);
    else
        test_by_holm(order, family, work, results);
    for (size_t i = 0; i < count; i++) {
        finish(&series[i], &work[i], family, &results[i]);
        free(work[i].d);
        free(work[i].has);
    }
    free(order);
    free(rounds);
    free(work);
}
