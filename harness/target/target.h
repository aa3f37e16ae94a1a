/* SPDX-License-Identifier: Apache-2.0 */
/* Where a worker runs: an argv prefix that is put before the program. The host has none. */
#ifndef GPUVET_TARGET_TARGET_H
#define GPUVET_TARGET_TARGET_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>

struct target {
    char *name;            /* "host", or TYPE:NAME as given to --in; owned */
    struct strings prefix; /* argv before the program's own */
};

/* From what was given to --in. False with `err` for a kind that is not known. */
bool target_parse(const char *text, struct target *out, struct error *err);
void target_free(struct target *target);

/* The whole argv of a worker there: prefix, program, "worker", options. Added to `argv`. */
void target_worker_argv(const struct target *target, bool facts, struct strings *argv);

#endif
