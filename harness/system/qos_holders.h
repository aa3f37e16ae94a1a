/* SPDX-License-Identifier: Apache-2.0 */
/* Who keeps a bound on how deep idle CPUs may sleep: the processes that have /dev/cpu_dma_latency open for
 * writing, which is all that holding one takes. */
#ifndef GPUVET_SYSTEM_QOS_HOLDERS_H
#define GPUVET_SYSTEM_QOS_HOLDERS_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    QOS_MAX_NAMED = 8,           /* of the holders found; the others are counted */
    QOS_MAX_PROCESSES = 32768,   /* looked at */
    QOS_MAX_DESCRIPTORS = 4096,  /* of one process */
    QOS_MAX_ALL_FILES = 1 << 18, /* of all */
};

struct qos_holders {
    struct text names; /* "4711 tuned, 4712 cyclictest", by PID */
    size_t count;
    bool refused; /* somebody else's descriptors could not be seen */
    bool cut;     /* there was more than is looked at */
};

/* Looks through ROOT/proc ("" live): at links only, never at what they lead to, so nothing can hang. Release
 * `names`, or let qos_holders_text do it. */
void qos_holders_find(const char *root, struct qos_holders *out);

/* The fact's text, owned: the names and what could not be seen; "none found" (a driver's bound, or a process
 * outside this container). NULL: nobody found and not all could be seen, which needs root. Releases `names`.
 */
char *qos_holders_text(struct qos_holders *holders);

#endif
