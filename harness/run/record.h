/* SPDX-License-Identifier: Apache-2.0 */
/* Run files, gpuvet.run/1: JSON lines header, start, record, finding, footer (docs/formats.md). Written line
 * by line so that nothing measured is lost; read back whole, with any input taken as hostile. */
#ifndef GPUVET_RUN_RECORD_H
#define GPUVET_RUN_RECORD_H

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- keys ---- */

/* "copy.h2d@1/bandwidth{gpu=GPU-…,role=local;bytes=536870912,memory=pinned}@host": where and params sorted by
 * name. `suffix` is "", ".p50", ".p99" …; `where` and `params` are JSON objects (NULL: empty) whose members
 * are strings or integers. The key's own characters (, ; { } = @ / %) and control characters are written %2C
 * and so on inside names and values, so that no two sets of values share a key. Release with free; NULL when
 * a member is neither string nor integer. */
char *series_key(const char *bench, int version, const char *metric, const char *suffix, const js *where,
                 const js *params, const char *target);

/* A key taken apart; texts are still escaped. Release with key_parts_free. */
struct key_parts {
    char *bench; /* "copy.h2d" */
    int version;
    char *metric; /* with its suffix: "wake.p50" */
    char *where;  /* "gpu=GPU-…,role=local" */
    char *params;
    char *target;
};
/* False: `key` is no series key. */
bool key_parse(const char *key, struct key_parts *out);
void key_parts_free(struct key_parts *parts);
/* Undoes the %XX of one name or value. Release with free. */
char *key_unescape(const char *s);

/* "copy.h2d bandwidth GPU 0 local 512 MiB pinned"; `gpus` (may be NULL) is a header's list, for the indices.
 * Release with free. */
char *series_label(const char *key, const js *gpus);
/* The UUIDs that a key's where names. */
void key_gpus(const char *key, struct strings *uuids);

/* Whether a pattern selects a key: one without / and @ is matched with the case name, any other with the
 * whole key ('*' and '?' and [ ]). */
bool series_selected(const char *pattern, const char *key);

/* ---- writing ---- */

struct run_writer;

/* Creates `path` (which must not exist) with mode 0644. NULL with `err` filled. */
struct run_writer *run_writer_open(const char *path, struct error *err);
/* Appends one line; `sync` waits for the disk. `line` is borrowed. After a failure every later call fails
 * too. */
bool run_writer_add(struct run_writer *writer, const js *line, bool sync, struct error *err);
/* Waits until all that was added is on the disk. */
bool run_writer_sync(struct run_writer *writer, struct error *err);
/* Syncs and closes; NULL allowed. */
bool run_writer_close(struct run_writer *writer, struct error *err);

/* ---- reading ---- */

struct series {
    char *key;    /* with its suffix */
    char *bench;  /* "copy.h2d" */
    char *metric; /* "bandwidth" */
    char *target; /* "host" */
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
    double largest; /* of all its samples, NAN: none; to be shown with their number, and never compared */
    size_t n_samples;
    double limit;      /* NAN: unknown */
    size_t n_bad;      /* records that were fail, hang or error */
    char *bad_reason;  /* of the first of them; NULL: none */
    size_t n_skip;     /* records that were skip */
    char *skip_reason; /* of the first of them; NULL: none */
    bool flagged_busy;
    bool flagged_quota; /* the CPU quota of its cgroup held it back */
};

/* A record that was fail, hang or error. */
struct run_failure {
    char *key; /* without a statistic's suffix */
    int round;
    char *outcome;
    char *reason;
};

/* A count over the records that know it. */
struct run_count {
    int64_t total;
    size_t items; /* how many records know it; 0: none */
};

/* What the records of a run say of one GPU. */
struct run_gpu {
    char *uuid;
    struct run_count replays, correctable, nonfatal, fatal; /* PCIe errors that came during items */
    struct run_count heat_us, brake_us;                     /* clocks held down */
    int link_gen, link_width;                               /* the least seen under load; 0: never seen */
};

struct run {
    char *path;
    js *header;          /* whole, as read */
    js *findings;        /* array */
    js *footer;          /* NULL: interrupted without a word */
    bool interrupted;    /* no footer, or one that says so */
    char *last_started;  /* what was running when the file ends; NULL: nothing */
    bool truncated_line; /* the last line was cut and left out */
    size_t n_records;
    struct series *series; /* sorted by key */
    size_t n_series;
    struct run_gpu *gpus;
    size_t n_gpus;
    struct run_failure *failures; /* in the order of the file, at most RUN_MAX_FAILURES */
    size_t n_failures;
    struct strings notes; /* what a reader should know: a record that came twice, … */
};

enum {
    RUN_MAX_LINE = 1 << 20,
    RUN_MAX_BYTES = 1 << 29, /* of the file, unpacked */
    RUN_MAX_RECORDS = 1000000,
    RUN_MAX_SERIES = 100000,
    RUN_MAX_ROUND = 1000000,
    RUN_MAX_FAILURES = 10000,
    RUN_MAX_FINDINGS = 10000,
    RUN_MAX_REASON = 2000, /* of what is kept of a failure's reason */
    RUN_MAX_GPUS = 256,
};

/* Reads a run, plain or gzip (zlib tells them apart). False with `err` naming file and line. Of two records
 * of one series and round the later counts, with a note. */
bool run_read(const char *path, struct run *out, struct error *err);
void run_free(struct run *run);
/* Hands every record of a run file, in its order, to `see`: for what struct run leaves out. The file is
 * checked as run_read does; `key` is the record's, without a statistic's suffix. */
bool run_visit(const char *path, void (*see)(void *state, const char *key, const js *record), void *state,
               struct error *err);
/* NULL: the run has no such series. */
const struct series *run_find(const struct run *run, const char *key);
/* NULL: no record says anything of it. */
const struct run_gpu *run_find_gpu(const struct run *run, const char *uuid);

#endif
