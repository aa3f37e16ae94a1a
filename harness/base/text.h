/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text, lists of strings, and the small string questions that everybody asks. */
#ifndef GPUVET_BASE_TEXT_H
#define GPUVET_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Always terminated once something was added; `data` is NULL before. Owned: release with text_free. */
struct text {
    char *data;
    size_t length;
    size_t capacity;
};

void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const char *s, size_t n);
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_clear(struct text *t); /* keeps the memory */
void text_free(struct text *t);
/* The string ("" when empty), borrowed. */
const char *text_string(const struct text *t);
/* Hands the string over (release with free) and empties `t`. */
char *text_take(struct text *t);

/* A list that owns its strings. */
struct strings {
    char **items;
    size_t count;
    size_t capacity;
};

void strings_add(struct strings *list, const char *s);
void strings_addf(struct strings *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strings_split(struct strings *list, const char *s, char separator); /* "a,b" → a, b; "" → none */
/* The first place of `s`; -1: none. */
int strings_find(const struct strings *list, const char *s);
bool strings_contain(const struct strings *list, const char *s);
void strings_sort(struct strings *list);
void strings_free(struct strings *list);

bool text_starts(const char *s, const char *prefix);
bool text_ends(const char *s, const char *suffix);

/* Cuts white space off both ends, in place; returns the new start. */
char *text_trim(char *s);

/* Whole-string numbers: false for anything left over, empty, or out of range. */
bool text_to_int(const char *s, int64_t *out); /* decimal, or 0x… hexadecimal */
bool text_to_double(const char *s, double *out);

/* A figure for people: four digits, more before the point where there are more, so that 17560 is no
 * "1.756e+04"; "-" for one that does not exist. `out` is the result. */
enum { TEXT_FIGURE_SIZE = 24 };
const char *text_figure(double value, char out[TEXT_FIGURE_SIZE]);

/* fnmatch over a whole string ('*', '?', '[…]'; '/' is no special character). */
bool text_matches(const char *pattern, const char *s);

/* The candidate nearest to `word` by edit distance, or NULL when none is near enough to be meant. */
const char *text_nearest(const char *word, const char *const *candidates, size_t count);

/* `s` with control characters (and invalid UTF-8) replaced by '?': for names that come from outside and go to
 * a terminal. Release with free. */
char *text_printable(const char *s);

/* The same for a table or a list: of more than `most` bytes, the beginning and "...". Release with free. */
char *text_shown(const char *s, size_t most);

#endif
