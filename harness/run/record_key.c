/* SPDX-License-Identifier: Apache-2.0 */
/* Series keys: making, taking apart, selecting. */
#include "base/mem.h"
#include "run/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_special(unsigned char c) {
    return c < 0x20 || c == 0x7f || strchr(",;{}=@/%", c) != NULL;
}

static void add_escaped(struct text *t, const char *s) {
    for (; *s != '\0'; s++) {
        if (is_special((unsigned char)*s))
            text_addf(t, "%%%02X", (unsigned char)*s);
        else
            text_add_bytes(t, s, 1);
    }
}

struct pair {
    const char *name;
    const js *value;
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct pair *)a)->name, ((const struct pair *)b)->name);
}

static bool add_value(struct text *t, const js *value) {
    const char *string = js_string(value, NULL);
    int64_t number = js_int(value, INT64_MIN);
    if (string == NULL && number == INT64_MIN)
        return false;
    if (string != NULL)
        add_escaped(t, string);
    else
        text_addf(t, "%" PRId64, number);
    return true;
}

/* "a=1,b=x" */
static bool add_members(struct text *t, const js *object) {
    size_t n = js_is_object(object) ? js_length(object) : 0;
    struct pair *pairs = mem_zeroed(n, sizeof *pairs);
    size_t used = 0;
    for (struct js_member m = js_first(object); m.key != NULL && used < n; m = js_next(object, m))
        pairs[used++] = (struct pair){m.key, m.value};
    qsort(pairs, used, sizeof *pairs, by_name);
    bool good = true;
    for (size_t i = 0; good && i < used; i++) {
        text_add(t, i > 0 ? "," : "");
        add_escaped(t, pairs[i].name);
        text_add(t, "=");
        good = add_value(t, pairs[i].value);
    }
    free(pairs);
    return good;
}

char *series_key(const char *bench, int version, const char *metric, const char *suffix, const js *where,
                 const js *params, const char *target) {
    struct text t = {0};
    add_escaped(&t, bench);
    text_addf(&t, "@%d/", version);
    add_escaped(&t, metric);
    add_escaped(&t, suffix);
    text_add(&t, "{");
    bool good = add_members(&t, where);
    text_add(&t, ";");
    good = good && add_members(&t, params);
    text_add(&t, "}@");
    add_escaped(&t, target);
    if (good)
        return text_take(&t);
    text_free(&t);
    return NULL;
}

/* The text up to the first of `stops`, which must be `stop` and is passed over. NULL: it is not. */
static char *take_until(const char **at, const char *stops, char stop) {
    size_t n = strcspn(*at, stops);
    if ((*at)[n] != stop)
        return NULL;
    char *part = mem_copy_bytes(*at, n);
    *at += n + (stop != '\0' ? 1 : 0);
    return part;
}

static bool parse_version(const char **at, int *version) {
    char *digits = take_until(at, ",;{}=@/", '/');
    int64_t value = -1;
    bool good = digits != NULL && text_to_int(digits, &value) && value >= 0 && value <= 1000000;
    *version = good ? (int)value : 0;
    free(digits);
    return good;
}

bool key_parse(const char *key, struct key_parts *out) {
    *out = (struct key_parts){0};
    const char *at = key;
    bool good = (out->bench = take_until(&at, ",;{}=@/", '@')) != NULL && parse_version(&at, &out->version) &&
                (out->metric = take_until(&at, ",;{}=@/", '{')) != NULL &&
                (out->where = take_until(&at, ";{}@/", ';')) != NULL &&
                (out->params = take_until(&at, ";{}@/", '}')) != NULL && *at == '@';
    if (good) {
        at++;
        good = (out->target = take_until(&at, ",;{}=@/", '\0')) != NULL && out->bench[0] != '\0' &&
               out->metric[0] != '\0' && out->target[0] != '\0';
    }
    if (!good)
        key_parts_free(out);
    return good;
}

void key_parts_free(struct key_parts *parts) {
    free(parts->bench);
    free(parts->metric);
    free(parts->where);
    free(parts->params);
    free(parts->target);
    *parts = (struct key_parts){0};
}

static int hex_digit(char c) {
    const char *digits = "0123456789ABCDEF";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits);
}

char *key_unescape(const char *s) {
    struct text t = {0};
    while (*s != '\0') {
        int high = s[0] == '%' ? hex_digit(s[1]) : -1;
        int low = high >= 0 ? hex_digit(s[2]) : -1;
        char c = low >= 0 ? (char)(high * 16 + low) : *s;
        if (c != '\0')
            text_add_bytes(&t, &c, 1);
        s += low >= 0 ? 3 : 1;
    }
    return text_take(&t);
}

bool series_selected(const char *pattern, const char *key) {
    if (strpbrk(pattern, "/@") != NULL)
        return text_matches(pattern, key);
    char *bench = mem_copy_bytes(key, strcspn(key, "@"));
    bool selected = text_matches(pattern, bench);
    free(bench);
    return selected;
}
