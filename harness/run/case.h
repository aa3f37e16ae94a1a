/* SPDX-License-Identifier: Apache-2.0 */
/* The contract between a case (bench/NAME.c) and the harness. A case is one file with one `const struct
 * bench_case` at its end and one line in bench/cases.def. It prints nothing, takes as many samples as its
 * context asks for, and reads no clock unless it samples. docs/add-a-case.md walks through one. */
#ifndef GPUVET_RUN_CASE_H
#define GPUVET_RUN_CASE_H

#include "base/error.h"
#include "base/json.h"
#include "gpu/gpu.h"
#include "system/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Items of a round run block after block, quiet ones first; order is random within a block. */
enum block {
    BLOCK_QUIET,
    BLOCK_LATENCY,
    BLOCK_COPY,
    BLOCK_P2P,
    BLOCK_COLLECTIVE,
    BLOCK_OWN, /* what has a process of its own (instance->env): last, so that no other one must start anew */
    BLOCK_COUNT
};

enum timing {
    TIMING_GATED, /* n operations queued behind a gate, timed by events on the device */
    TIMING_HOST, /* the case's sample() yields the values itself: by a host clock, or by lanes (bench/lanes.h)
                  */
};

/* What a sample's value is. For TIMING_GATED the harness makes it from seconds per operation and work(). */
enum quantity {
    QUANTITY_TIME,      /* us per operation, lower is better */
    QUANTITY_LATENCY,   /* ns per access, lower is better */
    QUANTITY_BANDWIDTH, /* GB/s (1e9 bytes per second), higher is better */
    QUANTITY_FREQUENCY, /* GHz, higher is better */
    QUANTITY_COUNT,     /* a plain number without unit, for the null case */
};

struct metric {
    const char *name; /* "bandwidth"; NULL ends the table */
    enum quantity quantity;
    enum timing timing;
};

/* One series: a statistic over the samples of one round. */
struct series_row {
    const char *metric;    /* NULL ends the table */
    const char *statistic; /* "" (the median), "p50", "p90", "p99" */
    const char
        *only; /* "idle_us=50": only instances with this parameter; NULL: all. Several: "a=1|a=2&b=3" */
    double delta_rel; /* smallest effect that matters: max(delta_rel, delta_abs) */
    double delta_abs; /* in the metric's unit; 0: none */
    double
        between_rel; /* default between-run spread (one sigma, relative) when no baseline gives it; 0: none */
    bool descriptive; /* never primary, whatever the instance says (tails) */
};

/* In which profiles an instance runs, and whether its series are judged. */
enum level {
    LEVEL_PRIMARY,     /* every round of every profile */
    LEVEL_DESCRIPTIVE, /* in one round of standard, in every one of thorough; not in quick */
    LEVEL_THOROUGH,    /* only in thorough */
    LEVEL_HIDDEN,      /* only when asked for by name: faults for tests */
};

/* Where one item runs and with what. Made by the case's instances() from a node; plain data. */
struct instance {
    const struct metric *metric;
    enum level level;
    js *where;        /* {"gpu":"GPU-…","role":"local"}: part of the key, owned */
    js *attributes;   /* {"bdf":…,"path_class":…,"os_node":0}: recorded, no part of the key, owned */
    js *params;       /* {"bytes":536870912,"memory":"pinned"}: all of them, defaults too, owned */
    int cpu;          /* OS index of the PU to pin to; -1: not pinned */
    int samples;      /* per round */
    int operations;   /* per sample, gated only; at most GPU_GATE_MAX_OPERATIONS */
    double seconds;   /* estimated wall time of one item, set-up and verification included */
    double limit_raw; /* physical limit in the metric's unit; NAN: unknown */
    double limit;     /* after packet headers; equal to limit_raw where those are unknown */
    js *env;          /* variables that the item's process has beside the usual ones, owned; NULL: none */
    char *skip;       /* why it cannot run here, owned; NULL: it can */
};

struct instance_list {
    struct instance *items;
    size_t count;
    size_t capacity;
};

/* A zeroed instance at the end of the list with empty where, attributes and params, unknown limits, no pin.
 */
struct instance *instance_add(struct instance_list *list, const struct metric *metric, enum level level);
void instance_list_free(struct instance_list *list);

struct needs {
    int gpus;      /* with fewer the case is not in the plan, and says why */
    int cc_major;  /* an item on a GPU of a lower compute capability is a skip; 0: any */
    bool peer;     /* P2P between them: said by `list`; which pairs lack it, instances() says (skip) */
    bool nccl;     /* loads this library: said by `list`, its hash is in the run's header */
    bool cublaslt; /* likewise */
};

/* What verify() found. A figure counts only when `bad` is 0. */
struct verification {
    uint64_t checked_bytes;
    uint64_t bad;              /* wrong 4-byte words */
    uint64_t first_bad_offset; /* bytes from the buffer's start */
    uint32_t expected, found;  /* the word there */
    char what[64]; /* which buffer: "device buffer", "host buffer"; "" when nothing needs verifying */
};

