/* SPDX-License-Identifier: Apache-2.0 */
/* Two places measured in turn: known answers, an independent count of all sign flips, and the rate of false
 * alarms in a simulation with a fixed seed. */
#include "unit/stats/noise.h"
#include "unit/unit.h"

#include "stats/decide_paired.h"
#include "stats/distributions.h"

#include <math.h>
#include <string.h>

enum { MAX_ROUNDS = 20, MAX_SERIES = 40 };

struct made {
    int rounds[MAX_SERIES][MAX_ROUNDS];
    double first[MAX_SERIES][MAX_ROUNDS], second[MAX_SERIES][MAX_ROUNDS];
    struct paired_series series[MAX_SERIES];
    struct decide_result results[MAX_SERIES];
    char class_names[MAX_SERIES][24];
};

static struct made made; /* large, and only this file's */

/* `n` series of `rounds` pairs: noise of 1 % each, `common` of it shared by all series of a round. Four
 * series a class. */
static void make(size_t n, size_t rounds, double common) {
    memset(&made, 0, sizeof made);
    double shared[MAX_ROUNDS];
    for (size_t k = 0; k < rounds; k++)
        shared[k] = common * normal();
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < rounds; k++) {
            made.rounds[i][k] = (int)k;
            made.first[i][k] = 50;
            made.second[i][k] = 50 * exp(0.01 * (shared[k] + sqrt(1 - common * common) * normal()));
        }
        snprintf(made.class_names[i], sizeof made.class_names[i], "c%zu", i / 4);
        made.series[i] = (struct paired_series){.n = rounds,
                                                .rounds = made.rounds[i],
                                                .first = made.first[i],
                                                .second = made.second[i],
                                                .higher_is_better = true,
                                                .primary = true,
                                                .delta_rel = 0.02,
                                                .class_name = made.class_names[i]};
    }
}

static void shift(size_t i, double factor) {
    for (size_t k = 0; k < made.series[i].n; k++)
        made.second[i][k] *= factor;
}

static void verdicts_of_plain_cases(void **state) {
    (void)state;
    seed = 1;
    make(8, 12, 0.5);
    shift(0, 0.9);
    shift(1, 1.1);
    shift(2, 0.99);
    made.series[1].higher_is_better = false;
    made.series[3].primary = false;
    made.series[4].n = 0;
    made.second[5][3] = -1;
    decide_paired(made.series, 8, 1, made.results);
    assert_int_equal(made.results[0].verdict, VERDICT_REGRESSED);
    assert_true(made.results[0].ratio > 0.88 && made.results[0].ratio < 0.92);
    assert_true(made.results[0].low < made.results[0].ratio && made.results[0].ratio < made.results[0].high);
    for (size_t i = 0; i < 4; i++) /* what is shown of the two places is what the ratio is made of */
        assert_true(fabs(made.results[i].after / made.results[i].before - made.results[i].ratio) < 1e-12);
    assert_int_equal(made.results[1].verdict, VERDICT_REGRESSED); /* more, where less is better */
    assert_int_equal(made.results[2].verdict, VERDICT_SAME);
    assert_int_equal(made.results[3].verdict, VERDICT_DESCRIPTIVE);
    assert_int_equal(made.results[4].verdict, VERDICT_NOT_COMPARABLE);
    assert_int_equal(made.results[5].verdict, VERDICT_NOT_COMPARABLE);
    assert_non_null(strstr(made.results[5].reason, "not positive"));
    assert_int_equal(made.results[6].verdict, VERDICT_SAME);
}

