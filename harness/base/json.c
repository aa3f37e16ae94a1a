/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/mem.h"
#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64, DIGITS = 12 };

/* A js is a json_t under another name; const is dropped because jansson's getters take it away anyway. */
static json_t *inner(const js *value) {
    return (json_t *)(uintptr_t)value;
}

static js *outer(json_t *value) {
    if (value == NULL)
        abort(); /* only running out of memory gets here: every caller passes valid arguments */
    return (js *)value;
}

static void *allocate(size_t size) {
    return mem_resize(NULL, size, 1);
}

/* jansson crashes when memory runs out in the middle of a file; ours ends with a word. */
__attribute__((constructor)) static void use_checked_memory(void) {
    json_set_alloc_funcs(allocate, free);
}

js *js_new_object(void) {
    return outer(json_object());
}

js *js_new_array(void) {
    return outer(json_array());
}

js *js_new_string(const char *s) {
    if (s == NULL)
        return js_new_null();
    json_t *value = json_string(s);
    if (value == NULL) { /* not valid UTF-8 */
        char *clean = text_printable(s);
        value = json_string(clean);
        free(clean);
    }
    return outer(value);
}

js *js_new_number(double value) {
    return isfinite(value) ? outer(json_real(value)) : js_new_null();
}

js *js_new_int(int64_t value) {
    return outer(json_integer(value));
}

js *js_new_bool(bool value) {
    return outer(json_boolean(value));
}

js *js_new_null(void) {
    return outer(json_null());
}

js *js_keep(js *value) {
    return outer(json_incref(inner(value)));
}

js *js_copy(const js *value) {
    if (value == NULL) /* a member that a message lacks */
        return js_new_null();
    return outer(json_deep_copy(inner(value)));
}

void js_free(js *value) {
    json_decref(inner(value));
}

void js_set(js *object, const char *key, js *value) {
    /* On failure jansson lets go of the value it was given, so one owner is kept back. */
    if (json_object_set(inner(object), key, inner(value)) != 0) {
        /* A key that is not valid UTF-8 comes from outside: keep the value under a repaired name. */
        char *clean = text_printable(key);
        json_object_set(inner(object), clean, inner(value));
        free(clean);
    }
    json_decref(inner(value));
}

void js_set_string(js *object, const char *key, const char *s) {
    js_set(object, key, js_new_string(s));
}

void js_set_number(js *object, const char *key, double value) {
    js_set(object, key, js_new_number(value));
}

void js_set_int(js *object, const char *key, int64_t value) {
    js_set(object, key, js_new_int(value));
}

void js_set_bool(js *object, const char *key, bool value) {
    js_set(object, key, js_new_bool(value));
}

void js_append(js *array, js *value) {
    if (json_array_append_new(inner(array), inner(value)) != 0)
        abort();
}

void js_append_string(js *array, const char *s) {
    js_append(array, js_new_string(s));
}

void js_append_number(js *array, double value) {
    js_append(array, js_new_number(value));
}

void js_remove(js *object, const char *key) {
    json_object_del(inner(object), key);
}

bool js_is_object(const js *value) {
    return json_is_object(inner(value));
}

bool js_is_array(const js *value) {
    return json_is_array(inner(value));
}

bool js_is_string(const js *value) {
    return json_is_string(inner(value));
}

bool js_is_number(const js *value) {
    return json_is_number(inner(value));
}

bool js_is_bool(const js *value) {
    return json_is_boolean(inner(value));
}

bool js_is_null(const js *value) {
    return json_is_null(inner(value));
}

bool js_equal(const js *a, const js *b) {
    return a != NULL && b != NULL && json_equal(inner(a), inner(b)) != 0;
}

size_t js_length(const js *value) {
    return js_is_object(value) ? json_object_size(inner(value)) : json_array_size(inner(value));
}

js *js_get(const js *object, const char *key) {
    return (js *)json_object_get(inner(object), key);
}

