/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of the test's own to make trees in, and files in it with the folders above them. */
#ifndef GPUVET_UNIT_TREE_H
#define GPUVET_UNIT_TREE_H

#include "unit/unit.h"

#include "base/files.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char tree_folder[64]; /* absolute */

/* Set-up of a test or a group: the current folder is the test's own from here on, ... */
static inline int tree_enter(void **state) {
    (void)state;
    snprintf(tree_folder, sizeof tree_folder, "/tmp/gpuvet-unit-XXXXXX");
    return mkdtemp(tree_folder) != NULL && chdir(tree_folder) == 0 ? 0 : -1;
}

/* ... and gone with all in it. */
static inline int tree_leave(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", tree_folder);
    return chdir("/") == 0 ? system(command) : -1;
}

/* A file; the folders above it need not be there yet. */
static inline void tree_put_bytes(const char *path, const void *data, size_t length) {
    struct error err = {0};
    char *above = mem_copy_string(path);
    char *slash = strrchr(above, '/');
    if (slash != NULL)
        *slash = '\0';
    if ((slash != NULL && !folder_make(above, &err)) || !file_replace(path, data, length, &err))
        fail_msg("%s", err.text);
    free(above);
}

static inline void tree_put(const char *path, const char *text) {
    tree_put_bytes(path, text, strlen(text));
}

#endif
