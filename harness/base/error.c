/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void printable(char *s) {
    for (; *s != '\0'; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = '?';
}

/* A text too long for the room loses its middle: it begins with what and where, and ends with what to do. */
static void format_within(char *out, size_t size, const char *format, va_list args) {
    static const char cut[] = " [...] ";
    va_list again;
    va_copy(again, args);
    int whole = vsnprintf(out, size, format, args);
    char *all = whole >= 0 && (size_t)whole >= size ? malloc((size_t)whole + 1) : NULL;
    if (all != NULL) {
        const size_t tail = size / 3;
        vsnprintf(all, (size_t)whole + 1, format, again);
        char *at = out + size - tail - sizeof cut; /* the NUL of `cut` makes room for the text's own */
        memcpy(at, cut, sizeof cut - 1);
        memcpy(at + sizeof cut - 1, all + (size_t)whole - tail, tail + 1);
        free(all);
    }
    va_end(again);
}

__attribute__((format(printf, 3, 4))) static void join_within(char *out, size_t size, const char *format,
                                                              ...) {
    va_list args;
    va_start(args, format);
    format_within(out, size, format, args);
    va_end(args);
}

bool error_relay(struct error *err, const char *file, int line, const char *function) {
    if (err->n_frames < ERROR_MAX_FRAMES)
        err->frames[err->n_frames++] = (struct error_frame){file, line, function};
    return false;
}

bool error_set(struct error *err, enum error_kind kind, long native, const char *file, int line,
               const char *function, const char *format, ...) {
    /* Built aside first: the arguments may point into the very error that is being replaced. */
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    format_within(text, sizeof text, format, args);
    va_end(args);
    printable(text);
    *err = (struct error){.kind = kind, .native = native};
    memcpy(err->text, text, sizeof text);
    return error_relay(err, file, line, function);
}

bool error_context(struct error *err, const char *format, ...) {
    char context[sizeof err->text];
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    format_within(context, sizeof context, format, args);
    va_end(args);
    join_within(text, sizeof text, "%s: %s", context, err->text);
    printable(text);
    memcpy(err->text, text, sizeof text);
    return false;
}

void error_clear(struct error *err) {
    *err = (struct error){.kind = ERROR_NONE};
}
