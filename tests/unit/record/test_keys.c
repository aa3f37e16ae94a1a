/* SPDX-License-Identifier: Apache-2.0 */
#include "run/record.h"
#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

static js *parsed(const char *text) {
    struct error err = {0};
    js *value = js_parse(text, strlen(text), &err);
    assert_non_null(value);
    return value;
}

static char *key_of(const char *where, const char *params) {
    js *w = parsed(where);
    js *p = parsed(params);
    char *key = series_key("copy.h2d", 1, "bandwidth", "", w, p, "host");
    js_free(w);
    js_free(p);
    return key;
}

static void test_design_example(void **state) {
    (void)state;
    char *key =
        key_of("{\"role\":\"local\",\"gpu\":\"GPU-1a\"}", "{\"memory\":\"pinned\",\"bytes\":536870912}");
    assert_string_equal(key,
                        "copy.h2d@1/bandwidth{gpu=GPU-1a,role=local;bytes=536870912,memory=pinned}@host");
    free(key);
    key = series_key("host.wake", 2, "wake", ".p50", NULL, NULL, "lxc:129");
    assert_string_equal(key, "host.wake@2/wake.p50{;}@lxc:129");
    free(key);
}

/* No two sets of values share a key, whatever characters they hold. */
static void test_escapes(void **state) {
    (void)state;
    char *one = key_of("{\"gpu\":\"a,role=b\"}", "{}");
    char *two = key_of("{\"gpu\":\"a\",\"role\":\"b\"}", "{}");
    assert_string_not_equal(one, two);
    assert_null(strchr(strchr(one, '{') + strlen("{gpu="), ','));
    free(one);
    free(two);
    one = key_of("{\"gpu\":\"}@/;{%\"}", "{}");
    struct key_parts parts;
    assert_true(key_parse(one, &parts));
    assert_string_equal(parts.where, "gpu=%7D%40%2F%3B%7B%25");
    char *value = key_unescape(parts.where + strlen("gpu="));
    assert_string_equal(value, "}@/;{%");
    free(value);
    key_parts_free(&parts);
    free(one);
    assert_null(key_of("{\"gpu\":1.5}", "{}"));
    assert_null(key_of("{\"gpu\":[]}", "{}"));
}

static void test_parse(void **state) {
    (void)state;
    struct key_parts parts;
    assert_true(key_parse("a.b@12/m.p99{x=1;y=2}@docker:c", &parts));
    assert_string_equal(parts.bench, "a.b");
    assert_int_equal(parts.version, 12);
    assert_string_equal(parts.metric, "m.p99");
    assert_string_equal(parts.params, "y=2");
    assert_string_equal(parts.target, "docker:c");
    key_parts_free(&parts);
    static const char *const bad[] = {
        "",          "a",          "a@1",         "a@1/m",       "a@x/m{;}@h",
        "a@1/m{}@h", "a@1/m{;}",   "a@1/m{;}@",   "@1/m{;}@h",   "a@1/{;}@h",
        "a@1/m{;}h", "a@1/m{;};h", "a@1/m{;;}@h", "a@-1/m{;}@h", "a@1/m{;}@h@h"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (key_parse(bad[i], &parts))
            fail_msg("'%s' passes for a key", bad[i]);
}

static void test_selection(void **state) {
    (void)state;
    const char *key = "copy.h2d@1/bandwidth{gpu=GPU-1a;bytes=1}@host";
    assert_true(series_selected("copy.*", key));
    assert_true(series_selected("copy.h2d", key));
    assert_false(series_selected("copy", key));
    assert_false(series_selected("*bandwidth*", key)); /* no / and no @: the case name only */
    assert_true(series_selected("*/bandwidth{*", key));
    assert_true(series_selected("*@host", key));
    assert_false(series_selected("copy.h2d@2/*", key));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_design_example),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_selection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
