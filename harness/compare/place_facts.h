/* SPDX-License-Identifier: Apache-2.0 */
/* Why a place may be slower than another: what a run's header and records show of both (CPUs, memory nodes,
 * /dev/shm, rights, libraries), and which cases each can move. A case of a new family (the word before the
 * dot) has no cause until a list in place_facts.c names it. */
#ifndef GPUVET_COMPARE_PLACE_FACTS_H
#define GPUVET_COMPARE_PLACE_FACTS_H

#include "run/record.h"

#include <stdbool.h>
#include <stddef.h>

/* One difference between two places that is known to cost something. */
struct place_fact {
    const char *const *cases; /* beginnings of the names of what it can move; ends with NULL */
    char *text;               /* owned */
    bool placement_only;      /* it moves only what is not pinned */
};

struct place_facts {
    struct place_fact *items;
    size_t n;
};

/* What of `target` differs from `first` (both names of the run's targets, as in --in). Empty where nothing is
 * known. Release with place_facts_free. */
void place_facts_read(const struct run *run, const char *first, const char *target, struct place_facts *out);
void place_facts_free(struct place_facts *facts);
/* Whether it can move the case of this name ("copy.h2d"). */
bool place_fact_fits(const struct place_fact *fact, const char *bench);

#endif
