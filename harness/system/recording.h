/* SPDX-License-Identifier: Apache-2.0 */
/* What was looked at while facts were read and rules judged, with the bytes that they saw: what a capture
 * consists of. look.c fills it, so that the writer of captures cannot drift from the readers. */
#ifndef GPUVET_SYSTEM_RECORDING_H
#define GPUVET_SYSTEM_RECORDING_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct recorded {
    char *path;
    char *bytes; /* what was read, terminated; NULL: it was not read */
    size_t length;
    int why;     /* errno of a refused reading */
    bool listed; /* a folder whose names were asked for */
};

struct recording {
    struct recorded *items; /* sorted by path */
    size_t count, capacity;
    size_t bytes; /* in all */
    bool cut;     /* it was too much */
};

/* A file that was read (`why` 0), or was refused (`why` the errno); one that is not there is no entry. Copies
 * `bytes`; read twice, the longer reading stays. */
void recording_read(struct recording *recording, const char *path, const char *bytes, size_t length, int why);
/* A folder that was listed: each of its names becomes an entry too. */
void recording_list(struct recording *recording, const char *path, const struct strings *names);
/* A path that was only asked for (does it exist, where does it lead). */
void recording_path(struct recording *recording, const char *path);
void recording_free(struct recording *recording);

#endif
