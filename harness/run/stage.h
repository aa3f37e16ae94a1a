/* SPDX-License-Identifier: Apache-2.0 */
/* What the measuring process is at, in a page that its supervisor can read when the process itself can say
 * nothing any more: stopped, or waiting for ever. Cases find it on the shelf. */
#ifndef GPUVET_RUN_STAGE_H
#define GPUVET_RUN_STAGE_H

#include <stddef.h>

#define STAGE_ON_SHELF "stage"

struct stage;

/* Shared with processes forked later. NULL when there is no memory for it: then nobody says anything. */
struct stage *stage_make(void);
void stage_free(struct stage *stage); /* NULL allowed */

/* "rank 1 has not joined"; "" forgets. `stage` may be NULL. One writer at a time. */
void stage_set(struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Printable, terminated, "" where nothing was said. */
void stage_get(const struct stage *stage, char *out, size_t size);

#endif
