/* SPDX-License-Identifier: Apache-2.0 */
/* What `gpuvet run` shows: progress while it works, then the table. */
#ifndef GPUVET_CLI_RUN_VIEW_H
#define GPUVET_CLI_RUN_VIEW_H

#include "run/coordinator.h"

#include <stdio.h>

/* Summary of one series, filled as records come. */
struct view_row {
    const struct plan_series *series;
    double *values; /* one a round, owned */
    size_t count;
    double largest; /* of all samples, shown beside a tail; NAN: none */
    size_t n_samples;
    size_t bad; /* records that were no "ok" */
    char reason[200];
    char outcome[8];   /* of the last bad record */
    double baseline;   /* the baseline's median, NAN: none */
    char verdict[160]; /* "": none yet */
};

struct run_table {
    const struct plan *plan;
    const struct node *node;
    struct view_row *rows; /* one a series of the plan */
    size_t n_rows;
    struct clock *clock;
    int64_t started;
    double predicted_s;
    bool progress; /* stderr is a terminal */
    int columns;   /* of it */
    bool shown;    /* a progress line stands there */
    int round, rounds;
    double rounds_s; /* seconds that those before this one took */
};

void run_table_make(struct run_table *table, const struct plan *plan, const struct node *node,
                    struct clock *clock);
void run_table_free(struct run_table *table);
/* Callbacks for the coordinator; state is the table. */
struct run_view run_table_view(struct run_table *table);
/* The finished table. */
void run_table_print(const struct run_table *table, FILE *out);

/* "GPU 0, local, 512 MiB, pinned": where and with what, for people. Appended to `out`. */
void describe_item(const struct plan_item *item, const struct node *node, struct text *out);

#endif