/* What there is of figures is shown, and no figure is made that is not finite. */
static void figures_without_a_verdict(void **state) {
    (void)state;
    seed = 2;
    make(4, 2, 0.5);
    made.series[0].n = 1;
    made.second[1][0] = 1e300;
    made.second[2][0] = 1e-25; /* an interval of two rounds, some hundred powers of ten wide */
    made.second[2][1] = 1e25;
    made.series[2].class_name = "alone";
    decide_paired(made.series, 4, 1, made.results);
    assert_int_equal(made.results[0].verdict, VERDICT_NOT_COMPARABLE);
    assert_true(fabs(made.results[0].before - made.first[0][0]) < 1e-9 * made.first[0][0]);
    assert_true(fabs(made.results[0].after - made.second[0][0]) < 1e-9 * made.second[0][0]);
    assert_true(isnan(made.results[0].ratio));
    assert_int_equal(made.results[1].verdict, VERDICT_NOT_COMPARABLE);
    assert_non_null(strstr(made.results[1].reason, "cannot be a measurement"));
    assert_int_equal(made.results[2].verdict, VERDICT_UNDECIDED);
    assert_true(isfinite(made.results[2].ratio));
    assert_true(isnan(made.results[2].low) && isnan(made.results[2].high));
    assert_true(isfinite(made.results[3].low) && isfinite(made.results[3].high));
}

/* All 4096 patterns, counted without any of the tricks: step-down max-T for two series of classes too small
 * for a prior. */
static double t_of(const double *d, size_t n, unsigned pattern) {
    double mean = 0;
    double about = 0;
    for (size_t k = 0; k < n; k++)
        mean += ((pattern >> k & 1) != 0 ? -d[k] : d[k]) / (double)n;
    for (size_t k = 0; k < n; k++) {
        double x = ((pattern >> k & 1) != 0 ? -d[k] : d[k]) - mean;
        about += x * x;
    }
    return fabs(mean) / sqrt(about / (double)(n - 1) / (double)n);
}

static void counts_as_by_hand(void **state) {
    (void)state;
    enum { N = 12 };
    double d[2][N];
    seed = 7;
    make(2, N, 0.3);
    snprintf(made.class_names[1], sizeof made.class_names[1], "other");
    shift(0, 1.008);
    shift(1, 1.004);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < N; k++)
            d[i][k] = log(made.second[i][k] / made.first[i][k]);
    double seen[2] = {t_of(d[0], N, 0), t_of(d[1], N, 0)};
    int most = seen[0] > seen[1] ? 0 : 1;
    double both = 0;
    double one = 0;
    for (unsigned p = 0; p < 1u << N; p++) {
        double t[2] = {t_of(d[0], N, p), t_of(d[1], N, p)};
        both += fmax(t[0], t[1]) >= seen[most] - 1e-9;
        one += t[1 - most] >= seen[1 - most] - 1e-9;
    }
    decide_paired(made.series, 2, 1, made.results);
    assert_true(fabs(made.results[most].p_adjusted - both / 4096) < 1e-12);
    assert_true(fabs(made.results[1 - most].p_adjusted - fmax(both, one) / 4096) < 1e-12);
    assert_true(made.results[most].p <= made.results[most].p_adjusted);
}

/* Few rounds: plain t and Holm, which a table of t gives too. */
static void few_rounds_are_judged_by_t(void **state) {
    (void)state;
    static const double second[4] = {51, 52, 51.5, 52.5};
    make(1, 4, 0);
    memcpy(made.second[0], second, sizeof second);
    decide_paired(made.series, 1, 1, made.results);
    double mean = 0;
    double about = 0;
    for (int k = 0; k < 4; k++)
        mean += log(second[k] / 50) / 4;
    for (int k = 0; k < 4; k++)
        about += pow(log(second[k] / 50) - mean, 2);
    double t = mean / sqrt(about / 3 / 4);
    assert_true(fabs(made.results[0].p - dist_t_two_sided(t, 3)) < 1e-12);
    assert_true(fabs(made.results[0].p_adjusted - made.results[0].p) < 1e-12);
    assert_int_equal((int)made.results[0].df, 3);
}

