/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at files below a source's root: live it is "/", in a capture every path is resolved as if DIR/root
 * were "/", links and ".." included. Nothing here blocks on an odd file: only regular files are read, and at
 * most so many bytes of them. Paths begin with '/'. What cannot be had is NULL, false or empty with errno
 * set. */
#ifndef GPUVET_SYSTEM_LOOK_H
#define GPUVET_SYSTEM_LOOK_H

#include "base/text.h"
#include "system/facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOOK_SMALL = 4096, LOOK_LARGE = 256 * 1024, LOOK_MAX_ENTRIES = 16384 };

/* Appends the file's first `limit` bytes. */
bool look_bytes(const struct source *source, const char *path, size_t limit, struct text *out);

/* The whole of a small file without white space at its ends; what is longer than LOOK_SMALL is cut. NULL when
 * it cannot be read or is empty. Release with free. */
char *look_text(const struct source *source, const char *path);

/* The same as a fact: `why` is "needs root" where permission is lacking, NULL where the file is not there. */
struct fact look_fact(const struct source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct fact_number look_number(const struct source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Names in a folder, sorted, without "." and ".."; false when it cannot be listed. */
bool look_list(const struct source *source, const char *path, struct strings *out);

/* Where a link points, as written there. NULL: no link. Release with free. */
char *look_link(const struct source *source, const char *path);

bool look_exists(const struct source *source, const char *path);

/* A path descriptor (O_PATH) for `path` below the folder `root_fd`, found by walking one name at a time, for
 * kernels without openat2. With `follow` false a link at the end is not followed. -1 with errno. */
int look_walk(int root_fd, const char *path, bool follow);

/* The value in the first line "name: value" of `text`, without white space around. NULL: no such line.
 * Release with free. */
char *look_field(const char *text, const char *name);

/* The bracketed word of "always [madvise] never"; the text itself when there is no bracket. In place. */
char *look_choice(char *text);

/* Many values to one: "performance", or "performance:60,powersave:4" where they differ. */
struct tally {
    struct {
        char *value;
        size_t count;
    } rows[16];
    size_t n_rows;
    bool refused; /* permission was lacking somewhere */
};
void tally_add(struct tally *tally, struct fact fact); /* takes `fact` over */
struct fact tally_take(struct tally *tally);           /* and empties it */

#endif
