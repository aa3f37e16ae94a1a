/* SPDX-License-Identifier: Apache-2.0 */
#include "base/build.h"

#include "unit/unit.h"

#include <string.h>

static void id_is_sixteen_digits(void **state) {
    (void)state;
    assert_int_equal(strlen(build_id()), 16);
    assert_int_equal(strspn(build_id(), "0123456789abcdef"), 16);
    assert_true(strlen(build_version()) >= strlen("0.0.0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(id_is_sixteen_digits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
