/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"

#include <stdlib.h>
#include <string.h>

static js *parsed(const char *text) {
    struct error err = {0};
    js *value = yaml_parse(text, strlen(text), &err);
    if (value == NULL)
        fail_msg("%s: %s", text, err.text);
    return value;
}

/* YAML and the JSON that it means. */
static void reads_what_files_have(void **state) {
    (void)state;
    static const struct {
        const char *yaml, *json;
    } rows[] = {
        {"", "null"},
        {"---\n...\n", "null"},
        {"12", "12"},
        {"-7", "-7"},
        {"0x1F", "31"},
        {"'12'", "\"12\""},
        {"\"0x1f\"", "\"0x1f\""},
        {"true", "true"},
        {"false", "false"},
        {"yes", "\"yes\""},
        {"~", "null"},
        {"null", "null"},
        {"1.5", "\"1.5\""},
        {"99999999999999999999", "\"99999999999999999999\""},
        {"a: 1\nb: [x, 'y', {c: true}]\n", "{\"a\":1,\"b\":[\"x\",\"y\",{\"c\":true}]}"},
        {"- a\n-\n- - b\n", "[\"a\",null,[\"b\"]]"},
        {"a:\n  - b: 1\n    c: |\n      two\n      lines\n", "{\"a\":[{\"b\":1,\"c\":\"two\\nlines\\n\"}]}"},
        {"# only a note\na: b # another\n", "{\"a\":\"b\"}"},
        {"a: 1\na: 2\n", "{\"a\":2}"},
        {"{}", "{}"},
        {"[]", "[]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        js *value = parsed(rows[i].yaml);
        char *text = js_text(value);
        assert_string_equal(text, rows[i].json);
        free(text);
        js_free(value);
    }
}

static void refuses(const char *text, size_t length, const char *why) {
    struct error err = {0};
    js *value = yaml_parse(text, length, &err);
    if (value != NULL)
        fail_msg("accepted: %.60s", text);
    assert_int_equal(err.kind, ERROR_DATA);
    if (strstr(err.text, why) == NULL || strchr(err.text, '\n') != NULL)
        fail_msg("'%s' does not say '%s'", err.text, why);
}

static void refuses_the_rest(void **state) {
    (void)state;
    static const struct {
        const char *yaml, *why;
    } rows[] = {
        {"a: [1, 2", "line 2"},  {"a: 1\n  b: 2\n", "line 2"},
        {"a: \"x\n", "line"},    {"x: &a [1]\ny: *a\n", "alias"},
        {"*a", "alias"},         {"? [a]\n: 1\n", "key"},
        {"\t- a", "line 1"},     {"a: \x01", "line"},
        {"a: \xff\xfe", "line"}, {"- a\nb: c\n", "line 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refuses(rows[i].yaml, strlen(rows[i].yaml), rows[i].why);
}

static void refuses_what_is_too_much(void **state) {
    (void)state;
    struct text text = {0};
    for (int i = 0; i < 70; i++)
        text_add(&text, "[");
    for (int i = 0; i < 70; i++)
        text_add(&text, "]");
    refuses(text_string(&text), text.length, "deep");
    text_clear(&text);
    for (int i = 0; i < 100001; i++)
        text_add(&text, "- a\n");
    refuses(text_string(&text), text.length, "long");
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_files_have),
        cmocka_unit_test(refuses_the_rest),
        cmocka_unit_test(refuses_what_is_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
