/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void write_line(const char *label, const char *message) {
    char *clean = text_printable(message);
    struct text line = {0};
    text_addf(&line, "gpuvet: %s%s\n", label, clean);
    ssize_t n = write(STDERR_FILENO, line.data, line.length);
    (void)n; /* nobody left to tell */
    text_free(&line);
    free(clean);
}

static void write_formatted(const char *label, const char *format, va_list args) {
    char message[2048];
    vsnprintf(message, sizeof message, format, args);
    write_line(label, message);
}

void log_error(const struct error *err) {
    write_line("", err->text);
    if (getenv("GPUVET_TRACE") == NULL)
        return;
    for (int i = 0; i < err->n_frames; i++)
        fprintf(stderr, "  at %s (%s:%d)\n", err->frames[i].function, err->frames[i].file,
                err->frames[i].line);
}

void log_warning(const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_formatted("warning: ", format, args);
    va_end(args);
}

void log_note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_formatted("", format, args);
    va_end(args);
}
