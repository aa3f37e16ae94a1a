/* SPDX-License-Identifier: Apache-2.0 */
/* Quiet first (measuring rule 6): before each round nothing else may use the node. And the keeper, a process
 * that holds every GPU open for the whole run and is the one that asks NVML. */
#ifndef GPUVET_RUN_QUIET_H
#define GPUVET_RUN_QUIET_H

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "run/channel.h"
#include "run/spawn.h"
#include "system/activity.h"

#include <stdbool.h>

struct quiet_gate {
    bool allow_busy;
    int64_t wait_ns;      /* how long to wait for quiet */
    bool watch_gpus;
    struct spawned keeper;
    struct channel channel; /* to the keeper */
    char keeper_reason[200]; /* why GPU activity cannot be asked; "": it can */
    struct activity last;    /* at the end of the last look */
    bool have_last;
    int64_t own_cpu_ns;      /* used by us and our ended children at that moment */
    char busy[400];          /* what the last look found; "": quiet */
};

/* Starts the keeper when GPUs are used. Never fails: a keeper that does not start is a remark. */
void quiet_open(struct quiet_gate *gate, bool allow_busy, int64_t wait_ns, bool watch_gpus);
void quiet_close(struct quiet_gate *gate);

/* Waits until the node is quiet. True: quiet, or busy but allowed (then `gate->busy` is not empty and samples are
 * to be flagged). False: ERROR_BUSY naming who, or ERROR_INTERRUPTED. `on_wait` (may be NULL) is told why. */
bool quiet_wait(struct quiet_gate *gate, struct interrupt *interrupt, void (*on_wait)(void *, const char *), void *state,
                struct error *err);

/* Marks the end of a round: what others used meanwhile is judged from here on without waiting. */
void quiet_mark(struct quiet_gate *gate);

#endif
