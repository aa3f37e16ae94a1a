/* SPDX-License-Identifier: Apache-2.0 */
/* The decision procedure against values made by a fixed generator. */
#include "unit/stats/noise.h"
#include "unit/unit.h"

#include "stats/decide.h"
#include "stats/distributions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_RUNS = 12, MAX_ROUNDS = 20, MAX_SERIES = 24 };

struct made_side {
    double values[MAX_RUNS][MAX_ROUNDS];
    const double *pointers[MAX_RUNS];
    size_t counts[MAX_RUNS];
};

struct shape {
    size_t runs, rounds;
    double level, between, round; /* relative spreads */
};

static struct decide_side make_side(struct made_side *side, struct shape s) {
    for (size_t i = 0; i < s.runs; i++) {
        double run = s.between * normal();
        for (size_t j = 0; j < s.rounds; j++)
            side->values[i][j] = s.level * exp(run + s.round * normal());
        side->pointers[i] = side->values[i];
        side->counts[i] = s.rounds;
    }
    return (struct decide_side){s.runs, side->pointers, side->counts};
}

struct family {
    struct made_side before[MAX_SERIES], after[MAX_SERIES];
    struct decide_series series[MAX_SERIES];
    struct decide_result results[MAX_SERIES];
};

static struct family family; /* large, and only this file's */

/* `n` series of one class, all bandwidths with a δ of 2 %. */
static void make(size_t n, struct shape before, struct shape after) {
    for (size_t i = 0; i < n; i++)
        family.series[i] = (struct decide_series){.before = make_side(&family.before[i], before),
                                                  .after = make_side(&family.after[i], after),
                                                  .higher_is_better = true,
                                                  .primary = true,
                                                  .delta_rel = 0.02,
                                                  .between_rel = 0.005,
                                                  .class_name = "copy.h2d/bandwidth PIX"};
}

static const struct decide_result *judge(size_t n) {
    decide_before_after(family.series, n, family.results);
    return family.results;
}

static void clear_changes(void **state) {
    (void)state;
    seed = 1;
    make(6, (struct shape){3, 12, 55, 0.002, 0.003}, (struct shape){3, 12, 55, 0.002, 0.003});
    family.series[1].after = make_side(&family.after[1], (struct shape){3, 12, 44, 0.002, 0.003});
    family.series[2].after = make_side(&family.after[2], (struct shape){3, 12, 66, 0.002, 0.003});
    const struct decide_result *r = judge(6);
    assert_int_equal(r[0].verdict, VERDICT_SAME);
    assert_int_equal(r[1].verdict, VERDICT_REGRESSED);
    assert_int_equal(r[2].verdict, VERDICT_IMPROVED);
    assert_true(r[1].low < 0.8 * 1.005 && r[1].high > 0.8 * 0.995 && r[1].high < 0.9);
    assert_true(fabs(r[2].ratio - 1.2) < 0.01 && fabs(r[2].after - 66) < 0.7);
    assert_false(r[0].between_is_default);
    assert_true(r[1].p_adjusted <= DECIDE_FAMILY_ALPHA && r[1].p_adjusted >= r[1].p);
    /* The same figures as latencies: lower is better, so the verdicts swap. */
    for (size_t i = 0; i < 6; i++)
        family.series[i].higher_is_better = false;
    r = judge(6);
    assert_int_equal(r[1].verdict, VERDICT_IMPROVED);
    assert_int_equal(r[2].verdict, VERDICT_REGRESSED);
}

/* Significant, but less than matters: never a regression. */
static void below_what_matters(void **state) {
    (void)state;
    seed = 2;
    make(6, (struct shape){4, 12, 100, 0.0005, 0.0005}, (struct shape){4, 12, 99, 0.0005, 0.0005});
    const struct decide_result *r = judge(6);
    assert_true(r[0].p_adjusted < DECIDE_FAMILY_ALPHA && r[0].high < 1);
    assert_int_equal(r[0].verdict, VERDICT_SAME);
    for (size_t i = 0; i < 6; i++)
        family.series[i].delta_abs = 3; /* of 100: the larger of the two counts */
    assert_true(fabs(judge(6)->delta - 0.03) < 0.001);
}

