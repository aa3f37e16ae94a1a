/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include "unit/unit.h"

#include <string.h>

static void fills_and_returns_false(void **state) {
    (void)state;
    struct error err = {0};
    assert_false(FAIL_NATIVE(&err, ERROR_SYSTEM, 13, "cannot open %s", "/x"));
    assert_int_equal(err.kind, ERROR_SYSTEM);
    assert_int_equal(err.native, 13);
    assert_string_equal(err.text, "cannot open /x");
    assert_int_equal(err.n_frames, 1);
    assert_string_equal(err.frames[0].function, "fills_and_returns_false");
}

static void text_is_one_line_without_controls(void **state) {
    (void)state;
    struct error err = {0};
    FAIL(&err, ERROR_DATA, "a\nb\033[2Jc\x7f");
    assert_string_equal(err.text, "a?b?[2Jc?");
    error_context(&err, "in\r%s", "x");
    assert_string_equal(err.text, "in?x: a?b?[2Jc?");
}

static void long_text_is_cut(void **state) {
    (void)state;
    struct error err = {0};
    char name[3000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    FAIL(&err, ERROR_DATA, "%s", name);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    error_context(&err, "%s", name);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

/* What stands before and behind the long name is what the user needs. */
static void cutting_keeps_both_ends(void **state) {
    (void)state;
    struct error err = {0};
    char name[3000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    FAIL(&err, ERROR_DATA, "cannot open %s: use --results DIR", name);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(strncmp(err.text, "cannot open nnn", 15), 0);
    assert_non_null(strstr(err.text, "n [...] n"));
    assert_non_null(strstr(err.text, "n: use --results DIR"));
    error_context(&err, "reading %s", name);
    assert_int_equal(strncmp(err.text, "reading nnn", 11), 0);
    assert_non_null(strstr(err.text, "n: use --results DIR"));
    /* A text that just fits is left whole. */
    name[sizeof err.text - 1] = '\0';
    FAIL(&err, ERROR_DATA, "%s", name);
    assert_string_equal(err.text, name);
}

static void may_quote_itself(void **state) {
    (void)state;
    struct error err = {0};
    FAIL(&err, ERROR_DATA, "inner");
    FAIL(&err, ERROR_SYSTEM, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
    assert_int_equal(err.n_frames, 1);
}

static void frames_are_bounded(void **state) {
    (void)state;
    struct error err = {0};
    FAIL(&err, ERROR_DATA, "x");
    for (int i = 0; i < 3 * ERROR_MAX_FRAMES; i++)
        assert_false(RELAY(&err));
    assert_int_equal(err.n_frames, ERROR_MAX_FRAMES);
    error_clear(&err);
    assert_int_equal(err.kind, ERROR_NONE);
    assert_int_equal(err.n_frames, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_and_returns_false), cmocka_unit_test(text_is_one_line_without_controls),
        cmocka_unit_test(long_text_is_cut),        cmocka_unit_test(cutting_keeps_both_ends),
        cmocka_unit_test(may_quote_itself),        cmocka_unit_test(frames_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