/* A series that lacks rounds is judged by those it has, and costs the others nothing. */
static void missing_rounds(void **state) {
    (void)state;
    seed = 3;
    make(5, 12, 0);
    shift(0, 0.9);
    made.series[1].n = 3;
    made.series[2].n = 1;
    decide_paired(made.series, 5, 1, made.results);
    assert_int_equal(made.results[0].verdict, VERDICT_REGRESSED);
    assert_true(made.results[1].p > 0.1); /* three signs cannot say more */
    assert_int_equal(made.results[2].verdict, VERDICT_NOT_COMPARABLE);
    made.rounds[3][1] = made.rounds[3][0]; /* a round that comes twice counts once */
    decide_paired(made.series, 5, 1, made.results);
    assert_int_equal(made.results[3].verdict, VERDICT_SAME);
}

/* Beyond 14 rounds patterns are drawn: the same seed gives the same p, and a clear difference is found. */
static void drawn_patterns(void **state) {
    (void)state;
    seed = 5;
    make(6, 20, 0.4);
    shift(2, 0.95);
    decide_paired(made.series, 6, 11, made.results);
    double p = made.results[0].p_adjusted;
    assert_int_equal(made.results[2].verdict, VERDICT_REGRESSED);
    assert_true(made.results[2].p_adjusted < 0.001);
    decide_paired(made.series, 6, 11, made.results);
    assert_true(made.results[0].p_adjusted == p);
}

/* Family-wise: with no difference anywhere, and δ out of the way, at most 1 % of comparisons name one. Of
 * 300, three are expected; more than ten come with a probability below 0.1 %. */
static void false_alarms(void **state) {
    (void)state;
    for (int few = 0; few < 2; few++) {
        int alarms = 0;
        seed = 99;
        for (int run = 0; run < 300; run++) {
            size_t n = few != 0 ? 8 : 12;
            make(16, n, 0.6);
            for (size_t i = 0; i < 16; i++)
                made.series[i].delta_rel = 1e-9;
            decide_paired(made.series, 16, (uint64_t)run, made.results);
            bool any = false;
            for (size_t i = 0; i < 16; i++)
                any = any || made.results[i].verdict == VERDICT_REGRESSED ||
                      made.results[i].verdict == VERDICT_IMPROVED;
            alarms += any ? 1 : 0;
        }
        print_message("%s rounds: %d of 300 comparisons without a difference named one\n",
                      few != 0 ? "8" : "12", alarms);
        assert_in_range(alarms, 0, 10);
    }
}

/* Power: a loss of 5 % with 1 % of noise is found among 16 series in nearly every comparison. */
static void finds_what_is_there(void **state) {
    (void)state;
    int found = 0;
    seed = 42;
    for (int run = 0; run < 60; run++) {
        make(16, 12, 0.6);
        shift(3, 0.95);
        decide_paired(made.series, 16, 1, made.results);
        found += made.results[3].verdict == VERDICT_REGRESSED ? 1 : 0;
    }
    assert_in_range(found, 57, 60);
}

static void undecided_says_what_would_decide(void **state) {
    (void)state;
    seed = 8;
    make(1, 5, 0);
    for (int k = 0; k < 5; k++)
        made.second[0][k] = 50 * (1 - 0.03 + 0.03 * (k - 2));
    decide_paired(made.series, 1, 1, made.results);
    assert_int_equal(made.results[0].verdict, VERDICT_UNDECIDED);
    assert_true(made.results[0].rounds_needed > 5);
    assert_non_null(strstr(made.results[0].reason, "rounds would decide"));
    decide_paired(NULL, 0, 1, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_of_plain_cases),
        cmocka_unit_test(figures_without_a_verdict),
        cmocka_unit_test(counts_as_by_hand),
        cmocka_unit_test(few_rounds_are_judged_by_t),
        cmocka_unit_test(missing_rounds),
        cmocka_unit_test(drawn_patterns),
        cmocka_unit_test(false_alarms),
        cmocka_unit_test(finds_what_is_there),
        cmocka_unit_test(undecided_says_what_would_decide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
