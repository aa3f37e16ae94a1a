/* SPDX-License-Identifier: Apache-2.0 */
/* Edits of a configuration's text: what is named changes, and not a byte besides. */
#include "base/mem.h"
#include "doctor/mend_text.h"

#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#define FILE_NAME "/etc/pve/lxc/129.conf"

/* One edit of `text`: to `*out`, false where it is refused. */
static bool edit(const char *text, enum mend_format format, int line, const char *from, const char *to,
                 struct mend_lines *lines, struct text *out) {
    struct mend_edits edits = {0};
    struct error err = {0};
    mend_edits_add(&edits, FILE_NAME, line, from, to);
    mend_edits_add(&edits, "/another/file", 1, "195", "196");
    bool good = mend_lines_make(text, strlen(text), format, &edits, FILE_NAME, lines, &err);
    if (good)
        mend_lines_text(lines, out);
    else
        assert_int_equal(err.kind, ERROR_DATA);
    mend_edits_free(&edits);
    return good;
}

static void expect(const char *text, enum mend_format format, int line, const char *from, const char *to,
                   const char *wanted) {
    struct mend_lines lines = {0};
    struct text out = {0};
    bool good = edit(text, format, line, from, to, &lines, &out);
    assert_int_equal(good, wanted != NULL);
    if (wanted != NULL)
        assert_string_equal(text_string(&out), wanted);
    text_free(&out);
    mend_lines_free(&lines);
}

static void test_replaces(void **state) {
    (void)state;
    expect("a: b\nlxc.x:\tc   504:*\trwm  \nc: d\n", MEND_PROXMOX, 2, "504", "509",
           "a: b\nlxc.x:\tc   509:*\trwm  \nc: d\n");
    expect("lxc.x = c 504:0 rwm", MEND_PROXMOX, 1, "504", "509", "lxc.x = c 509:0 rwm");
    expect("  lxc.x=c 504:* rwm\r\n\r\n", MEND_PLAIN, 1, "504", "9", "  lxc.x=c 9:* rwm\r\n\r\n");
    expect("lxc.x = c 1fd:* rwm\n", MEND_PLAIN, 1, "1fd", "509", "lxc.x = c 509:* rwm\n");
    /* The number is replaced where the major stands, and nowhere else. */
    expect("lxc.504 = c 504:504 rwm 504\n", MEND_PLAIN, 1, "504", "509", "lxc.504 = c 509:504 rwm 504\n");
}

static void test_refuses(void **state) {
    (void)state;
    expect("lxc.x = c 505:* rwm\n", MEND_PLAIN, 1, "504", "509", NULL);
    expect("lxc.x = c 5040:* rwm\n", MEND_PLAIN, 1, "504", "509", NULL);
    expect("# c 504:* rwm\n", MEND_PLAIN, 1, "504", "509", NULL);
    expect("lxc.x = c 504:* rwm\n", MEND_PLAIN, 2, "504", "509", NULL);
    expect("lxc.x: c 504:* rwm\n", MEND_PLAIN, 1, "504", "509", NULL); /* plain LXC knows no colon */
    expect("lxc.x = c 504", MEND_PLAIN, 1, "504", "509", NULL);
    expect("", MEND_PLAIN, 1, "504", "509", NULL);
    struct mend_edits edits = {0};
    struct mend_lines lines = {0};
    struct error err = {0};
    assert_false(mend_lines_make("a\0b\n", 4, MEND_PLAIN, &edits, FILE_NAME, &lines, &err));
    mend_lines_free(&lines);
}

static void test_adds(void **state) {
    (void)state;
    expect("a\nb\n", MEND_PLAIN, 1, NULL, "new", "a\nnew\nb\n");
    expect("a\r\nb\r\n", MEND_PLAIN, 2, NULL, "new", "a\r\nb\r\nnew\r\n");
    expect("a\nb", MEND_PLAIN, 2, NULL, "new", "a\nb\nnew"); /* without an end before, without one after */
    expect("a\r\nb", MEND_PLAIN, 0, NULL, "new", "a\r\nb\r\nnew");
    expect("", MEND_PLAIN, 0, NULL, "new", "new\n");
    expect("a\n\n\n", MEND_PLAIN, 0, NULL, "new", "a\nnew\n\n\n");
    /* What counts of Proxmox's ends at the first section. */
    expect("a: b\n\n[snap]\nx: y\n", MEND_PROXMOX, 0, NULL, "new", "a: b\nnew\n\n[snap]\nx: y\n");
    expect("[snap]\nx: y\n", MEND_PROXMOX, 0, NULL, "new", "new\n[snap]\nx: y\n");
    expect("a\n[snap]\n", MEND_PLAIN, 0, NULL, "new", "a\n[snap]\nnew\n");
}

static void test_several(void **state) {
    (void)state;
    const char *text = "lxc.x = c 504:0 rwm\n# x\nlxc.x = c 504:1 rwm";
    struct mend_edits edits = {0};
    struct mend_lines lines = {0};
    struct error err = {0};
    struct text out = {0};
    mend_edits_add(&edits, FILE_NAME, 3, "504", "509");
    mend_edits_add(&edits, FILE_NAME, 1, "504", "509");
    mend_edits_add(&edits, FILE_NAME, 3, NULL, "one");
    mend_edits_add(&edits, FILE_NAME, 0, NULL, "two");
    assert_true(mend_lines_make(text, strlen(text), MEND_PLAIN, &edits, FILE_NAME, &lines, &err));
    mend_lines_text(&lines, &out);
    assert_string_equal(text_string(&out), "lxc.x = c 509:0 rwm\n# x\nlxc.x = c 509:1 rwm\none\ntwo");
    text_free(&out);
    mend_lines_free(&lines);
    mend_edits_free(&edits);
}

static void test_diff(void **state) {
    (void)state;
    struct mend_lines lines = {0};
    struct text out = {0}, diff = {0};
    assert_true(
        edit("1\n2\n3\n4\n5\nlxc.x = c 504:* rwm\n7\n8\n9\n10", MEND_PLAIN, 6, "504", "509", &lines, &out));
    mend_lines_diff(&lines, "a", "b", &diff);
    assert_string_equal(text_string(&diff), "--- a\n+++ b\n@@ -3,7 +3,7 @@\n 3\n 4\n 5\n"
                                            "-lxc.x = c 504:* rwm\n+lxc.x = c 509:* rwm\n 7\n 8\n 9\n");
    mend_lines_free(&lines);
    text_clear(&diff);
    text_clear(&out);
    assert_true(edit("a", MEND_PLAIN, 0, NULL, "b", &lines, &out));
    mend_lines_diff(&lines, "a", "b", &diff);
    assert_string_equal(text_string(&diff),
                        "--- a\n+++ b\n@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n"
                        "\\ No newline at end of file\n");
    mend_lines_free(&lines);
    text_clear(&diff);
    text_clear(&out);
    assert_true(edit("", MEND_PLAIN, 0, NULL, "b", &lines, &out));
    mend_lines_diff(&lines, "a", "b", &diff);
    assert_string_equal(text_string(&diff), "--- a\n+++ b\n@@ -0,0 +1 @@\n+b\n");
    mend_lines_free(&lines);
    text_free(&diff);
    text_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replaces), cmocka_unit_test(test_refuses), cmocka_unit_test(test_adds),
        cmocka_unit_test(test_several),  cmocka_unit_test(test_diff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
