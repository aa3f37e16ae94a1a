/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include "unit/unit.h"

#include <math.h>

/* The first numbers of splitmix64 from the seed 1234567, as other implementations print them. */
static void is_splitmix64(void **state) {
    (void)state;
    uint64_t seed = 1234567;
    assert_true(random_next(&seed) == UINT64_C(6457827717110365317));
    assert_true(random_next(&seed) == UINT64_C(3203168211198807973));
    assert_true(random_next(&seed) == UINT64_C(9817491932198370423));
}

static void mean_and_variance(void **state) {
    (void)state;
    enum { N = 100000 };
    uint64_t seed = 1;
    double sum = 0, squares = 0, least = 1, most = 0;
    for (int i = 0; i < N; i++) {
        double u = random_uniform(&seed), z = random_normal(&seed);
        least = fmin(least, u);
        most = fmax(most, u);
        sum += z;
        squares += z * z;
    }
    assert_true(least > 0 && least < 0.001 && most < 1 && most > 0.999);
    assert_true(fabs(sum / N) < 0.02); /* six standard errors */
    assert_true(fabs(squares / N - 1) < 0.03);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_splitmix64),
        cmocka_unit_test(mean_and_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
