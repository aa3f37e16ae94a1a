/* SPDX-License-Identifier: Apache-2.0 */
/* What a run will do, made from a node (live or captured) and the user's choice, before anything is measured.
 */
#ifndef GPUVET_RUN_PLAN_H
#define GPUVET_RUN_PLAN_H

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "run/case.h"
#include "system/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile {
    const char *name;
    int rounds;
    int max_primary;        /* series; 0: no limit */
    int descriptive_rounds; /* in how many rounds a descriptive item runs; 0: not at all; -1: in all */
    bool thorough;          /* LEVEL_THOROUGH too */
    const char *meaning;    /* what it can show, one line */
};
extern const char *const profile_names[]; /* ends with NULL */

struct plan_item {
    int id; /* its place among the items, from 0: the same in every place of a machine */
    const struct bench_case *bench;
    struct instance instance; /* owned */
    char *key;                /* of its records: without a statistic's suffix, at `target` */
    int twin_of;              /* the same item pinned, of which this is the place's own placement; -1: none */
    bool judged;              /* at least one of its series is primary */
    bool every_round;
    uint64_t rounds_mask[4]; /* where not every round: bit r set = runs in round r (at most 256 rounds) */
};

/* A case that cannot run here at all, and why. */
struct plan_absence {
    const struct bench_case *bench;
    char *reason;
};

/* One series that the run will give, as its header declares it. */
struct plan_series {
    size_t item; /* index into the plan's items */
    const struct series_row *row;
    char *key; /* with the statistic's suffix */
    bool primary;
};

struct plan {
    const struct profile *profile;
    int rounds;
    uint64_t seed;
    struct plan_item *items;
    size_t n_items;
    struct plan_absence *absences;
    size_t n_absences;
    struct plan_series *series;
    size_t n_series;
    int n_primary;
    int left_out;     /* primary series dropped to keep the profile's limit */
    bool tails_shown; /* to keep it, p99 is shown and not judged */
    bool uses_gpu;
};

struct plan_options {
    const char *profile;
    int rounds; /* 0: the profile's */
    uint64_t seed;
    const struct strings *cases; /* patterns; none: all */
    const char *target;          /* "host" */
    const struct node *there; /* what the target itself sees, where the plan is made from another's view (the
                                 host's); NULL: the same */
    const char *broken;       /* why nothing that needs a GPU can run there; NULL: it can */
    bool own_placement;       /* measure pinned GPU items a second time, where the target itself puts them */
};

/* Narrows node->gpus to what `choices` name (index, UUID or its beginning, BDF; each may hold several with
 * commas) and to what `visible` (the user's CUDA_VISIBLE_DEVICES, NULL: unset) lets CUDA see. */
bool plan_choose_gpus(struct node *node, const struct strings *choices, const char *visible,
                      struct error *err);

/* False when a pattern selects nothing (the nearest case name is offered). Release with plan_free. */
bool plan_make(const struct node *node, const struct plan_options *options, struct plan *out,
               struct error *err);
void plan_free(struct plan *plan);

/* The parameter that marks an item measured without pinning, and its only value. */
#define PLAN_PLACEMENT "placement"
#define PLAN_PLACEMENT_OWN "own"

/* Items of one round in the order they run: blocks in order, random inside a block, the same for every
 * target. `out` has room for n_items; returns the count. Items to be skipped come in round 0 only. */
size_t plan_order(const struct plan *plan, int round, const struct plan_item **out);

/* Between the last item of a block and the first of the next there is a pause, in which what the one left
 * behind ends (memory being handed back, helper threads going to sleep, a clock falling back), so that it is
 * in no figure of the other. Not for heat, and no item's warm-up: that waits for its own clocks. */
enum { PLAN_SETTLE_MS = 20 };
/* `before` NULL: nothing ran yet in this round. */
bool plan_settles(const struct plan_item *before, const struct plan_item *item);

/* Predicted seconds of one round: `worker_seconds` for the worker's start, the items' own, the pauses between
 * blocks, CUDA's start. */
double plan_round_seconds(const struct plan *plan, int round, double worker_seconds, double cuda_seconds);

/* The header's "series" array, owned. */
js *plan_series_json(const struct plan *plan);

/* Smallest relative effect that a series could show in a comparison of 3 runs before and 1 after, by its
 * default spread between runs (an estimate): max(δ, 3 × spread, z × spread × sqrt(1/3 + 1)). The second is
 * what compare asks for while the spread is a default, the third the two-sided normal quantile z at 1 %
 * divided by the number of primary series (Bonferroni) times the standard error of a difference of means of 3
 * runs and 1. δ is the relative one: without a figure an absolute one says nothing. NAN where no default is
 * known. */
double plan_smallest_effect(const struct plan *plan, const struct plan_series *series);

#endif
