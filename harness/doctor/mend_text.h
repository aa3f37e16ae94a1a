/* SPDX-License-Identifier: Apache-2.0 */
/* Editing the text of an LXC configuration, line by line: what is not named stays as it is, to the byte. Text
 * in, text out; nothing here opens a file. */
#ifndef GPUVET_DOCTOR_MEND_TEXT_H
#define GPUVET_DOCTOR_MEND_TEXT_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* How the file is written: Proxmox's has "key: value" (and "key = value") and ends, for what counts, at the
 * first [section]; plain LXC's has "key = value". */
enum mend_format { MEND_PLAIN, MEND_PROXMOX };

struct mend_edit {
    char *file;
    int line;   /* counted from 1. An addition goes after it; 0: at the end of what counts */
    char *from; /* the major as it is written there; NULL: an addition */
    char *to;   /* the number that takes its place; or the whole new line, without its end */
};

struct mend_edits {
    struct mend_edit *items;
    size_t count, capacity;
};
/* Copies its texts. */
void mend_edits_add(struct mend_edits *edits, const char *file, int line, const char *from, const char *to);
void mend_edits_free(struct mend_edits *edits);

/* A line that stays (' '), is gone ('-') or new ('+'). `text` has its line end. */
struct mend_line {
    char kind;
    char *text;
    size_t length;
};
struct mend_lines {
    struct mend_line *items;
    size_t count, capacity;
};

/* All lines of `text`, with the edits of `file` made. Comments, order, spacing, line ends and a missing one
 * at the end stay. Refused (ERROR_DATA) when a line is not what an edit takes it for, or there is a NUL. */
bool mend_lines_make(const char *text, size_t length, enum mend_format format, const struct mend_edits *edits,
                     const char *file, struct mend_lines *out, struct error *err);
void mend_lines_free(struct mend_lines *lines);
/* One more line, for a file whose lines are not made by edits. */
void mend_lines_add(struct mend_lines *lines, char kind, const char *text, size_t length);

/* The new text. */
void mend_lines_text(const struct mend_lines *lines, struct text *out);
/* The difference, unified, three lines around, for people and for patch(1); nothing where nothing changed. */
void mend_lines_diff(const struct mend_lines *lines, const char *before, const char *after, struct text *out);

#endif