/* One run a side knows nothing of the spread between runs: the default stands in, and is marked. */
static void single_runs(void **state) {
    (void)state;
    seed = 3;
    make(6, (struct shape){1, 12, 100, 0, 0.001}, (struct shape){1, 12, 90, 0, 0.001});
    for (size_t i = 3; i < 6; i++)
        family.series[i].between_rel = 0;
    const struct decide_result *r = judge(6);
    assert_true(r[0].between_is_default);
    assert_int_equal(r[0].verdict, VERDICT_REGRESSED); /* 10 % is beyond 3 times 0.5 % */
    assert_int_equal(r[5].verdict, VERDICT_UNDECIDED);
    assert_non_null(strstr(r[5].reason, "between-run spread"));
    /* A change within 3 times the default is none that can be declared. */
    for (size_t i = 0; i < 6; i++)
        family.series[i].between_rel = 0.05;
    r = judge(6);
    assert_int_equal(r[0].verdict, VERDICT_UNDECIDED);
}

static void descriptive_is_shown_only(void **state) {
    (void)state;
    seed = 4;
    make(4, (struct shape){3, 12, 100, 0.001, 0.001}, (struct shape){3, 12, 50, 0.001, 0.001});
    family.series[0].primary = false;
    const struct decide_result *r = judge(4);
    assert_int_equal(r[0].verdict, VERDICT_DESCRIPTIVE);
    assert_true(isnan(r[0].p) && fabs(r[0].ratio - 0.5) < 0.01 && r[0].high < 0.6);
    assert_int_equal(r[1].verdict, VERDICT_REGRESSED);
    /* Three in the family: the smallest p is adjusted by three. */
    double least = fmin(r[1].p, fmin(r[2].p, r[3].p));
    double adjusted = fmin(r[1].p_adjusted, fmin(r[2].p_adjusted, r[3].p_adjusted));
    assert_true(fabs(adjusted - 3 * least) <= 1e-9 * least);
}

static void unusable_input(void **state) {
    (void)state;
    seed = 5;
    make(5, (struct shape){3, 12, 100, 0.001, 0.001}, (struct shape){3, 12, 100, 0.001, 0.001});
    memset(family.after[0].counts, 0, sizeof family.after[0].counts);
    family.after[1].values[0][3] = 0;
    family.after[2].values[0][3] = NAN;
    family.before[3].values[0][3] = INFINITY;
    family.series[4].class_name = NULL;
    const struct decide_result *r = judge(5);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(r[i].verdict, VERDICT_NOT_COMPARABLE);
        assert_true(r[i].reason[0] != '\0' && isnan(r[i].p));
    }
    assert_int_equal(r[4].verdict, VERDICT_SAME);
    decide_before_after(NULL, 0, NULL);
}

/* A few wild rounds move the mean, but not the order of the rest. */
static void ranks_veto(void **state) {
    (void)state;
    seed = 6;
    make(1, (struct shape){1, 20, 100, 0, 0.001}, (struct shape){1, 20, 100, 0, 0.001});
    family.series[0].between_rel = 1e-6;
    for (size_t j = 0; j < MAX_ROUNDS; j++) {
        family.before[0].values[0][j] = 100 + 0.1 * (double)(j % 5);
        family.after[0].values[0][j] = j < 6 ? 30 : 100 + 0.1 * (double)(j % 5);
    }
    assert_true(judge(1)->verdict != VERDICT_REGRESSED);
}

/* ---- by hand ---- */

/* The `i`-th of `n` offsets whose mean is 0 and whose variance (n - 1) is exactly `spread` squared: half
 * above, half below, and one in the middle where n is odd. */
static double offset(size_t i, size_t n, double spread) {
    double squares = (double)(n % 2 == 0 ? n : n - 1);
    double each = spread * sqrt((double)(n - 1) / squares);
    return n % 2 != 0 && i == n - 1 ? 0 : i % 2 == 0 ? each : -each;
}

