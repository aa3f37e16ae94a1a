/* SPDX-License-Identifier: Apache-2.0 */
/* Files: bounded reading, whole-or-nothing writing, lines that are synced. */
#ifndef GPUVET_BASE_FILES_H
#define GPUVET_BASE_FILES_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the file's bytes to `out`, at most `limit`. Anything but a regular file is refused (a FIFO or
 * device would block), and so is a larger one. */
bool file_read(const char *path, size_t limit, struct text *out, struct error *err);

/* Writes beside the target, syncs, renames: readers see the old file or the new one. A link to a file is
 * replaced itself; what is no file, or leads to none, or into /proc, is refused and stays. */
bool file_replace(const char *path, const char *data, size_t length, struct error *err);

/* mkdir -p, new folders with mode 0755 less the umask. */
bool folder_make(const char *path, struct error *err);

/* Appends what is left of `fd` to `out`; more than `limit` is an error. `path` is for the error's words. */
bool fd_read_all(int fd, const char *path, size_t limit, struct text *out, struct error *err);

/* All bytes or an error; `fd` may be a pipe. */
bool fd_write_all(int fd, const char *data, size_t length, struct error *err);

/* "dir/name", without a doubled slash. Release with free. */
char *path_join(const char *dir, const char *name);

#endif
