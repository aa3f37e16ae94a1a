/* SPDX-License-Identifier: Apache-2.0 */
/* The page people look at, and the files that machines read, made of runs and of a comparison (as data). */
#ifndef GPUVET_REPORT_REPORT_H
#define GPUVET_REPORT_REPORT_H

#include "base/error.h"
#include "base/json.h"
#include "run/record.h"

#include <stdbool.h>
#include <stddef.h>

struct report_input {
    const struct run *after; /* what the report is about; the newest last */
    size_t n_after;
    const struct run *before; /* what it is set against */
    size_t n_before;
    const char *before_name;   /* "the baseline 'before'" */
    const js *comparison;      /* gpuvet.compare/1; NULL: none */
    const char *no_comparison; /* why there is none */
    const js *places;          /* array: what each other place costs over the first one; NULL: one place */
    const js *history;         /* array of gpuvet.summary/1, oldest first; NULL: none */
    const char *folder;        /* where all is written; made if need be */
    bool strict;               /* undecided counts */
};

/* Writes index.html, summary.md, results.csv, rounds.csv, junit.xml, metrics.prom and plots/. `notes` gets
 * what the user should know (no gnuplot, say), `status` the exit status: compare's, or without a comparison 1
 * where anything failed. */
bool report_write(const struct report_input *input, int *status, struct strings *notes, struct error *err);

/* What the history keeps of a run, gpuvet.summary/1 (docs/report.md). Owned. */
js *report_summary(const struct run *run);
/* Whether a value read from a cache is such a summary of this version. */
bool report_summary_fits(const js *summary);

#endif
