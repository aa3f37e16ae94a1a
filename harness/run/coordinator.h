/* SPDX-License-Identifier: Apache-2.0 */
/* The process that never touches CUDA: round by round it starts a fresh worker in each target, hands it the
 * items of the plan, and writes down what comes back. */
#ifndef GPUVET_RUN_COORDINATOR_H
#define GPUVET_RUN_COORDINATOR_H

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "run/plan.h"
#include "run/probe.h"
#include "run/quiet.h"
#include "run/record.h"
#include "run/session.h"
#include "run/spawn.h"
#include "target/target.h"

#include <stdbool.h>

struct outcome_counts {
    int ok, fail, skip, hang, error;
};

/* What somebody who watches wants to know; every pointer may be NULL. */
struct run_view {
    void *state;
    void (*on_round)(void *state, int round, int rounds);
    void (*on_start)(void *state, const struct plan_item *item, int round);
    /* The verdict on an item that hangs; its record follows when node and control are looked at. */
    void (*on_hang)(void *state, const struct plan_item *item, const char *reason);
    void (*on_record)(void *state, const struct plan_item *item, int round, const js *record);
    void (*on_wait)(void *state, const char *why);
    void (*on_end)(void *state); /* no item comes any more, the footer is next */
};

/* One place to measure in. Its plan has the same items as the others' of the same machine. */
struct run_place {
    struct target *target;
    const struct plan *plan;
    const char *cuda_broken; /* why CUDA does not start although there are GPUs; NULL: it does */

    struct session session;
    char lost[1024]; /* why no worker could be had there in this round; "": it could */
};

struct coordinator {
    struct clock *clock;
    struct run_place *places;
    size_t n_places;
    struct run_writer *writer;
    struct quiet_gate *quiet; /* NULL: not gated (simulated) */
    struct interrupt *interrupt;
    struct run_view view;
    bool simulate;
    const struct strings *effects; /* "PATTERN=FACTOR", for simulated runs */

    /* filled while running */
    struct outcome_counts counts;
    int rounds_done;
    struct strings wedged; /* GPUs that a process holds which cannot be killed: left alone in all places */
};

/* Asks the target what it is. `cuda` may say that CUDA is broken there. */
bool coordinator_probe(struct target *target, struct interrupt *interrupt, struct node *node,
                       struct cuda_probe *cuda, struct error *err);

/* The findings of the rules as each side sees them, written by the caller; asks `target`. NULL with `err`.
 * Owned.
 */
js *coordinator_doctor(struct target *target, struct interrupt *interrupt, struct error *err);

/* Runs the plans, round by round in alternating order (first, second, second, first). True when all rounds
 * were done (whatever their outcomes); false with ERROR_INTERRUPTED, ERROR_BUSY, or the failure to write. The
 * footer is written in every case but a failure to write. */
bool coordinator_run(struct coordinator *c, struct error *err);

/* Variables that travel with every item: CUDA_* and NCCL_* of this process, and what gpuvet itself sets for
 * the worker. CUDA_VISIBLE_DEVICES stays on the host: it narrows the plan, and elsewhere its numbers mean
 * other GPUs. Owned. */
js *coordinator_environment(const struct target *target);

#endif
