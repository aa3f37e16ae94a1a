/* SPDX-License-Identifier: Apache-2.0 */
/* Quiet first: before each round nothing else may use the node. And the keeper, a process
 * that holds every GPU open for the whole run and is the one that asks NVML. */
#ifndef GPUVET_RUN_QUIET_H
#define GPUVET_RUN_QUIET_H

#include "base/error.h"
#include "run/channel.h"
#include "run/spawn.h"
#include "system/activity.h"

#include <stdbool.h>

struct quiet_gate {
    bool allow_busy;
    int64_t wait_ns; /* how long to wait for quiet */
    struct spawned keeper;
    struct text answers;     /* of the keeper, not yet read as lines */
    char keeper_reason[200]; /* what the keeper could not do, or why it is gone */
    bool uses_gpus;
    char unasked[240];    /* why nobody could be asked who uses the GPUs; "": asked, or no GPU is used */
    struct activity last; /* at the end of the last round, or of the last look */
    bool have_last;
    bool told_blind;      /* that CPU times are not known was said */
    bool own_round;       /* since then our own round ran: a GPU's utilisation would be ours */
    int64_t ended_cpu_ns; /* CPU time of our ended children then */
    char busy[400];       /* what the last look found; "": quiet */
    double steal;         /* share of the CPUs' time that the hypervisor took meanwhile; NAN unknown */
    double steal_before;  /* the same from the end of the round before, or of two seconds before the first */
};

/* Starts the keeper when GPUs are used. Never fails: a keeper that does not start is remarked in
 * keeper_reason. */
void quiet_open(struct quiet_gate *gate, bool allow_busy, int64_t wait_ns, bool uses_gpus);
void quiet_close(struct quiet_gate *gate);

/* Waits until the node is quiet. True: quiet, or busy but allowed (then `gate->busy` is not empty and samples
 * are to be flagged). False: ERROR_BUSY naming who, or ERROR_INTERRUPTED. `on_wait` (may be NULL) is told
 * why. */
bool quiet_wait(struct quiet_gate *gate, struct interrupt *interrupt, void (*on_wait)(void *, const char *),
                void *state, struct error *err);

/* Marks the start of a time in which only we should run: what others use from here on is judged by the next
 * quiet_wait without waiting, as our own use is known. */
void quiet_mark(struct quiet_gate *gate);

/* The counters of these GPUs (an array of UUIDs) as the keeper reads them now, and with `whole` how they are
 * otherwise: an object by UUID, owned. NULL when there is no keeper or it does not answer. For the moments
 * between items only: it takes the driver's lock. */
js *quiet_counters(struct quiet_gate *gate, const js *uuids, bool whole);

/* What one reading says against quiet; "" when nothing does. For tests. */
void quiet_judge_cpu(const struct activity_report *report, char *out, size_t size);
void quiet_judge_gpus(const js *activity, bool own_round, struct text *out);

#endif
