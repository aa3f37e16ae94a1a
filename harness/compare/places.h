/* SPDX-License-Identifier: Apache-2.0 */
/* What a place (a container) costs over the first one (the host), from one run that measured both in turn. */
#ifndef GPUVET_COMPARE_PLACES_H
#define GPUVET_COMPARE_PLACES_H

#include "base/json.h"
#include "run/record.h"
#include "stats/decide.h"

#include <stdbool.h>
#include <stdio.h>

struct place_row {
    char *key;   /* the series in that place */
    char *label; /* in short, for people */
    char *unit;
    bool primary, higher_is_better;
    struct decide_result result; /* before: the first place, after: this one */
    bool has_placement;
    struct decide_result placement; /* the same place: its own placement over pinned */
    char *cause; /* of a gap, where the facts of both sides name one; NULL: none, or no gap */
};

/* One place against the first. */
struct place_cost {
    char *target, *against;
    bool same_machine;
    struct place_row *rows; /* in the order of keys */
    size_t n_rows;
    size_t n_family;      /* primary series tested */
    size_t n_rounds;      /* that both sides have */
    char *broken;         /* why nothing that needs a GPU runs there; NULL: it does */
    struct strings facts; /* what differs between the two that could explain a gap, in words */
};

struct place_costs {
    struct place_cost *places;
    size_t n;
};

/* Empty where the run has one place only. */
void place_costs_make(const struct run *run, struct place_costs *out);
void place_costs_free(struct place_costs *costs);
void place_costs_print(const struct place_costs *costs, FILE *out);
/* An array, owned. */
js *place_costs_json(const struct place_costs *costs);

#endif
