/* SPDX-License-Identifier: Apache-2.0 */
/* The first line of a run file (docs/formats.md). */
#ifndef GPUVET_CLI_RUN_HEADER_H
#define GPUVET_CLI_RUN_HEADER_H

#include "cli/prepare.h"

struct run_header_parts {
    const struct prepared *prepared;
    bool simulated;
    const char *label; /* NULL: none */
    int64_t started;   /* ns since 1970 */
};

/* Owned. */
js *run_header(const struct run_header_parts *parts);

#endif
