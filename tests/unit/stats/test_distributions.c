/* SPDX-License-Identifier: Apache-2.0 */
/* Against published tables and closed forms. */
#include "unit/unit.h"

#include "stats/distributions.c"

#include <math.h>

/* cmocka compares floats as such: this is tighter, and relative. */
static void near(double got, double want, double relative) {
    if (!(fabs(got - want) <= relative * fmax(1e-300, fabs(want))))
        fail_msg("%.15g is not near %.15g", got, want);
}

static void gamma_family(void **state) {
    (void)state;
    near(log_gamma(5), log(24), 1e-12);
    near(log_gamma(0.5), 0.5 * log(M_PI), 1e-12);
    near(dist_digamma(1), -0.57721566490153286, 1e-10);
    near(dist_digamma(0.5), -0.57721566490153286 - 2 * M_LN2, 1e-10);
    near(dist_trigamma(1), M_PI * M_PI / 6, 1e-10);
    near(dist_trigamma(0.5), M_PI * M_PI / 2, 1e-10);
    for (double x = 1e-3; x < 1e4; x *= 3)
        near(dist_trigamma_inverse(dist_trigamma(x)), x, 1e-6);
}

static void beta(void **state) {
    (void)state;
    near(incomplete_beta(2, 3, 0.5, 1 - 0.5), 0.6875, 1e-10);
    near(incomplete_beta(1, 1, 0.3, 1 - 0.3), 0.3, 1e-10);
    near(incomplete_beta(3, 1, 0.2, 1 - 0.2), 0.008, 1e-10); /* x to the third */
    near(incomplete_beta(4, 7, 0.35, 1 - 0.35), 1 - incomplete_beta(7, 4, 0.65, 1 - 0.65), 1e-9);
}

static void student(void **state) {
    (void)state;
    near(dist_t_critical(0.05, 10), 2.2281388519, 1e-7);
    near(dist_t_critical(0.01, 20), 2.8453397098, 1e-7);
    near(dist_t_critical(0.05, 1), 12.7062047364, 1e-7);
    near(dist_t_critical(0.05, INFINITY), 1.9599639845, 1e-7);
    near(dist_t_two_sided(1, 1), 0.5, 1e-10); /* Cauchy: a quarter in each tail */
    near(dist_t_two_sided(-1, 1), 0.5, 1e-10);
    near(dist_t_two_sided(0, 7), 1, 1e-12);
    /* Holm with 300 series needs the far tail to be right: p = 1e-2 / 300. */
    for (double df = 2; df < 200; df *= 2)
        near(dist_t_two_sided(dist_t_critical(3.3e-5, df), df), 3.3e-5, 1e-6);
}

static void ranks(void **state) {
    (void)state;
    double x[10];
    double y[10];
    for (int i = 0; i < 10; i++) {
        x[i] = i;
        y[i] = i + 10;
    }
    /* U = 0, mean 50, sigma sqrt(175), half a step of continuity: z = 49.5 / 13.2288. */
    near(dist_mann_whitney(x, 10, y, 10), erfc(49.5 / sqrt(175) / M_SQRT2), 1e-6);
    near(dist_mann_whitney(y, 10, x, 10), dist_mann_whitney(x, 10, y, 10), 1e-12);
    /* Ties: ranks 2 2 5 against 2 5 5, so U = 3 about a mean of 4.5, and the variance is 9/12 (7 - 48/30). */
    const double few[] = {1, 1, 2}, many[] = {1, 2, 2};
    near(dist_mann_whitney(few, 3, many, 3), erfc(1 / sqrt(2 * 4.05)), 1e-9);
    const double equal[] = {5, 5, 5};
    assert_true(dist_mann_whitney(equal, 3, equal, 3) == 1);
    assert_true(dist_mann_whitney(x, 10, x, 10) > 0.9);
}

static void outside(void **state) {
    (void)state;
    assert_true(isnan(dist_digamma(NAN)));
    assert_true(isnan(dist_trigamma(-1)));
    assert_true(isnan(dist_trigamma_inverse(0)));
    assert_true(isnan(dist_t_two_sided(1, 0)));
    assert_true(isnan(dist_t_two_sided(NAN, 5)));
    assert_true(isnan(dist_mann_whitney(NULL, 0, NULL, 0)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gamma_family), cmocka_unit_test(beta),    cmocka_unit_test(student),
        cmocka_unit_test(ranks),        cmocka_unit_test(outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
