/* SPDX-License-Identifier: Apache-2.0 */
/* The prior of variances against draws from a known one. */
#include "unit/stats/noise.h"
#include "unit/unit.h"

#include "stats/moderate.h"

#include <math.h>

enum { MANY = 3000 };

/* Chi square of an even number of degrees of freedom: a sum of exponentials. */
static double chi_square(int df) {
    double sum = 0;
    for (int i = 0; i < df / 2; i++)
        sum -= 2 * log(uniform());
    return sum;
}

/* Smyth's model: a variance of its own for each, scaled inverse chi square, seen with `df` of it. */
static void draw(double s2[MANY], double df[MANY], double s0, int d0, int own) {
    for (size_t i = 0; i < MANY; i++) {
        double truth = d0 > 0 ? s0 * d0 / chi_square(d0) : s0;
        s2[i] = truth * chi_square(own) / own;
        df[i] = own;
    }
}

static void finds_the_prior(void **state) {
    (void)state;
    double s2[MANY], df[MANY];
    struct variance_prior prior;
    seed = 1;
    draw(s2, df, 4e-6, 8, 2);
    assert_true(variance_prior_fit(s2, df, MANY, INFINITY, &prior));
    print_message("prior of 8 degrees of freedom and 4e-6: %.2f, %.3g\n", prior.df, prior.s2);
    assert_true(prior.df > 6.5 && prior.df < 9.5);
    assert_true(prior.s2 > 3.6e-6 && prior.s2 < 4.4e-6);
    draw(s2, df, 4e-6, 0, 10); /* all the same: nothing beyond chance */
    assert_true(variance_prior_fit(s2, df, MANY, INFINITY, &prior));
    assert_true(prior.df > 200 && prior.s2 > 3.8e-6 && prior.s2 < 4.2e-6);
    assert_true(variance_prior_fit(s2, df, MANY, 8, &prior));
    assert_true(prior.df <= 8);
}

static void too_little_to_go_by(void **state) {
    (void)state;
    const double s2[] = {1, 2, 3, 4, 0, 0, 0, 0, 0}, df[] = {2, 2, 2, 2, 2, 2, 2, 2, 2};
    struct variance_prior prior;
    assert_false(variance_prior_fit(s2, df, VARIANCE_PRIOR_LEAST - 1, INFINITY, &prior));
    assert_true(variance_prior_fit(s2, df, VARIANCE_PRIOR_LEAST, INFINITY, &prior));
    assert_false(variance_prior_fit(s2, df, 9, INFINITY, &prior)); /* most are zero */
}

static void lies_between(void **state) {
    (void)state;
    const struct variance_prior prior = {.s2 = 3, .df = 6}, certain = {.s2 = 3, .df = INFINITY};
    assert_true(fabs(variance_moderated(9, 2, &prior) - (6 * 3 + 2 * 9) / 8.0) < 1e-12);
    assert_true(variance_moderated(9, 2, &certain) == 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_prior),
        cmocka_unit_test(too_little_to_go_by),
        cmocka_unit_test(lies_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
