/* SPDX-License-Identifier: Apache-2.0 */
/* Files by name, size and time that are too large, or too many, to be read: kernel modules, firmware,
 * initial RAM disks, build logs, modprobe.d. Of a capture its files.tsv; live the few folders where a GPU
 * driver leaves such files are walked, in some milliseconds. */
#ifndef GPUVET_SYSTEM_FILE_LIST_H
#define GPUVET_SYSTEM_FILE_LIST_H

#include "system/facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listed_file {
    char
        *path; /* /usr/lib/modules and /usr/lib/firmware are written /lib/… here, as most systems link them */
    char type;           /* f d l …; '?' unknown */
    int64_t size, mtime; /* -1 unknown */
    char *link;          /* where a link points, as written; NULL: no link, or unknown */
};

struct file_list {
    struct listed_file *items; /* sorted by path */
    size_t count, capacity;
    bool known; /* false: nobody looked, so that absence means nothing */
};

/* Never fails: what cannot be listed is not in it. */
void file_list_read(const struct source *source, struct file_list *out);
void file_list_free(struct file_list *list);
const struct listed_file *file_list_find(const struct file_list *list, const char *path);
/* The first of `count` files whose path begins with `prefix`; NULL and 0: none. */
const struct listed_file *file_list_below(const struct file_list *list, const char *prefix, size_t *count);
/* Size of any file, links followed: live of the file itself, of a capture by its list. -1 unknown. */
int64_t file_list_size(const struct source *source, const struct file_list *list, const char *path);

#endif
