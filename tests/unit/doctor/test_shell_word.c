/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/shell_word.h"
#include "unit/unit.h"

#include <string.h>

static void is(const char *name, const char *want) {
    char buffer[32];
    assert_string_equal(shell_word(name, buffer, sizeof buffer), want);
}

static void test_plain(void **state) {
    (void)state;
    is("129", "129");
    is("/etc/cdi/nvidia.yaml", "/etc/cdi/nvidia.yaml");
    is("ollama@1.service", "ollama@1.service");
}

static void test_quoted(void **state) {
    (void)state;
    is("a b", "'a b'");
    is("$(id)", "'$(id)'");
    is("it's", "'it'\\''s'");
    is("", "''");
    is("~", "'~'");
    is("a\nb", "'a\nb'");
}

/* An option stays an option when quoted; what does not fit is not cut to another name. */
static void test_no_word(void **state) {
    (void)state;
    is("-rf", "NAME");
    is("a name of more than thirty characters", "NAME");
    char small[4];
    assert_string_equal(shell_word("a b", small, sizeof small), "NAME");
    char exact[8];
    assert_string_equal(shell_word("a bcd", exact, sizeof exact), "'a bcd'");
    assert_string_equal(shell_word("a bcde", exact, sizeof exact), "NAME");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_quoted),
                                       cmocka_unit_test(test_no_word)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
