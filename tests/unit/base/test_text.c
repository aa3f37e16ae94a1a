/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void grows(void **state) {
    (void)state;
    struct text t = {0};
    assert_string_equal(text_string(&t), "");
    for (int i = 0; i < 1000; i++)
        text_addf(&t, "%d,", i);
    assert_int_equal(t.length, strlen(t.data));
    assert_true(text_starts(t.data, "0,1,2,"));
    assert_true(text_ends(t.data, ",998,999,"));
    char *taken = text_take(&t);
    assert_null(t.data);
    free(taken);
    taken = text_take(&t);
    assert_string_equal(taken, "");
    free(taken);
    text_add_bytes(&t, "a\0b", 3);
    assert_int_equal(t.length, 3);
    text_clear(&t);
    assert_string_equal(text_string(&t), "");
    text_free(&t);
}

static void splits_and_sorts(void **state) {
    (void)state;
    struct strings list = {0};
    strings_split(&list, "", ',');
    assert_int_equal(list.count, 0);
    strings_split(&list, "b,a,,c", ',');
    assert_int_equal(list.count, 4);
    assert_string_equal(list.items[2], "");
    strings_addf(&list, "%s%d", "z", 1);
    strings_sort(&list);
    assert_string_equal(list.items[0], "");
    assert_string_equal(list.items[4], "z1");
    assert_true(strings_contain(&list, "c"));
    assert_false(strings_contain(&list, "C"));
    assert_int_equal(strings_find(&list, "z1"), 4);
    assert_int_equal(strings_find(&list, "z"), -1);
    strings_free(&list);
    assert_int_equal(list.count, 0);
}

static void numbers_are_whole_strings(void **state) {
    (void)state;
    int64_t i = 0;
    double d = 0;
    assert_true(text_to_int("-42", &i));
    assert_int_equal(i, -42);
    assert_true(text_to_int("0x1F", &i));
    assert_int_equal(i, 31);
    assert_true(text_to_int("010", &i)); /* decimal: no octal surprise */
    assert_int_equal(i, 10);
    const char *const bad[] = {"", " 1", "1 ", "1x", "0x", "9223372036854775808", "1.0", "-", "--1"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(text_to_int(bad[k], &i));
    assert_true(text_to_double("2.5e3", &d));
    assert_true(d > 2499.9 && d < 2500.1);
    const char *const bad_real[] = {"", " 1", "1,5", "1.5x", "1e999", "nan", "-inf", "infinity"};
    for (size_t k = 0; k < sizeof bad_real / sizeof *bad_real; k++)
        assert_false(text_to_double(bad_real[k], &d));
}

static void figures_have_no_exponent(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *want;
    } rows[] = {{17560.4, "17560"}, {9999.4, "9999"}, {9999.5, "10000"}, {-17560.4, "-17560"},
                {3.14159, "3.142"}, {0, "0"},         {1e-9, "1e-09"},   {1e15, "1e+15"},
                {NAN, "-"},         {-INFINITY, "-"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[TEXT_FIGURE_SIZE];
        assert_string_equal(text_figure(rows[i].value, out), rows[i].want);
    }
}

static void trims(void **state) {
    (void)state;
    char a[] = " \t x y\n";
    assert_string_equal(text_trim(a), "x y");
    char b[] = " \n ";
    assert_string_equal(text_trim(b), "");
}

static void matches_whole_strings(void **state) {
    (void)state;
    assert_true(text_matches("copy.*", "copy.h2d"));
    assert_false(text_matches("copy", "copy.h2d"));
    assert_true(text_matches("*/bandwidth*", "copy.h2d@1/bandwidth{a=b}@host"));
    assert_true(text_matches("copy.[hd]2?", "copy.d2h"));
    assert_false(text_matches("[", "x"));
}

static void offers_the_nearest(void **state) {
    (void)state;
    const char *const names[] = {"profile", "rounds", "label", "gpu"};
    assert_string_equal(text_nearest("profle", names, 4), "profile");
    assert_string_equal(text_nearest("prof", names, 4), "profile");
    assert_string_equal(text_nearest("lable", names, 4), "label");
    assert_null(text_nearest("xyzzy", names, 4));
    assert_null(text_nearest("profile", names, 0));
    char huge[5000];
    memset(huge, 'p', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_null(text_nearest(huge, names, 4)); /* quadratic work is not done for it */
}

static void expect_printable(const char *in, const char *out) {
    char *made = text_printable(in);
    int differs = strcmp(made, out);
    free(made);
    if (differs != 0)
        fail_msg("not made harmless: wanted '%s'", out);
}

static void hostile_text_is_made_harmless(void **state) {
    (void)state;
    expect_printable("plain", "plain");
    expect_printable("Grün €", "Grün €");
    expect_printable("\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80");
    expect_printable("a\033]0;title\007b", "a?]0;title?b");
    expect_printable("\xc2\x9b"
                     "2J",
                     "?2J"); /* the C1 control that means ESC [ */
    expect_printable("a\xe2\x80\xae"
                     "b\xe2\x81\xa6\xe2\x80\x8f\xe2\x80\xa8",
                     "a?b???"); /* what turns the direction of writing, and line separators */
    expect_printable("\xe2\x80\xa6\xe2\x81\xa5\xe2\x81\xaa", "\xe2\x80\xa6\xe2\x81\xa5\xe2\x81\xaa");
    expect_printable("\xff\xfe", "??");
    expect_printable("\x80x", "?x");
    expect_printable("\xc3", "?");                /* cut off at the end */
    expect_printable("\xe2\x82", "??");           /* the same with three */
    expect_printable("\xc0\xaf", "??");           /* overlong '/' */
    expect_printable("\xf5\x80\x80\x80", "????"); /* beyond U+10FFFF */
}

static void expect_shown(const char *in, size_t most, const char *out) {
    char *made = text_shown(in, most);
    int differs = strcmp(made, out);
    free(made);
    if (differs != 0)
        fail_msg("not shortened: wanted '%s'", out);
}

static void long_text_is_shown_in_short(void **state) {
    (void)state;
    expect_shown("abcdefgh", 8, "abcdefgh");
    expect_shown("abcdefghi", 8, "abcde...");
    expect_shown("abcd\033\033\033\033\033", 8, "abcd?...");
    expect_shown("abcd\xe2\x82\xac\xe2\x82\xac", 8, "abcd..."); /* no half character */
    expect_shown("abcd", 2, "abcd");
}

static void only_valid_utf8_passes(void **state) {
    (void)state;
    expect_printable("\xe0\x80\xaf", "???");      /* overlong in three bytes */
    expect_printable("\xed\xa0\x80", "???");      /* a surrogate half */
    expect_printable("\xf0\x80\x80\xaf", "????"); /* overlong in four bytes */
    expect_printable("\xf4\x90\x80\x80", "????"); /* the first beyond U+10FFFF */
    expect_printable("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf");
    expect_printable("\xee\x80\x80", "\xee\x80\x80");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),
        cmocka_unit_test(splits_and_sorts),
        cmocka_unit_test(numbers_are_whole_strings),
        cmocka_unit_test(figures_have_no_exponent),
        cmocka_unit_test(trims),
        cmocka_unit_test(matches_whole_strings),
        cmocka_unit_test(offers_the_nearest),
        cmocka_unit_test(hostile_text_is_made_harmless),
        cmocka_unit_test(long_text_is_shown_in_short),
        cmocka_unit_test(only_valid_utf8_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
