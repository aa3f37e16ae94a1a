/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/mend_text.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 3 };

void mend_edits_add(struct mend_edits *edits, const char *file, int line, const char *from, const char *to) {
    edits->items = mem_grow(edits->items, edits->count, &edits->capacity, sizeof *edits->items);
    edits->items[edits->count++] = (struct mend_edit){.file = mem_copy_string(file),
                                                      .line = line,
                                                      .from = mem_copy_string(from),
                                                      .to = mem_copy_string(to)};
}

void mend_edits_free(struct mend_edits *edits) {
    for (size_t i = 0; i < edits->count; i++) {
        free(edits->items[i].file);
        free(edits->items[i].from);
        free(edits->items[i].to);
    }
    free(edits->items);
    *edits = (struct mend_edits){0};
}

void mend_lines_add(struct mend_lines *lines, char kind, const char *text, size_t length) {
    lines->items = mem_grow(lines->items, lines->count, &lines->capacity, sizeof *lines->items);
    lines->items[lines->count++] =
        (struct mend_line){.kind = kind, .text = mem_copy_bytes(text, length), .length = length};
}

void mend_lines_free(struct mend_lines *lines) {
    for (size_t i = 0; i < lines->count; i++)
        free(lines->items[i].text);
    free(lines->items);
    *lines = (struct mend_lines){0};
}

/* ---- one line ---- */

