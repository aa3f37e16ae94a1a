/* SPDX-License-Identifier: Apache-2.0 */
/* Against figures of SciPy 1.x (scipy.stats, scipy.special), which is another implementation. */
#include "stats/distributions.h"
#include "stats/robust.h"
#include "unit/unit.h"

#include <math.h>

static void assert_near(double value, double expected, double relative) {
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.15g instead of %.15g", value, expected);
}

static void test_t_tails(void **state) {
    (void)state;
    static const struct {
        double t, df, p;
    } known[] = {
        {2.0, 1, 0.2951672353008665},      {2.0, 5, 0.10193947882985835}, {9.0, 2, 0.01212166009278687},
        {31.6, 3, 6.9637953005626e-05},    {0.1, 7, 0.9231480596047924},  {6.0, 100, 3.172491502802852e-08},
        {4.0, 1e5, 6.338799755719541e-05}, {1e-3, 3, 0.9992648949694609}, {-2.0, 5, 0.10193947882985835},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_near(dist_t_two_sided(known[i].t, known[i].df), known[i].p, 1e-9);
    assert_true(isnan(dist_t_two_sided(1, 0)));
    assert_true(dist_t_two_sided(INFINITY, 3) == 0);
}

static void test_t_critical(void **state) {
    (void)state;
    static const struct {
        double p, df, t;
    } known[] = {
        {0.05, 1, 12.706204736174705},  {0.05, 2, 4.302652729749464},    {0.05, 10, 2.2281388519862753},
        {0.1, 22, 1.7171443743802428},  {1e-4, 2, 99.99249984374454},    {2.5e-5, 22, 5.30921151997461},
        {1e-4, 1e9, 3.890591902108428}, {0.01, 300, 2.5923164108477925}, {1e-4, INFINITY, 3.890591886413109},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_near(dist_t_critical(known[i].p, known[i].df), known[i].t, 1e-7);
    assert_true(isnan(dist_t_critical(0, 3)));
}

static void test_gamma_family(void **state) {
    (void)state;
    static const struct {
        double x, digamma, trigamma;
    } known[] = {
        {0.1, -10.423754940411076, 101.43329915}, {0.5, -1.9635100260214235, 4.9348022},
        {1, -0.5772156649015329, 1.64493407},     {2.5, 0.7031566406452432, 0.49035776},
        {11, 2.3517525890667215, 0.09516634},     {100, 4.600161852738088, 0.01005017},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_near(dist_digamma(known[i].x), known[i].digamma, 1e-11);
        assert_near(dist_trigamma(known[i].x), known[i].trigamma, 1e-6);
    }
    assert_near(dist_trigamma_inverse(1e-8), 1e8, 1e-6);
    assert_near(dist_trigamma_inverse(0.01), 100.49916668194317, 1e-9);
    assert_near(dist_trigamma_inverse(0.5), 2.4599529483523073, 1e-9);
    assert_near(dist_trigamma_inverse(1.6449340668482264), 1, 1e-9);
    assert_near(dist_trigamma_inverse(100), 0.10072375880005265, 1e-9);
    assert_near(dist_trigamma_inverse(1e9), 3.162277662769127e-05, 1e-4);
    assert_true(isnan(dist_trigamma_inverse(-1)));
    assert_near(dist_log_gamma(10), log(362880), 1e-12);
}

static void test_incomplete_beta(void **state) {
    (void)state;
    assert_near(dist_incomplete_beta(2, 3, 0.4), 0.5248, 1e-12);
    assert_near(dist_incomplete_beta(0.5, 0.5, 0.3), 0.36901011956554536, 1e-12);
    assert_near(dist_incomplete_beta(50, 0.5, 0.99), 0.3173043978741973, 1e-10);
    assert_near(dist_incomplete_beta(1000, 0.5, 0.999), 0.15724727426672383, 1e-9);
    assert_true(dist_incomplete_beta(1, 1, 0) == 0 && dist_incomplete_beta(1, 1, 1) == 1);
    assert_true(isnan(dist_incomplete_beta(1, 1, 1.5)));
}

static void test_mann_whitney(void **state) {
    (void)state;
    static const double x[] = {1.1, 2.2, 3.3, 4.4, 5.5, 6.6, 7.7, 8.8, 9.9, 10.5};
    static const double y[] = {5.5, 7.7, 9.9, 11, 12, 13, 14, 15, 16, 17};
    static const double same[] = {3, 3, 3};
    assert_near(dist_mann_whitney(x, 10, y, 10), 0.0031628218975971976, 1e-9);
    assert_near(dist_mann_whitney(y, 10, x, 10), 0.0031628218975971976, 1e-9);
    assert_true(dist_mann_whitney(same, 3, same, 3) == 1);
    assert_true(isnan(dist_mann_whitney(x, 0, y, 3)));
}

static void test_robust(void **state) {
    (void)state;
    static const double x[] = {9, 1, 4, 2};
    assert_near(stats_median(x, 4), 3, 1e-12);
    assert_near(stats_quantile(x, 4, 0.9), 4 + 0.7 * 5, 1e-12); /* position 0.9 × 3 = 2.7 */
    assert_near(stats_mean(x, 4), 4, 1e-12);
    assert_near(stats_variance(x, 4), 38.0 / 3, 1e-12);
    assert_near(stats_mad_sigma(x, 4), 1.4826 * 1.5, 1e-12); /* distances 6 2 1 1 */
    assert_near(stats_named("", x, 4), 3, 1e-12);
    assert_near(stats_named("p99", x, 1), 9, 1e-12);
    assert_true(isnan(stats_named("p42", x, 4)));
    assert_true(isnan(stats_median(x, 0)) && isnan(stats_variance(x, 1)));
    assert_true(x[0] == 9); /* the input stays as it is */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_t_tails),      cmocka_unit_test(test_t_critical),
        cmocka_unit_test(test_gamma_family), cmocka_unit_test(test_incomplete_beta),
        cmocka_unit_test(test_mann_whitney), cmocka_unit_test(test_robust),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