/* What one item yielded, in the metric's unit; owned by the harness. */
struct samples {
    double *values;
    size_t count;
    size_t capacity;
};
void samples_add(struct samples *samples, double value);

/* What is too dear to make anew for every item (pinned memory), kept by name for the next one. It lives as
 * long as the child, which is a round at most and ends without tidying up: nothing is ever released. */
struct shelf;
struct shelf *shelf_make(void);
void *shelf_find(const struct shelf *shelf, const char *name);      /* NULL: nothing of that name */
void shelf_put(struct shelf *shelf, const char *name, void *thing); /* `name` is borrowed for ever */
/* The same thing of `bytes` for all who ask by that name, zeroed for the first; NULL: there is no room. */
void *shelf_keep(struct shelf *shelf, const char *name, size_t bytes);

/* Given to every function that runs in the worker's child. */
struct case_context {
    const struct bench_case *bench; /* the case itself */
    const char *metric;             /* its name */
    const js *where, *attributes, *params;
    uint64_t seed; /* differs by item and round: for verification data and random order */
    int round;
    int cpu;            /* pinned to, -1 not */
    int wanted_samples; /* for sample() */
    int operations;     /* per sample, for a sample() that queues them itself */
    /* The GPUs that `where` names (run/where.h gives their order: gpu; from, to; gpus as sorted), all opened;
     * the first is current when prepare() begins. */
    struct gpu_device *gpus;
    int n_gpus;
    struct gpu_device gpu; /* the first of them; zeroed where there is none */
    void *state;           /* the case's own, made by prepare, freed by finish */
    struct shelf *shelf;
    js *extra;  /* an object the case may add to: goes into the record as "detail" */
    js *flags;  /* an array of strings: what makes the samples doubtful */
    js *links;  /* an object by UUID: what run/link_look.h saw of the links under load */
    js *sm_mhz; /* an array of numbers, one a sample: a sample() that runs on a GPU adds the mean SM clock */
};

const char *case_text(const struct case_context *context, const char *param); /* "" when absent */
int64_t case_number(const struct case_context *context, const char *param);   /* 0 when absent */

struct bench_case {
    const char *name;    /* "copy.h2d" */
    int version;         /* raised when numbers change their meaning */
    const char *summary; /* one line */
    enum block block;
    bool quiet;      /* coordinator and supervisor sleep while it runs */
    bool loads_link; /* its operations fill the GPUs' PCIe links: their state under load is read in the
                        warm-up */
    bool hidden;     /* not in list, not in any profile */
    struct needs needs;
    /* "NAME=VALUE", ended by NULL: after a hang the same item runs once more with these in its environment,
     * which tells one cause from another. NULL: it does not. */
    const char *const *control;
    const struct metric *metrics;
    const struct series_row *series;

    /* Adds the instances for this node, which has needs.gpus GPUs or more. */
    void (*instances)(const struct node *node, struct instance_list *out);
    /* Allocates and fills what the item needs, pinned already. May be NULL. */
    bool (*prepare)(struct case_context *context, struct error *err);
    /* Spoils what the timed operations will write, so that one that never ran shows. Called once, outside all
     * timing, before the first sample: gated after the warm-up, host before sample(), which does so once more
     * itself when it warms up. May be NULL. */
    bool (*poison)(struct case_context *context, struct error *err);
    /* Gated: queues `count` operations on `stream`. */
    bool (*enqueue)(struct case_context *context, gpu_stream stream, int count, struct error *err);
    /* Host: adds context->wanted_samples values in the metric's unit. */
    bool (*sample)(struct case_context *context, struct samples *out, struct error *err);
    /* For a gated metric: true when this item must be left to sample() all the same, since its operations
     * wait by themselves (pageable memory: behind a gate that is a deadlock). May be NULL. */
    bool (*by_host)(const struct case_context *context);
    /* Checks what the last timed operation left behind. NULL: nothing moves data. */
    bool (*verify)(struct case_context *context, struct verification *out, struct error *err);
    /* Bytes moved by one operation (bandwidth metrics only). */
    double (*work)(const struct case_context *context);
    /* Releases everything; runs also after a failure of any of the others. May be NULL. */
    void (*finish)(struct case_context *context);
};

/* All cases, in the order of cases.def. */
extern const struct bench_case *const bench_cases[];
extern const size_t bench_cases_count;
const struct bench_case *bench_find(const char *name);
/* Mandatory slots, unique names, legal units and series rows: false with `err` naming the case. */
bool bench_check_all(struct error *err);

const char *quantity_unit(enum quantity quantity); /* "us", "ns", "GB/s", "GHz", "" */
bool quantity_higher_is_better(enum quantity quantity);

#endif