static size_t line_length(const char *s, size_t left) {
    const char *end = memchr(s, '\n', left);
    return end == NULL ? left : (size_t)(end - s) + 1;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Where the major stands in "key: c 504:* rwm", when it is `from`; NULL: the line is another. */
static const char *find_major(const char *s, size_t length, enum mend_format format, const char *from) {
    const char *end = s + length;
    const char *at = s;
    while (at < end && *at != '=' && (format != MEND_PROXMOX || *at != ':'))
        at++;
    if (at == end)
        return NULL;
    for (at++; at < end && isspace((unsigned char)*at);) /* trimmed when it is read */
        at++;
    while (at < end && !is_blank(*at) && *at != '\n') /* the type */
        at++;
    while (at < end && is_blank(*at))
        at++;
    size_t n = strlen(from);
    return n > 0 && (size_t)(end - at) > n && memcmp(at, from, n) == 0 && at[n] == ':' ? at : NULL;
}

/* "\r\n", "\n" or "" as this line ends. */
static const char *line_end(const char *s, size_t length) {
    if (length == 0 || s[length - 1] != '\n')
        return "";
    return length > 1 && s[length - 2] == '\r' ? "\r\n" : "\n";
}

/* ---- the whole ---- */

struct walk {
    enum mend_format format;
    const struct mend_edits *edits;
    const char *file;
    const char *usual_end; /* of the first line */
    size_t made;
    struct mend_lines *out;
};

static bool is_for(const struct walk *w, const struct mend_edit *edit) {
    return strcmp(edit->file, w->file) == 0;
}

/* The replacement for line `number`, or the line as it is. */
static bool take_line(struct walk *w, int number, const char *s, size_t length, struct error *err) {
    struct text changed = {0};
    const struct mend_edit *found = NULL;
    for (size_t i = 0; i < w->edits->count; i++) {
        const struct mend_edit *edit = &w->edits->items[i];
        if (is_for(w, edit) && edit->from != NULL && edit->line == number)
            found = edit;
    }
    if (found == NULL) {
        mend_lines_add(w->out, ' ', s, length);
        return true;
    }
    const char *at = find_major(s, length, w->format, found->from);
    if (at == NULL)
        return FAIL(err, ERROR_DATA, "%s line %d is not the rule for major %s that it was", w->file, number,
                    found->from);
    size_t before = (size_t)(at - s);
    size_t after = before + strlen(found->from);
    text_add_bytes(&changed, s, before);
    text_add(&changed, found->to);
    text_add_bytes(&changed, s + after, length - after);
    mend_lines_add(w->out, '-', s, length);
    mend_lines_add(w->out, '+', text_string(&changed), changed.length);
    text_free(&changed);
    w->made++;
    return true;
}

/* Adds a new line behind what is there. Where that has no end, it gets one and the new one has none. */
static void add_new(struct walk *w, const char *line) {
    struct text text = {0};
    const char *end = w->usual_end;
    struct mend_line *last = w->out->count > 0 ? &w->out->items[w->out->count - 1] : NULL;
    if (last != NULL) {
        const char *its = line_end(last->text, last->length);
        if (its[0] == '\0') {
            text_add_bytes(&text, last->text, last->length);
            text_add(&text, end);
            if (last->kind == ' ') {
                last->kind = '-';
                mend_lines_add(w->out, '+', text_string(&text), text.length);
            } else {
                free(last->text);
                last->length = text.length;
                last->text = mem_copy_bytes(text_string(&text), text.length);
            }
            end = "";
        } else {
            end = its;
        }
    }
    text_clear(&text);
    text_addf(&text, "%s%s", line, end);
    mend_lines_add(w->out, '+', text_string(&text), text.length);
    text_free(&text);
    w->made++;
}

static void take_additions(struct walk *w, int number, int end_number) {
    for (size_t i = 0; i < w->edits->count; i++) {
        const struct mend_edit *edit = &w->edits->items[i];
        int after = edit->line == 0 ? end_number : edit->line;
        if (is_for(w, edit) && edit->from == NULL && after == number)
            add_new(w, edit->to);
    }
}

/* The last line that is not empty before the first section; 0: there is none. */
static int end_of_what_counts(const char *text, size_t length, enum mend_format format) {
    int number = 0, last = 0;
    for (size_t at = 0; at < length;) {
        size_t n = line_length(text + at, length - at);
        size_t first = 0;
        number++;
        while (first < n && strchr(" \t\r\n\v\f", text[at + first]) != NULL)
            first++;
        if (format == MEND_PROXMOX && first < n && text[at + first] == '[')
            return last;
        if (first < n)
            last = number;
        at += n;
    }
    return last;
}

static size_t count_for(const struct walk *w) {
    size_t n = 0;
    for (size_t i = 0; i < w->edits->count; i++)
        n += is_for(w, &w->edits->items[i]);
    return n;
}

bool mend_lines_make(const char *text, size_t length, enum mend_format format, const struct mend_edits *edits,
                     const char *file, struct mend_lines *out, struct error *err) {
    struct walk w = {.format = format, .edits = edits, .file = file, .out = out};
    int number = 0;
    *out = (struct mend_lines){0};
    if (length > 0 && memchr(text, '\0', length) != NULL)
        return FAIL(err, ERROR_DATA, "%s has a NUL byte: no configuration that can be edited", file);
    int end = end_of_what_counts(text, length, format);
    w.usual_end = length > 0 ? line_end(text, line_length(text, length)) : "\n";
    if (w.usual_end[0] == '\0')
        w.usual_end = "\n";
    take_additions(&w, 0, end);
    for (size_t at = 0; at < length;) {
        size_t n = line_length(text + at, length - at);
        if (!take_line(&w, ++number, text + at, n, err))
            return RELAY(err);
        take_additions(&w, number, end);
        at += n;
    }
    if (w.made != count_for(&w))
        return FAIL(err, ERROR_DATA, "%s has fewer lines than it had", file);
    return true;
}

void mend_lines_text(const struct mend_lines *lines, struct text *out) {
    text_add(out, "");
    for (size_t i = 0; i < lines->count; i++)
        if (lines->items[i].kind != '-')
            text_add_bytes(out, lines->items[i].text, lines->items[i].length);
}

/* ---- the difference ---- */

static void print_line(const struct mend_line *line, struct text *out) {
    text_add_bytes(out, &line->kind, 1);
    text_add_bytes(out, line->text, line->length);
    if (line_end(line->text, line->length)[0] == '\0')
        text_add(out, "\n\\ No newline at end of file\n");
}

/* From the first changed line at or after `from`: a hunk [*begin, *end). False: no more. */
static bool next_hunk(const struct mend_lines *lines, size_t from, size_t *begin, size_t *end) {
    size_t first = from;
    while (first < lines->count && lines->items[first].kind == ' ')
        first++;
    if (first == lines->count)
        return false;
    size_t last = first;
    for (size_t i = first; i < lines->count && i - last <= 2 * AROUND + 1; i++)
        if (lines->items[i].kind != ' ')
            last = i;
    *begin = first - from > AROUND ? first - AROUND : from;
    *end = last + 1 + AROUND < lines->count ? last + 1 + AROUND : lines->count;
    return true;
}

/* "12,3": where it begins and how many; patch wants the line before where there are none. */
static void print_range(char sign, size_t begin, size_t count, struct text *out) {
    text_addf(out, "%c%zu", sign, count == 0 ? begin - 1 : begin);
    if (count != 1)
        text_addf(out, ",%zu", count);
}

static size_t count_lines(const struct mend_lines *lines, size_t begin, size_t end, char without) {
    size_t n = 0;
    for (size_t i = begin; i < end; i++)
        n += lines->items[i].kind != without;
    return n;
}

void mend_lines_diff(const struct mend_lines *lines, const char *before, const char *after,
                     struct text *out) {
    size_t begin = 0, end = 0, at = 0;
    for (bool first = true; next_hunk(lines, at, &begin, &end); at = end, first = false) {
        if (first)
            text_addf(out, "--- %s\n+++ %s\n", before, after);
        text_add(out, "@@ ");
        print_range('-', 1 + count_lines(lines, 0, begin, '+'), count_lines(lines, begin, end, '+'), out);
        text_add(out, " ");
        print_range('+', 1 + count_lines(lines, 0, begin, '-'), count_lines(lines, begin, end, '-'), out);
        text_add(out, " @@\n");
        for (size_t i = begin; i < end; i++)
            print_line(&lines->items[i], out);
    }
}
