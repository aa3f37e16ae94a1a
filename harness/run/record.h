/* SPDX-License-Identifier: Apache-2.0 */
/* Run files, gpuvet.run/1: JSON lines header, start, record, finding, footer (docs/formats.md). Written line by
 * line so that nothing measured is lost; read back whole, with any input taken as hostile. */
#ifndef GPUVET_RUN_RECORD_H
#define GPUVET_RUN_RECORD_H

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- keys ---- */

/* "copy.h2d@1/bandwidth{gpu=GPU-…,role=local;bytes=536870912,memory=pinned}@host": where and params sorted by
 * name. `suffix` is "", ".p50", ".p99" …; `where` and `params` are JSON objects whose members are strings or
 * integers. Release with free. */
char *series_key(const char *bench, int version, const char *metric, const char *suffix, const js *where,
                 const js *params, const char *target);

/* Whether a pattern selects a key: one without / and @ is matched with the case name, any other with the whole
 * key ('*' and '?' and [ ]). */
bool series_selected(const char *pattern, const char *key);

/* ---- writing ---- */

struct run_writer;

/* Creates `path` (which must not exist) with mode 0644. NULL with `err` filled. */
struct run_writer *run_writer_open(const char *path, struct error *err);
/* Appends one line; `sync` waits for the disk. `line` is borrowed. After a failure every later call fails too. */
bool run_writer_add(struct run_writer *writer, const js *line, bool sync, struct error *err);
/* Syncs and closes; NULL allowed. */
bool run_writer_close(struct run_writer *writer, struct error *err);

/* ---- reading ---- */

struct series {
    char *key;       /* with its suffix */
    char *bench;     /* "copy.h2d" */
    char *metric;    /* "bandwidth" */
    char *target;    /* "host" */
    char *unit;
    char *path_class; /* "" where records have none */
    bool higher_is_better;
    bool primary;
    double delta_rel;   /* 0.02: two per cent */
    double delta_abs;   /* in `unit`; 0: none */
    double between_rel; /* shipped default of the between-run spread (one sigma, relative); 0: none */
    /* One value a round (the declared statistic of that round's samples), in the order of rounds. */
    size_t n_values;
    double *values;
    int *rounds;
    double limit;       /* NAN: unknown */
    size_t n_bad;       /* records that were no "ok" */
    char *bad_reason;   /* of the first of them; NULL: none */
    bool flagged_busy;
};

struct run {
    char *path;
    js *header;           /* whole, as read */
    js *findings;         /* array */
    js *footer;           /* NULL: interrupted without a word */
    bool interrupted;     /* no footer, or one that says so */
    char *last_started;   /* what was running when the file ends; NULL: nothing */
    bool truncated_line;  /* the last line was cut and left out */
    size_t n_records;
    struct series *series; /* sorted by key */
    size_t n_series;
};

enum { RUN_MAX_LINE = 1 << 20 };

/* Reads a run, plain or gzip (zlib tells them apart). False with `err` naming file and line. */
bool run_read(const char *path, struct run *out, struct error *err);
void run_free(struct run *run);
/* NULL: the run has no such series. */
const struct series *run_find(const struct run *run, const char *key);

#endif
