/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "stats/robust.h"

#include <math.h>

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.15g is not near %.15g", got, want);
}

static void summaries(void **state) {
    (void)state;
    const double x[] = {4, 1, 3, 2, 10};
    near(stats_mean(x, 5), 4, 1e-12);
    near(stats_geometric_mean((const double[]){2, 4, 8, 64}, 4), 8, 1e-12);
    near(stats_variance(x, 5), 12.5, 1e-12); /* (0 + 9 + 1 + 4 + 36) / 4 */
    near(stats_median(x, 5), 3, 0);
    near(stats_median(x, 4), 2.5, 0);
    near(stats_mad_sigma(x, 5), 1.4826, 1e-4); /* deviations 1 2 0 1 7 */
    near(x[0], 4, 0);                          /* the input stays as it is */
}

static void quantiles(void **state) {
    (void)state;
    const double x[] = {50, 10, 40, 20, 30};
    near(stats_quantile(x, 5, 0), 10, 0);
    near(stats_quantile(x, 5, 1), 50, 0);
    near(stats_quantile(x, 5, 0.9), 46, 1e-9); /* position 3.6 of 0 … 4 */
    near(stats_named("", x, 5), 30, 0);
    near(stats_named("p50", x, 5), 30, 0);
    near(stats_named("p90", x, 5), 46, 1e-9);
    near(stats_named("p99", x, 5), 49.6, 1e-9);
    assert_true(isnan(stats_named("p12x", x, 5)));
}

/* How many are outside at each end: the table of the sign test. */
static void interval_of_the_median(void **state) {
    (void)state;
    static const struct {
        size_t n, outside;
    } table[] = {{6, 0}, {8, 0}, {9, 1}, {12, 2}, {16, 3}, {20, 5}, {50, 17}, {100, 39}};
    double x[100], low = 0, high = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        for (size_t k = 0; k < table[i].n; k++)
            x[k] = (double)(k * 7 % table[i].n); /* 0 to n - 1, shuffled where 7 does not divide n */
        assert_true(stats_median_interval(x, table[i].n, &low, &high));
        near(low, (double)table[i].outside, 0);
        near(high, (double)(table[i].n - 1 - table[i].outside), 0);
    }
    for (size_t n = 0; n < 6; n++) {
        assert_false(stats_median_interval(x, n, &low, &high));
        assert_true(isnan(low) && isnan(high));
    }
}

static void nothing_known(void **state) {
    (void)state;
    const double one[] = {7};
    assert_true(isnan(stats_mean(NULL, 0)));
    assert_true(isnan(stats_geometric_mean(NULL, 0)));
    assert_true(isnan(stats_geometric_mean((const double[]){2, 0}, 2)));
    assert_true(isnan(stats_median(NULL, 0)));
    assert_true(isnan(stats_quantile(NULL, 0, 0.5)));
    assert_true(isnan(stats_variance(one, 1)));
    near(stats_median(one, 1), 7, 0);
    near(stats_quantile(one, 1, 0.99), 7, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summaries),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(interval_of_the_median),
        cmocka_unit_test(nothing_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
