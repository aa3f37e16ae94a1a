/* SPDX-License-Identifier: Apache-2.0 */
/* Two sides, each of one or more runs, set against each other: series by the decision procedure, facts by
 * looking. The comparison owns all it says; the runs may be freed before it. */
#ifndef GPUVET_COMPARE_COMPARE_H
#define GPUVET_COMPARE_COMPARE_H

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "run/record.h"
#include "stats/decide.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct compare_options {
    bool force; /* other builds, or simulated against real, are compared all the same */
};

struct compare_row {
    char *key;
    char *label; /* the key in short, for people */
    char *unit;
    bool higher_is_better, primary;
    struct decide_result result;
};

/* A fact that changed for the worse. */
struct compare_change {
    char *key, *before, *after;
    char *text; /* "link narrower" */
};

enum difference_kind { DIFFERENCE_CHANGED, DIFFERENCE_ADDED, DIFFERENCE_REMOVED };

/* A stable key of the environment that differs. */
struct compare_difference {
    enum difference_kind kind;
    char *key, *before, *after; /* "" on the side that lacks it */
};

/* An item of AFTER that failed its check, hung or ended in an error. */
struct compare_failure {
    char *key, *label, *outcome, *reason;
    size_t count;
    bool before_too; /* it was no better in BEFORE */
};

struct comparison {
    struct compare_row *rows; /* sorted by key: every series of AFTER, and those of BEFORE that AFTER lacks */
    size_t n_rows;
    struct compare_change *worse;
    size_t n_worse;
    struct compare_difference *differences;
    size_t n_differences;
    struct compare_failure *failures;
    size_t n_failures;
    struct strings not_visible; /* keys with a value on one side and "needs root" on the other */
    struct strings notes;
    js *before, *after; /* arrays: what is told of each run */
    size_t n_family;    /* primary series tested */
};

/* False with `err` when the two sides make no comparison at all (no run, the same run twice on a side). */
bool compare_runs(const struct run *before, size_t n_before, const struct run *after, size_t n_after,
                  const struct compare_options *options, struct comparison *out, struct error *err);
void comparison_free(struct comparison *c);

const struct compare_row *comparison_find(const struct comparison *c, const char *key);
size_t comparison_count(const struct comparison *c, enum verdict verdict);
/* 0, 1, 2 or 3 (docs: exit status). */
int comparison_exit_status(const struct comparison *c, bool strict);

/* For people, as wide as the terminal behind `out`, else COLUMNS, else 120 columns. */
void comparison_print(const struct comparison *c, FILE *out);
/* gpuvet.compare/1, owned. */
js *comparison_json(const struct comparison *c);

#endif
