/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of a run file's lines, one after the other: between record_read.c, which finds the lines,
 * and the struct run that they fill. */
#ifndef GPUVET_RUN_RECORD_LINES_H
#define GPUVET_RUN_RECORD_LINES_H

#include "run/record.h"

struct series_state; /* what is gathered for one series, beside run->series */

struct run_lines {
    struct run *run;
    size_t number;               /* of the line taken last, from 1 */
    struct series_state *states; /* one a series, same order */
    size_t *by_base;             /* indices of series, sorted by their base key */
    int64_t started_id;          /* of run->last_started */
    size_t repeated, undeclared; /* records, for notes */
    void (*see)(void *state, const char *key, const js *record); /* NULL: nobody looks on */
    void *see_state;
};

bool run_lines_take(struct run_lines *lines, const char *line, size_t length, struct error *err);
/* Sorts what was gathered into the run and releases everything else; also after a failure. */
void run_lines_finish(struct run_lines *lines);

/* Adds a record's "gpu_state" to run->gpus. */
void run_gpus_take(struct run *run, const js *record);
void run_gpus_free(struct run *run);

#endif