static struct decide_side patterned(struct made_side *side, size_t runs, size_t rounds, double level,
                                    double between, double round) {
    for (size_t i = 0; i < runs; i++) {
        for (size_t j = 0; j < rounds; j++)
            side->values[i][j] =
                level * exp((runs > 1 ? offset(i, runs, between) : 0) + offset(j, rounds, round));
        side->pointers[i] = side->values[i];
        side->counts[i] = rounds;
    }
    return (struct decide_side){runs, side->pointers, side->counts};
}

static struct decide_series *one_series(struct decide_side before, struct decide_side after, double delta,
                                        double between) {
    family.series[0] = (struct decide_series){.before = before,
                                              .after = after,
                                              .primary = true,
                                              .delta_rel = delta,
                                              .between_rel = between,
                                              .class_name = "x"};
    return &family.series[0];
}

static double half_width(const struct decide_result *r) {
    return log(r->high / r->low) / 2;
}

/* A class of one series has no prior, so its interval can be worked out with pencil and paper. */
static void interval_as_by_hand(void **state) {
    (void)state;
    struct made_side *before = &family.before[0], *after = &family.after[0];
    /* Runs that agree to the last digit, of rounds that do not: a mean of 12 is no surer than its rounds. */
    one_series(patterned(before, 3, 12, 100, 0, 0.03), patterned(after, 1, 12, 100, 0, 0.03), 0.02, 0.001);
    const struct decide_result *r = judge(1);
    double s2 = 0.03 * 0.03;
    double run = s2 / 12;
    assert_true(fabs(half_width(r) - dist_t_critical(0.05, 2) * sqrt(run / 3 + run)) < 1e-9);
    /* AFTER with 4 rounds only varies more than the runs that the estimate comes from. */
    one_series(patterned(before, 3, 12, 100, 0, 0.03), patterned(after, 1, 4, 100, 0, 0.03), 0.02, 0.001);
    r = judge(1);
    assert_true(fabs(half_width(r) - dist_t_critical(0.05, 2) * sqrt(run / 3 + s2 / 4)) < 1e-9);
    /* No spread of runs is known: the rounds', and the default for each side. */
    one_series(patterned(before, 1, 12, 100, 0, 0.03), patterned(after, 1, 12, 100, 0, 0.03), 0.02, 0.01);
    r = judge(1);
    double by_default = 2 * s2 / 12 + 2 * 0.01 * 0.01;
    assert_true(fabs(half_width(r) - dist_t_critical(0.05, 22) * sqrt(by_default)) < 1e-9);
    /* Nothing moved, but the 90 % interval reaches beyond δ: that is not "the same". */
    assert_true(dist_t_critical(0.10, 22) * sqrt(by_default) > log(1.02));
    assert_int_equal(r->verdict, VERDICT_UNDECIDED);
}

/* Many runs make a change significant by the default spread, but the default itself may be wrong by a factor:
 * only beyond three times it counts. */
static void default_spread_is_trusted_thrice(void **state) {
    (void)state;
    struct made_side *before = &family.before[0], *after = &family.after[0];
    static const double changes[] = {2.9, 3.1};
    for (size_t i = 0; i < 2; i++) {
        one_series(patterned(before, 2, 12, 100, 0, 0.0005),
                   patterned(after, 6, 12, 100 * exp(changes[i] * 0.01), 0, 0.0005), 0.005, 0.01);
        const struct decide_result *r = judge(1);
        assert_true(r->between_is_default && r->p_adjusted <= DECIDE_FAMILY_ALPHA);
        assert_int_equal(r->verdict, i == 0 ? VERDICT_UNDECIDED : VERDICT_REGRESSED);
        if (i == 0)
            assert_non_null(strstr(r->reason, "between-run spread"));
    }
}

