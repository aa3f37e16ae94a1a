/* SPDX-License-Identifier: Apache-2.0 */
/* Series keys: one string that names a series everywhere. */
#include "run/record.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Values come from drivers and users: what the key's own syntax uses, and what is not printable, is written as
 * %XX, so that no value can pass for another key. */
static void add_value(struct text *out, const char *value) {
    for (; *value != '\0'; value++) {
        unsigned char c = (unsigned char)*value;
        if (c <= ' ' || c == 0x7f || strchr("{}=,;@/%*?[]", c) != NULL)
            text_addf(out, "%%%02X", c);
        else
            text_add_bytes(out, value, 1);
    }
}

static void add_member(struct text *out, const char *key, const js *value) {
    text_addf(out, "%s=", key);
    if (js_is_string(value))
        add_value(out, js_string(value, ""));
    else if (js_is_bool(value))
        text_add(out, js_bool(value, false) ? "true" : "false");
    else
        text_addf(out, "%" PRId64, js_int(value, 0));
}

static void add_sorted(struct text *out, const js *object) {
    struct strings names = {0};
    for (struct js_member m = js_first(object); m.key != NULL; m = js_next(object, m))
        strings_add(&names, m.key);
    strings_sort(&names);
    for (size_t i = 0; i < names.count; i++) {
        if (i > 0)
            text_add(out, ",");
        add_member(out, names.items[i], js_get(object, names.items[i]));
    }
    strings_free(&names);
}

char *series_key(const char *bench, int version, const char *metric, const char *suffix, const js *where,
                 const js *params, const char *target) {
    struct text key = {0};
    text_addf(&key, "%s@%d/%s%s{", bench, version, metric, suffix);
    add_sorted(&key, where);
    text_add(&key, ";");
    add_sorted(&key, params);
    text_addf(&key, "}@%s", target);
    return text_take(&key);
}

bool series_selected(const char *pattern, const char *key) {
    if (strpbrk(pattern, "@/") != NULL)
        return text_matches(pattern, key);
    char *bench = mem_copy_bytes(key, strcspn(key, "@"));
    bool matches = text_matches(pattern, bench);
    free(bench);
    return matches;
}
