/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "unit/unit.h"

static void fake_time_moves_only_by_sleeping(void **state) {
    (void)state;
    struct clock clock = clock_fake(5 * NS_PER_S);
    assert_int_equal(clock_now(&clock), 0);
    clock_sleep(&clock, 90 * NS_PER_S);
    clock_sleep(&clock, -NS_PER_S);
    clock_sleep(&clock, 0);
    assert_int_equal(clock_now(&clock), 90 * NS_PER_S);
    assert_int_equal(clock_wall(&clock), 95 * NS_PER_S);
}

static void real_time_does_not_go_back(void **state) {
    (void)state;
    struct clock clock = clock_real();
    int64_t before = clock_now(&clock);
    clock_sleep(&clock, NS_PER_MS);
    assert_true(clock_now(&clock) > before);
    assert_true(clock_raw() > 0);
    assert_true(clock_wall(&clock) > INT64_C(1700000000) * NS_PER_S);
}

static void stamps(void **state) {
    (void)state;
    char out[CLOCK_STAMP_SIZE];
    int64_t t = INT64_C(1769860800) * NS_PER_S + 123 * NS_PER_MS;
    clock_stamp(t, out);
    assert_string_equal(out, "2026-01-31T12:00:00.123Z");
    clock_stamp_compact(t, out);
    assert_string_equal(out, "20260131T120000Z");
    clock_stamp(0, out);
    assert_string_equal(out, "1970-01-01T00:00:00.000Z");
    /* A wrong clock may say anything; the text must still fit. */
    clock_stamp(INT64_MAX, out);
    clock_stamp(INT64_MIN, out);
    clock_stamp_compact(-1, out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fake_time_moves_only_by_sleeping),
        cmocka_unit_test(real_time_does_not_go_back),
        cmocka_unit_test(stamps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
