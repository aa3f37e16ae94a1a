/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "run/case.h"

#include <string.h>

/* Mandatory slots, unique names, known statistics, a smallest effect for every series. */
static void every_case_keeps_the_contract(void **state) {
    (void)state;
    struct error err = {0};
    assert_true(bench_cases_count >= 9);
    if (!bench_check_all(&err))
        fail_msg("%s", err.text);
}

static void found_by_name(void **state) {
    (void)state;
    for (size_t i = 0; i < bench_cases_count; i++)
        assert_ptr_equal(bench_find(bench_cases[i]->name), bench_cases[i]);
    assert_null(bench_find("copy.h2"));
    assert_null(bench_find(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_keeps_the_contract),
        cmocka_unit_test(found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
