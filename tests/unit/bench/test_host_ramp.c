/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "bench/host_ramp.h"

static size_t find(const double *speed, size_t n) {
    return ramp_find(speed, n, 0.95, 10);
}

static void at_once(void **state) {
    (void)state;
    static const double speed[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    assert_int_equal(find(speed, 11), 0);
}

static void after_a_slow_start(void **state) {
    (void)state;
    static const double speed[] = {0.4, 0.6, 0.94, 0.95, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    assert_int_equal(find(speed, 13), 3); /* 0.95 itself is enough */
}

/* A first flash that does not last is none; one slow window in ten is an interrupt. */
static void what_does_not_last(void **state) {
    (void)state;
    static const double speed[] = {0.5, 1, 0.5, 0.5, 1, 1, 1, 0.3, 1, 1, 1, 1, 1, 1, 1};
    assert_int_equal(find(speed, 15), 4);
    static const double two[] = {1, 0.3, 0.3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    assert_int_equal(find(two, 13), 3);
}

static void never(void **state) {
    (void)state;
    static const double slow[] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
    static const double late[] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1};
    assert_int_equal(find(slow, 12), 12);
    assert_int_equal(find(late, 12), 12); /* not seen to hold */
    assert_int_equal(find(slow, 0), 0);
    assert_int_equal(find(late, 5), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_once),
        cmocka_unit_test(after_a_slow_start),
        cmocka_unit_test(what_does_not_last),
        cmocka_unit_test(never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