/* What is said to decide does, and less does not. */
static void needs_are_what_decides(void **state) {
    (void)state;
    static struct made_side many[2];
    one_series(patterned(&many[0], 1, 4, 100, 0, 0.03), patterned(&many[1], 1, 4, 100, 0, 0.03), 0.025,
               0.001);
    struct decide_result r = *judge(1);
    assert_int_equal(r.verdict, VERDICT_UNDECIDED);
    assert_true(r.rounds_needed > 4 && r.rounds_needed <= MAX_ROUNDS);
    size_t n = (size_t)r.rounds_needed;
    one_series(patterned(&many[0], 1, n, 100, 0, 0.03), patterned(&many[1], 1, n, 100, 0, 0.03), 0.025,
               0.001);
    assert_int_equal(judge(1)->verdict, VERDICT_SAME);
    one_series(patterned(&many[0], 3, 4, 100, 0.01, 0.0001), patterned(&many[1], 3, 4, 100, 0.01, 0.0001),
               0.0125, 0.001);
    r = *judge(1);
    assert_int_equal(r.verdict, VERDICT_UNDECIDED);
    assert_true(r.runs_needed > 3 && r.runs_needed <= MAX_RUNS);
    n = (size_t)r.runs_needed;
    for (size_t runs = 3; runs <= n; runs++) {
        one_series(patterned(&many[0], runs, 4, 100, 0.01, 0.0001),
                   patterned(&many[1], runs, 4, 100, 0.01, 0.0001), 0.0125, 0.001);
        assert_int_equal(judge(1)->verdict, runs < n ? VERDICT_UNDECIDED : VERDICT_SAME);
    }
}

/* What is shown of the two sides is what the ratio is made of, also where medians would tell another story:
 * two fast rounds of twelve move the mean of the logs, but no median. */
static void sides_agree_with_the_ratio(void **state) {
    (void)state;
    seed = 12;
    make(2, (struct shape){3, 12, 14.8, 0.05, 0.02}, (struct shape){2, 12, 14.8, 0.05, 0.02});
    for (size_t j = 0; j < 2; j++)
        family.after[0].values[0][j] = 7;
    family.series[1].after.n_runs = 1;
    family.after[1].values[0][0] = 4;
    family.after[1].values[0][1] = 9;
    family.after[1].counts[0] = 2;
    const struct decide_result *r = judge(2);
    for (size_t i = 0; i < 2; i++)
        assert_true(fabs(r[i].after / r[i].before - r[i].ratio) < 1e-12);
    assert_true(fabs(r[1].after - 6) < 1e-12);
}

/* Quantised values that never vary are not infinitely sure. */
static void no_spread_at_all(void **state) {
    (void)state;
    make(4, (struct shape){3, 12, 100, 0, 0}, (struct shape){3, 12, 100.001, 0, 0});
    const struct decide_result *r = judge(4);
    assert_int_equal(r[0].verdict, VERDICT_SAME);
    assert_true(r[0].low < r[0].ratio && r[0].high > r[0].ratio);
}

static size_t count_alarms(size_t comparisons, size_t n, struct shape before, struct shape after) {
    size_t alarms = 0;
    for (size_t c = 0; c < comparisons; c++) {
        make(n, before, after);
        const struct decide_result *r = judge(n);
        bool any = false;
        for (size_t i = 0; i < n; i++)
            any = any || r[i].verdict == VERDICT_REGRESSED || r[i].verdict == VERDICT_IMPROVED;
        alarms += any ? 1 : 0;
    }
    return alarms;
}

/* Nothing changed, but runs differ by more than rounds do: at most about 1 of 100 comparisons may raise an
 * alarm, and a real change must still be found. Twelve of 400 would come by chance once in 1000 at a rate of
 * 1 %. */
static void rate_of_false_alarms(void **state) {
    (void)state;
    seed = 7;
    struct shape before = {4, 12, 100, 0.01, 0.003};
    struct shape after = {1, 12, 100, 0.01, 0.003};
    size_t alarms = count_alarms(400, 20, before, after);
    print_message("false alarms in 400 comparisons of 20 series: %zu\n", alarms);
    assert_true(alarms <= 12);
    after.level = 80;
    size_t found = count_alarms(100, 20, before, after);
    print_message("a change of 20 %% found in %zu of 100\n", found);
    assert_true(found >= 90);
}

