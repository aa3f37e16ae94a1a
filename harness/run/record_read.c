/* SPDX-License-Identifier: Apache-2.0 */
/* Reading run files. A file may be cut anywhere, and may be anything: what a crash can leave behind (a last
 * line without its end, no footer) is tolerated and noted, everything else that is wrong is named with its
 * line. */
#include "run/record.h"

#include "base/mem.h"
#include "run/record_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Hands every whole line in `buffer` to the parser and keeps the rest. */
static bool take_lines(struct run_lines *lines, struct text *buffer, struct error *err) {
    size_t start = 0;
    const char *end;
    while (buffer->length > start &&
           (end = memchr(buffer->data + start, '\n', buffer->length - start)) != NULL) {
        size_t length = (size_t)(end - buffer->data) - start;
        if (!run_lines_take(lines, buffer->data + start, length, err))
            return false;
        start += length + 1;
    }
    if (start > 0) {
        memmove(buffer->data, buffer->data + start, buffer->length - start);
        buffer->length -= start;
    }
    if (buffer->length > RUN_MAX_LINE)
        return FAIL(err, ERROR_DATA, "%s:%zu: a line is longer than %d bytes", lines->run->path,
                    lines->number + 1, RUN_MAX_LINE);
    return true;
}

/* zlib begins its texts with "<fd:3>: ", which tells a user nothing. */
static const char *without_name(const char *text) {
    const char *end = text[0] == '<' ? strstr(text, ">: ") : NULL;
    return end != NULL ? end + 3 : text;
}

static bool unpacking_failed(gzFile file, const char *path, struct error *err) {
    int code = 0;
    const char *text = gzerror(file, &code);
    if (code == Z_OK || code == Z_STREAM_END)
        return false;
    if (code == Z_ERRNO)
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot read %s: %s", path, strerror(errno));
    else
        FAIL(err, ERROR_DATA, "cannot unpack %s: %s (damaged, or cut off)", path, without_name(text));
    return true;
}

static bool read_lines(gzFile file, struct run_lines *lines, struct error *err) {
    const char *path = lines->run->path;
    enum { CHUNK = 1 << 17 };
    char *chunk = mem_zeroed(CHUNK, 1);
    struct text buffer = {0};
    size_t total = 0;
    bool good = true;
    int n;
    while (good && (n = gzread(file, chunk, CHUNK)) > 0) {
        total += (size_t)n;
        text_add_bytes(&buffer, chunk, (size_t)n);
        good = total <= RUN_MAX_BYTES
                   ? take_lines(lines, &buffer, err)
                   : FAIL(err, ERROR_DATA, "%s is larger than %d bytes", path, RUN_MAX_BYTES);
    }
    if (good)
        good = !unpacking_failed(file, path, err);
    if (good && lines->run->header == NULL)
        good = FAIL(err, ERROR_DATA, "%s: %s; it is no run file, or the run ended before it measured", path,
                    total == 0 ? "the file is empty" : "the first line is cut off");
    lines->run->truncated_line = buffer.length > 0;
    text_free(&buffer);
    free(chunk);
    return good;
}

static gzFile open_run(const char *path, struct error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0) {
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot open the run file %s: %s", path, strerror(errno));
        return NULL;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        FAIL(err, ERROR_DATA, "%s is no regular file, so no run file", path);
        close(fd);
        return NULL;
    }
    gzFile file = gzdopen(fd, "rb");
    if (file == NULL) {
        close(fd);
        FAIL(err, ERROR_SYSTEM, "cannot read %s", path);
        return NULL;
    }
    gzbuffer(file, 1 << 17);
    return file;
}

static bool read_and_show(const char *path, void (*see)(void *, const char *, const js *), void *state,
                          struct run *out, struct error *err) {
    *out = (struct run){.path = mem_copy_string(path), .findings = js_new_array()};
    gzFile file = open_run(path, err);
    bool good = file != NULL;
    if (good) {
        struct run_lines lines = {.run = out, .see = see, .see_state = state};
        good = read_lines(file, &lines, err);
        gzclose(file);
        run_lines_finish(&lines);
    }
    if (!good)
        run_free(out);
    return good;
}

bool run_read(const char *path, struct run *out, struct error *err) {
    return read_and_show(path, NULL, NULL, out, err);
}

bool run_visit(const char *path, void (*see)(void *state, const char *key, const js *record), void *state,
               struct error *err) {
    struct run run;
    if (!read_and_show(path, see, state, &run, err))
        return RELAY(err);
    run_free(&run);
    return true;
}

static void free_series(struct series *s) {
    free(s->key);
    free(s->bench);
    free(s->metric);
    free(s->target);
    free(s->unit);
    free(s->path_class);
    free(s->values);
    free(s->rounds);
    free(s->bad_reason);
    free(s->skip_reason);
}

void run_free(struct run *run) {
    for (size_t i = 0; i < run->n_series; i++)
        free_series(&run->series[i]);
    for (size_t i = 0; i < run->n_failures; i++) {
        free(run->failures[i].key);
        free(run->failures[i].outcome);
        free(run->failures[i].reason);
    }
    run_gpus_free(run);
    free(run->failures);
    free(run->series);
    free(run->path);
    free(run->last_started);
    js_free(run->header);
    js_free(run->findings);
    js_free(run->footer);
    strings_free(&run->notes);
    *run = (struct run){0};
}

static int by_key(const void *key, const void *series) {
    return strcmp(key, ((const struct series *)series)->key);
}

const struct series *run_find(const struct run *run, const char *key) {
    return run->n_series == 0 ? NULL : bsearch(key, run->series, run->n_series, sizeof *run->series, by_key);
}