js *js_at(const js *array, size_t index) {
    return (js *)json_array_get(inner(array), index);
}

const char *js_string(const js *value, const char *fallback) {
    return js_is_string(value) ? json_string_value(inner(value)) : fallback;
}

double js_number(const js *value, double fallback) {
    return js_is_number(value) ? json_number_value(inner(value)) : fallback;
}

int64_t js_int(const js *value, int64_t fallback) {
    if (value == NULL || !json_is_number(inner(value)))
        return fallback;
    if (json_is_integer(inner(value)))
        return json_integer_value(inner(value));
    double real = json_real_value(inner(value));
    bool whole = isfinite(real) && real == floor(real) && fabs(real) < 9.0e15;
    return whole ? (int64_t)real : fallback;
}

bool js_bool(const js *value, bool fallback) {
    return js_is_bool(value) ? json_is_true(inner(value)) : fallback;
}

const char *js_get_string(const js *object, const char *key, const char *fallback) {
    return js_string(js_get(object, key), fallback);
}

double js_get_number(const js *object, const char *key, double fallback) {
    return js_number(js_get(object, key), fallback);
}

int64_t js_get_int(const js *object, const char *key, int64_t fallback) {
    return js_int(js_get(object, key), fallback);
}

bool js_get_bool(const js *object, const char *key, bool fallback) {
    return js_bool(js_get(object, key), fallback);
}

static struct js_member at_position(void *position) {
    if (position == NULL)
        return (struct js_member){0};
    return (struct js_member){json_object_iter_key(position), (js *)json_object_iter_value(position),
                              position};
}

struct js_member js_first(const js *object) {
    return at_position(json_object_iter(inner(object)));
}

struct js_member js_next(const js *object, struct js_member member) {
    return at_position(json_object_iter_next(inner(object), member.position));
}

/* jansson's own limit on nesting is 2048; ours keeps recursion over hostile input shallow. Counting brackets
 * outside strings is enough, since what does not balance is refused by the parser. */
static bool too_deep(const char *data, size_t length) {
    size_t depth = 0;
    bool in_text = false;
    for (size_t i = 0; i < length; i++) {
        char c = data[i];
        if (in_text && c == '\\')
            i++;
        else if (c == '"')
            in_text = !in_text;
        else if (!in_text && (c == '{' || c == '['))
            depth++;
        else if (!in_text && (c == '}' || c == ']') && depth > 0)
            depth--;
        if (depth > MAX_DEPTH)
            return true;
    }
    return false;
}

js *js_parse(const char *data, size_t length, struct error *err) {
    /* jansson takes a NUL for the end of the text. */
    if (length > 0 && memchr(data, '\0', length) != NULL) {
        FAIL(err, ERROR_DATA, "no valid JSON: a NUL byte");
        return NULL;
    }
    if (too_deep(data, length)) {
        FAIL(err, ERROR_DATA, "JSON nested deeper than %d", MAX_DEPTH);
        return NULL;
    }
    json_error_t why;
    json_t *value = json_loadb(data, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (value == NULL)
        FAIL(err, ERROR_DATA, "no valid JSON: %s (line %d, column %d)", why.text, why.line, why.column);
    return (js *)value;
}

static char *dumped(const js *value, size_t flags) {
    if (value == NULL)
        return mem_copy_string("null"); /* what is not there, as js_copy has it */
    char *made = json_dumps(inner(value), flags | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS));
    if (made == NULL)
        abort();
    return made;
}

char *js_text(const js *value) {
    return dumped(value, JSON_COMPACT);
}

char *js_text_pretty(const js *value) {
    char *made = dumped(value, JSON_INDENT(2));
    struct text t = {0};
    text_add(&t, made);
    text_add(&t, "\n");
    free(made);
    return text_take(&t);
}

void js_print(const js *value, FILE *out) {
    /* ASCII only: it may be a terminal, and a text from outside may hold what steers one. */
    char *text = dumped(value, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    fputs(text, out);
    fputc('\n', out);
    free(text);
}