/* The worst there is: a slow boot slows all series alike, so that every one of them shows the same spread,
 * and twenty know no more of it than one. 1 % of 2000 is 20; 34 would come by chance once in 500, and a prior
 * that trusts its class too far makes 44 or more of it. */
static void one_run_effect_for_all(void **state) {
    (void)state;
    size_t alarms = 0;
    seed = 13;
    for (size_t c = 0; c < 2000; c++) {
        double runs[4];
        for (size_t k = 0; k < 4; k++)
            runs[k] = exp(0.01 * normal());
        make(20, (struct shape){3, 12, 100, 0, 0.003}, (struct shape){1, 12, 100, 0, 0.003});
        for (size_t i = 0; i < 20; i++)
            for (size_t k = 0; k < 4; k++)
                for (size_t j = 0; j < 12; j++)
                    *(k < 3 ? &family.before[i].values[k][j] : &family.after[i].values[0][j]) *= runs[k];
        const struct decide_result *r = judge(20);
        bool any = false;
        for (size_t i = 0; i < 20; i++)
            any = any || r[i].verdict == VERDICT_REGRESSED || r[i].verdict == VERDICT_IMPROVED;
        alarms += any ? 1 : 0;
    }
    print_message("one run effect for all: false alarms in 2000 comparisons: %zu\n", alarms);
    assert_true(alarms <= 34);
}

/* A small node: no class has four series, their defaults are far apart, and the real spreads are off from
 * them by factors that differ (0.3 to 3). Their common prior must not raise alarms, and must find what two
 * degrees of freedom alone cannot. */
static size_t count_small_classes(size_t comparisons, double change, size_t *found) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static const double off[] = {0.3, 0.5, 0.7, 1, 1, 1.4, 2, 3};
    size_t alarms = 0;
    *found = 0;
    for (size_t c = 0; c < comparisons; c++) {
        for (size_t i = 0; i < 16; i++) {
            double between = i % 2 == 0 ? 0.03 : 0.002;
            double real = between * off[(i / 2 + c) % 8] * 0.7;
            struct shape shape = {3, 12, 100, real, 0.01};
            family.series[i].before = make_side(&family.before[i], shape);
            shape.runs = 1;
            shape.level = i == 0 ? 100 * change : 100;
            family.series[i].after = make_side(&family.after[i], shape);
            family.series[i].primary = true;
            family.series[i].higher_is_better = false;
            family.series[i].delta_rel = 0.02;
            family.series[i].delta_abs = 0;
            family.series[i].between_rel = between;
            family.series[i].class_name = names[i / 2];
        }
        const struct decide_result *r = judge(16);
        *found += r[0].verdict == VERDICT_REGRESSED;
        bool any = false;
        for (size_t i = 1; i < 16; i++)
            any = any || r[i].verdict == VERDICT_REGRESSED || r[i].verdict == VERDICT_IMPROVED;
        alarms += any;
    }
    return alarms;
}

static void small_classes_share(void **state) {
    (void)state;
    size_t found;
    seed = 11;
    size_t alarms = count_small_classes(400, 1, &found);
    print_message("small classes: false alarms in 400 comparisons of 15 series: %zu\n", alarms);
    assert_true(alarms <= 12);
    assert_true(found <= 4);
    count_small_classes(200, 1.5, &found);
    print_message("small classes: a change of 50 %% found in %zu of 200\n", found);
    assert_true(found >= 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clear_changes),
        cmocka_unit_test(below_what_matters),
        cmocka_unit_test(single_runs),
        cmocka_unit_test(descriptive_is_shown_only),
        cmocka_unit_test(unusable_input),
        cmocka_unit_test(ranks_veto),
        cmocka_unit_test(no_spread_at_all),
        cmocka_unit_test(rate_of_false_alarms),
        cmocka_unit_test(small_classes_share),
        cmocka_unit_test(sides_agree_with_the_ratio),
        cmocka_unit_test(one_run_effect_for_all),
        cmocka_unit_test(interval_as_by_hand),
        cmocka_unit_test(default_spread_is_trusted_thrice),
        cmocka_unit_test(needs_are_what_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
