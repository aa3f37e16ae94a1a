/* SPDX-License-Identifier: Apache-2.0 */
#include "report/escape.h"

#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

static void check(void (*escape)(struct text *, const char *), const char *from, const char *to) {
    struct text t = {0};
    escape(&t, from);
    assert_string_equal(text_string(&t), to);
    text_free(&t);
}

static void test_html(void **state) {
    (void)state;
    check(escape_html, "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;");
    check(escape_html, "", "");
    check(escape_html, NULL, "");
    check(escape_html, "\x01\x1b[0m\x7f\xff", "??[0m??");
    check(escape_html,
          "\xe2\x80\xae"
          "a\xe2\x81\xa6"
          "b\xef\xbb\xbf\xef\xbf\xbe",
          "?a?b??");                                                    /* turns the direction */
    check(escape_html, "\xc3\xbc\xe2\x82\xac", "\xc3\xbc\xe2\x82\xac"); /* ü and € stay */
}

static void test_csv(void **state) {
    (void)state;
    check(escape_csv, "plain", "plain");
    check(escape_csv, "a,b", "\"a,b\"");
    check(escape_csv, "say \"x\"", "\"say \"\"x\"\"\"");
    check(escape_csv, "=1+1", "\"'=1+1\"");
    check(escape_csv, "@SUM(1)", "\"'@SUM(1)\"");
    check(escape_csv, "-2+3", "\"'-2+3\"");
    check(escape_csv, "a\nb", "a?b");
    check(escape_csv, "\t=1", "?=1");
}

static void test_markdown(void **state) {
    (void)state;
    check(escape_markdown, "a`b|c\n@d", "`a'b\\|c?@d`");
    check(escape_markdown, "", "` `");
}

static void test_prometheus(void **state) {
    (void)state;
    check(escape_prometheus, "a\"b\\c\nd", "a\\\"b\\\\c?d");
}

static void test_plot(void **state) {
    (void)state;
    struct text t = {0};
    escape_plot(&t, "GPU 0, 512 MiB 'x'`y`$(z)\\n\"%s\xc3\xbc", 100);
    assert_string_equal(text_string(&t), "GPU 0, 512 MiB ?x??y?"
                                         "?(z)?n??s??");
    text_clear(&t);
    escape_plot(&t, "abcdefghij", 6);
    assert_string_equal(text_string(&t), "abcd..");
    text_free(&t);
}

static void test_slug(void **state) {
    (void)state;
    check(escape_slug, "copy.h2d bandwidth, GPU 0", "copy-h2d-bandwidth-gpu-0");
    check(escape_slug, "../../etc/passwd", "etc-passwd");
    check(escape_slug, "'; rm -rf /", "rm-rf-");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_html),       cmocka_unit_test(test_csv),  cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_prometheus), cmocka_unit_test(test_plot), cmocka_unit_test(test_slug),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
