/* SPDX-License-Identifier: Apache-2.0 */
/* files.tsv of a capture: every file that was looked at, also those that were not copied (libraries, modules,
 * firmware, what could not be read). look.h asks it, so that a listing or a question whether a file exists
 * has the same answer in a capture as on the machine. */
#ifndef GPUVET_SYSTEM_FILES_TABLE_H
#define GPUVET_SYSTEM_FILES_TABLE_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_entry {
    char *path;
    char type;           /* c b f d l s p; '?' unknown */
    int mode;            /* permission bits; -1 unknown */
    int64_t uid, gid;    /* -1 unknown */
    int64_t size, mtime; /* -1 unknown */
    char *target;        /* of a link; "" none */
    int why;             /* errno of the attempt to read it; 0: it was read, or nobody tried */
};

struct files_table {
    struct file_entry *items; /* sorted by path, each path once */
    size_t count, capacity;
};

/* Lines of path, type, mode, uid, gid, size, mtime, link target, and the errno name of a refused reading;
 * trailing columns may be missing. `text` is hostile. */
bool files_table_parse(const char *text, struct files_table *out, struct error *err);
void files_table_free(struct files_table *table);
/* NULL: nobody looked there. `table` may be NULL. */
const struct file_entry *files_table_find(const struct files_table *table, const char *path);
/* Adds the names in folder `path` that the table knows until `names` has `most`; a name may come twice. */
void files_table_names(const struct files_table *table, const char *path, size_t most, struct strings *names);

/* \t \n \\ in names: adds `s` escaped; undoes it in place. */
void table_escape(struct text *out, const char *s);
void table_unescape(char *s);
/* Permission bits in octal, with or without a leading 0; -1: none. */
int table_mode(const char *s);

#endif
