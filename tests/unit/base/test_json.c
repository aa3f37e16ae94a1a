/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/text.h"
#include "unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static js *parse(const char *text) {
    struct error err = {0};
    return js_parse(text, strlen(text), &err);
}

static void expect_refused(const char *text, size_t length) {
    struct error err = {0};
    js *value = js_parse(text, length, &err);
    assert_null(value);
    assert_int_equal(err.kind, ERROR_DATA);
    assert_true(err.text[0] != '\0');
}

static void makes_and_prints(void **state) {
    (void)state;
    js *o = js_new_object();
    js_set_string(o, "b", "text");
    js_set_int(o, "a", INT64_C(9007199254740993));
    js_set_number(o, "x", 0.1);
    js_set_number(o, "nan", NAN);
    js_set_bool(o, "yes", true);
    js_set_string(o, "none", NULL);
    js *list = js_new_array();
    js_append_number(list, 1.5);
    js_append_string(list, "s");
    js_set(o, "list", list);
    char *text = js_text(o);
    assert_string_equal(text, "{\"b\":\"text\",\"a\":9007199254740993,\"x\":0.1,\"nan\":null,\"yes\":true,"
                              "\"none\":null,\"list\":[1.5,\"s\"]}");
    js *again = parse(text);
    assert_true(js_equal(o, again));
    js_remove(again, "b");
    assert_false(js_equal(o, again));
    free(text);
    text = js_text_pretty(o);
    assert_true(text_ends(text, "}\n"));
    free(text);
    js_free(again);
    js_free(o);
}

static void twelve_digits_survive(void **state) {
    (void)state;
    js *v = js_new_number(55.3123456789);
    char *text = js_text(v);
    assert_string_equal(text, "55.3123456789");
    free(text);
    js_free(v);
}

static void getters_are_safe_on_anything(void **state) {
    (void)state;
    js *v = parse("{\"s\":\"x\",\"n\":2.0,\"f\":2.5,\"huge\":1e300,\"list\":[1,[2]],\"o\":{}}");
    assert_non_null(v);
    assert_string_equal(js_get_string(v, "s", "-"), "x");
    assert_string_equal(js_get_string(v, "n", "-"), "-");
    assert_int_equal(js_get_int(v, "n", -1), 2);
    assert_int_equal(js_get_int(v, "f", -1), -1);
    assert_int_equal(js_get_int(v, "huge", -1), -1);
    assert_int_equal(js_get_int(v, "absent", 7), 7);
    assert_null(js_get(js_get(js_get(v, "s"), "deeper"), "still"));
    assert_null(js_at(v, 0));
    assert_null(js_at(js_get(v, "list"), 2));
    assert_int_equal(js_length(js_get(v, "list")), 2);
    assert_int_equal(js_length(js_get(v, "o")), 0);
    assert_int_equal(js_length(NULL), 0);
    assert_false(js_is_null(NULL));
    assert_false(js_is_object(NULL));
    assert_true(js_bool(NULL, true));
    assert_null(js_first(NULL).key);
    assert_null(js_first(js_get(v, "list")).key);
    js_free(v);
    js_free(NULL);
}

static void walks_in_order(void **state) {
    (void)state;
    js *v = parse("{\"z\":1,\"a\":2,\"m\":3}");
    struct text seen = {0};
    for (struct js_member m = js_first(v); m.key != NULL; m = js_next(v, m))
        text_addf(&seen, "%s%d", m.key, (int)js_int(m.value, 0));
    assert_string_equal(seen.data, "z1a2m3");
    text_free(&seen);
    js_free(v);
}

static void owners_are_counted(void **state) {
    (void)state;
    js *inner = js_new_string("shared");
    js *a = js_new_object();
    js_set(a, "x", js_keep(inner));
    js *b = js_copy(a);
    js_free(a);
    assert_string_equal(js_string(inner, ""), "shared");
    assert_string_equal(js_get_string(b, "x", ""), "shared");
    js_free(b);
    js_free(inner);
}

static void refuses_what_is_no_json(void **state) {
    (void)state;
    const char *const bad[] = {"",     "{",           "{\"a\":1}x", "{\"a\":1,\"a\":2}", "{a:1}",
                               "[1,]", "\"\xff\"",    "nul",        "\"\\u0000\"",       "{\"\\u0000\":1}",
                               "1e",   "\"\\ud800\"", "[1e9999]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refused(bad[i], strlen(bad[i]));
    expect_refused("\"a\0b\"", 5);
    expect_refused("1\0", 2);
}

static void nesting_is_bounded(void **state) {
    (void)state;
    char deep[200001];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    expect_refused(deep, strlen(deep));
    memset(deep, '[', 64);
    memset(deep + 64, ']', 64);
    struct error err = {0};
    js *v = js_parse(deep, 128, &err);
    assert_non_null(v);
    js_free(v);
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    expect_refused(deep, 130);
    /* Brackets inside a string are text. */
    deep[0] = '"';
    memset(deep + 1, '[', 100);
    deep[101] = '"';
    v = js_parse(deep, 102, &err);
    assert_non_null(v);
    js_free(v);
}

static void invalid_utf8_is_repaired(void **state) {
    (void)state;
    js *o = js_new_object();
    js_set_string(o, "name", "bad\xff");
    js_set_string(o, "k\xff", "v");
    char *text = js_text(o);
    assert_string_equal(text, "{\"name\":\"bad?\",\"k?\":\"v\"}");
    free(text);
    /* The kinds that a lax check lets through: jansson refuses them as well. */
    js_set_string(o, "name", "\xed\xa0\x80");
    assert_string_equal(js_get_string(o, "name", ""), "???");
    js_set_string(o, "\xed\xa0\x80", "v");
    assert_string_equal(js_get_string(o, "???", ""), "v");
    js_free(o);
}

/* A getter's NULL may be printed like any value. */
static void nothing_is_null(void **state) {
    (void)state;
    char *text = js_text(NULL);
    assert_string_equal(text, "null");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_null),          cmocka_unit_test(makes_and_prints),
        cmocka_unit_test(twelve_digits_survive),    cmocka_unit_test(getters_are_safe_on_anything),
        cmocka_unit_test(walks_in_order),           cmocka_unit_test(owners_are_counted),
        cmocka_unit_test(refuses_what_is_no_json),  cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(invalid_utf8_is_repaired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
