/* SPDX-License-Identifier: Apache-2.0 */
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

void place_facts_read(const struct run *run, const char *first, const char *target, struct place_facts *out);
void place_facts_free(struct place_facts *facts);
bool place_fact_fits(const struct place_fact *fact, const char *bench);

#endif
