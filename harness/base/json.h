/* SPDX-License-Identifier: Apache-2.0 */
/* JSON values (jansson inside). A `js` is reference counted; "owned" results are released with js_free,
 * "borrowed" ones live as long as their parent. Getters are safe on any value and NULL, so that hostile input
 * can be walked without a check at every step. Text is UTF-8; what is not valid UTF-8 is repaired with '?'.
 */
#ifndef GPUVET_BASE_JSON_H
#define GPUVET_BASE_JSON_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct js js;

/* Making: owned. */
js *js_new_object(void);
js *js_new_array(void);
js *js_new_string(const char *s); /* NULL gives JSON null */
js *js_new_number(double value);  /* not finite gives JSON null */
js *js_new_int(int64_t value);
js *js_new_bool(bool value);
js *js_new_null(void);
js *js_keep(js *value);       /* one more owner of the same value */
js *js_copy(const js *value); /* NULL gives JSON null */
void js_free(js *value);

/* Putting: `value` is handed over. */
void js_set(js *object, const char *key, js *value);
void js_set_string(js *object, const char *key, const char *s);
void js_set_number(js *object, const char *key, double value);
void js_set_int(js *object, const char *key, int64_t value);
void js_set_bool(js *object, const char *key, bool value);
void js_append(js *array, js *value);
void js_append_string(js *array, const char *s);
void js_append_number(js *array, double value);
void js_remove(js *object, const char *key);

/* Asking. */
bool js_is_object(const js *value);
bool js_is_array(const js *value);
bool js_is_string(const js *value);
bool js_is_number(const js *value);
bool js_is_bool(const js *value);
bool js_is_null(const js *value); /* false for NULL */
bool js_equal(const js *a, const js *b);
size_t js_length(const js *value); /* members of an array or object; else 0 */

/* Taking out: borrowed; NULL (or the fallback) where it is not there or of another type. */
js *js_get(const js *object, const char *key);
js *js_at(const js *array, size_t index);
const char *js_string(const js *value, const char *fallback);
double js_number(const js *value, double fallback);
int64_t js_int(const js *value, int64_t fallback); /* a real without a fraction counts */
bool js_bool(const js *value, bool fallback);
const char *js_get_string(const js *object, const char *key, const char *fallback);
double js_get_number(const js *object, const char *key, double fallback);
int64_t js_get_int(const js *object, const char *key, int64_t fallback);
bool js_get_bool(const js *object, const char *key, bool fallback);

/* Walking an object in the order of its making:
 *     for (struct js_member m = js_first(o); m.key != NULL; m = js_next(o, m)) … m.key, m.value … */
struct js_member {
    const char *key; /* borrowed; NULL at the end */
    js *value;       /* borrowed */
    void *position;
};
struct js_member js_first(const js *object);
struct js_member js_next(const js *object, struct js_member member);

/* One JSON value from `length` bytes and nothing else. Duplicate keys, NUL characters in strings and nesting
 * deeper than 64 are refused. Owned; NULL with `err` filled (kind ERROR_DATA). */
js *js_parse(const char *data, size_t length, struct error *err);

/* Compact, on one line, 12 significant digits, keys in the order of their making; "null" for NULL. Release
 * with free. */
char *js_text(const js *value);
/* Indented by two, ending in a newline, for people. Release with free. */
char *js_text_pretty(const js *value);
/* The same to a stream. */
void js_print(const js *value, FILE *out);

#endif
