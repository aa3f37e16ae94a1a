/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void printable(char *s) {
    for (; *s != '\0'; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = '?';
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
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printable(text);
    *err = (struct error){.kind = kind, .native = native};
    memcpy(err->text, text, sizeof text);
    return error_relay(err, file, line, function);
}

bool error_context(struct error *err, const char *format, ...) {
    char text[sizeof err->text * 2];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(text, sizeof err->text, format, args);
    va_end(args);
    size_t at = used < 0 ? 0 : (size_t)used < sizeof err->text ? (size_t)used : sizeof err->text - 1;
    snprintf(text + at, sizeof text - at, ": %s", err->text);
    printable(text);
    memcpy(err->text, text, sizeof err->text - 1);
    err->text[sizeof err->text - 1] = '\0';
    return false;
}

void error_clear(struct error *err) {
    *err = (struct error){.kind = ERROR_NONE};
}
