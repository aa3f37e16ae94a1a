/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct text *t, size_t more) {
    if (t->length + more + 1 <= t->capacity)
        return;
    t->capacity = (t->length + more + 1) * 2;
    t->data = mem_resize(t->data, t->capacity, 1);
}

void text_add_bytes(struct text *t, const char *s, size_t n) {
    reserve(t, n);
    if (n > 0)
        memcpy(t->data + t->length, s, n);
    t->length += n;
    t->data[t->length] = '\0';
}

void text_add(struct text *t, const char *s) {
    text_add_bytes(t, s, strlen(s));
}

static void add_formatted(struct text *t, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (n < 0)
        return;
    reserve(t, (size_t)n);
    vsnprintf(t->data + t->length, (size_t)n + 1, format, args);
    t->length += (size_t)n;
}

void text_addf(struct text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_formatted(t, format, args);
    va_end(args);
}

void text_clear(struct text *t) {
    t->length = 0;
    if (t->data != NULL)
        t->data[0] = '\0';
}

void text_free(struct text *t) {
    free(t->data);
    *t = (struct text){0};
}

const char *text_string(const struct text *t) {
    return t->data == NULL ? "" : t->data;
}

char *text_take(struct text *t) {
    char *s = t->data == NULL ? mem_copy_string("") : t->data;
    *t = (struct text){0};
    return s;
}

static void strings_own(struct strings *list, char *s) {
    list->items = mem_grow(list->items, list->count, &list->capacity, sizeof *list->items);
    list->items[list->count++] = s;
}

void strings_add(struct strings *list, const char *s) {
    strings_own(list, mem_copy_string(s));
}

void strings_addf(struct strings *list, const char *format, ...) {
    struct text t = {0};
    va_list args;
    va_start(args, format);
    add_formatted(&t, format, args);
    va_end(args);
    strings_own(list, text_take(&t));
}

void strings_split(struct strings *list, const char *s, char separator) {
    while (*s != '\0') {
        const char *end = strchr(s, separator);
        size_t n = end == NULL ? strlen(s) : (size_t)(end - s);
        strings_own(list, mem_copy_bytes(s, n));
        s += n + (end != NULL ? 1 : 0);
    }
}

int strings_find(const struct strings *list, const char *s) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], s) == 0)
            return (int)i;
    return -1;
}

bool strings_contain(const struct strings *list, const char *s) {
    return strings_find(list, s) >= 0;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void strings_sort(struct strings *list) {
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, by_text);
}

void strings_free(struct strings *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct strings){0};
}

bool text_starts(const char *s, const char *prefix) {
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *s, const char *suffix) {
    size_t n = strlen(s);
    size_t m = strlen(suffix);
    return n >= m && strcmp(s + n - m, suffix) == 0;
}

char *text_trim(char *s) {
    while (isspace((unsigned char)*s))
        s++;
    size_t n = strlen(s);
    while (n > 0 && isspace((unsigned char)s[n - 1]))
        n--;
    s[n] = '\0';
    return s;
}

bool text_to_int(const char *s, int64_t *out) {
    if (*s == '\0' || isspace((unsigned char)*s))
        return false;
    const char *digits = s[0] == '-' || s[0] == '+' ? s + 1 : s;
    bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    char *end = NULL;
    errno = 0;
    long long value = strtoll(s, &end, hex ? 16 : 10);
    if (errno != 0 || *end != '\0')
        return false;
    *out = value;
    return true;
}

bool text_to_double(const char *s, double *out) {
    if (*s == '\0' || isspace((unsigned char)*s))
        return false;
    char *end = NULL;
    errno = 0;
    double value = strtod(s, &end);
    if (errno != 0 || *end != '\0' || !isfinite(value))
        return false;
    *out = value;
    return true;
}

const char *text_figure(double value, char out[TEXT_FIGURE_SIZE]) {
    static const double least = 9999.5, most = 1e15; /* between them %.4g would write an exponent */
    bool whole = fabs(value) >= least && fabs(value) < most;
    if (isfinite(value))
        snprintf(out, TEXT_FIGURE_SIZE, whole ? "%.0f" : "%.4g", value);
    else
        snprintf(out, TEXT_FIGURE_SIZE, "-");
    return out;
}

bool text_matches(const char *pattern, const char *s) {
    return fnmatch(pattern, s, 0) == 0;
}

static size_t smallest(size_t a, size_t b, size_t c) {
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein distance, one row at a time. */
static size_t edit_distance(const char *a, const char *b) {
    size_t n = strlen(b);
    size_t *row = mem_zeroed(n + 1, sizeof *row);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t above = row[j + 1];
            row[j + 1] = smallest(above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1));
            diagonal = above;
        }
    }
    size_t distance = row[n];
    free(row);
    return distance;
}

const char *text_nearest(const char *word, const char *const *candidates, size_t count) {
    const char *best = NULL;
    /* A third of the word may be wrong; a prefix of a candidate is always meant. */
    size_t limit = strlen(word) / 3 + 1;
    if (strlen(word) > 200)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t d = edit_distance(word, candidates[i]);
        if (d > 1 && strlen(word) >= 3 && text_starts(candidates[i], word))
            d = 1;
        if (d <= limit && (best == NULL || d < limit)) {
            best = candidates[i];
            limit = d;
        }
    }
    return best;
}

/* Length of the valid UTF-8 sequence at `s`, 0 when there is none. The second byte's range shuts out overlong
 * forms, surrogates and what is beyond U+10FFFF. */
static size_t utf8_length(const unsigned char *s) {
    unsigned char low = 0x80, high = 0xbf;
    size_t n = 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        n = 2;
    else if (s[0] >= 0xe0 && s[0] <= 0xef)
        n = 3;
    else if (s[0] >= 0xf0 && s[0] <= 0xf4)
        n = 4;
    else
        return 0;
    if (s[0] == 0xe0)
        low = 0xa0;
    else if (s[0] == 0xed)
        high = 0x9f;
    else if (s[0] == 0xf0)
        low = 0x90;
    else if (s[0] == 0xf4)
        high = 0x8f;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* What changes how a terminal shows the text after it: C0, DEL, C1 (U+0080 to U+009F), line and paragraph
 * separators, and marks that turn the direction of writing. */
static bool is_control(const unsigned char *u, size_t n) {
    if (n == 1)
        return u[0] < 0x20 || u[0] == 0x7f;
    if (n == 2)
        return u[0] == 0xc2 && u[1] < 0xa0;
    if (n != 3 || u[0] != 0xe2)
        return false;
    return (u[1] == 0x80 && (u[2] == 0x8e || u[2] == 0x8f || (u[2] >= 0xa8 && u[2] <= 0xae))) ||
           (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9);
}

char *text_printable(const char *s) {
    struct text t = {0};
    while (*s != '\0') {
        const unsigned char *u = (const unsigned char *)s;
        size_t n = utf8_length(u);
        if (n == 0 || is_control(u, n))
            text_add(&t, "?");
        else
            text_add_bytes(&t, s, n);
        s += n == 0 ? 1 : n;
    }
    return text_take(&t);
}

char *text_shown(const char *s, size_t most) {
    char *clean = text_printable(s);
    if (strlen(clean) <= most || most < 3)
        return clean;
    size_t end = most - 3;
    while (end > 0 && ((unsigned char)clean[end] & 0xc0) == 0x80) /* not in the middle of a character */
        end--;
    memcpy(clean + end, "...", 4);
    return clean;
}
