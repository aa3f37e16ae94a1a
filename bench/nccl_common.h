/* SPDX-License-Identifier: Apache-2.0 */
/* What the cases of collectives share: where they run, and all their slots. A case is its operation and its
 * name. */
#ifndef GPUVET_BENCH_NCCL_COMMON_H
#define GPUVET_BENCH_NCCL_COMMON_H

#include "bench/nccl_ops.h"
#include "bench/p2p_common.h"
#include "run/case.h"

/* time: us an operation, 20 (or fewer, where they are long) issued in a row by each rank's thread, as
 * nccl-tests does; call: one operation from issue to completion seen by the slowest rank; algbw, busbw. */
enum nccl_metric { NCCL_TIME, NCCL_CALL, NCCL_ALGBW, NCCL_BUSBW, NCCL_METRICS };
extern const struct metric nccl_metrics[];
extern const struct series_row nccl_series[];

/* From this size on (bytes) samples of what is issued in a row are taken until the interval of their median
 * is narrow, so many at least: the plan's cost and the measuring must mean the same. */
enum { NCCL_NARROW_FROM = 2 << 20, NCCL_LEAST_SAMPLES = 6 };

/* After a hang: the same item with this in its environment, to tell P2P from the rest. */
extern const char *const nccl_control[];

/* ---- groups of GPUs ---- */

struct nccl_group {
    int gpus[WHERE_MAX_GPUS]; /* places in the party, in PCI order: the ranks */
    int n;
    bool largest;
};

/* The first 2, 4 and 8 GPUs of a party, and all. Returns how many of `out` (room for 8). */
int nccl_groups(const struct p2p_party *party, struct nccl_group *out);
/* where gpus, attributes order, bdfs, path_class and cpus; params ranks. Not pinned: each rank's thread has
 * its own core. */
struct instance *nccl_instance(const struct p2p_party *party, const struct nccl_group *group,
                               const struct metric *metric, enum level level, struct instance_list *out);
/* Seconds that making a communicator takes, and loading the library, each once a child. */
double nccl_join_estimate(int ranks);
double nccl_load_estimate(void);
/* What of both falls to each of the group's judged items. */
double nccl_join_share(const struct nccl_group *group);
/* GB/s that one GPU can send to the others, the best of its links; NAN: not known. */
double nccl_link_raw(const struct p2p_party *party, const struct nccl_group *group);

/* ---- slots ---- */

void nccl_instances(const struct node *node, enum nccl_op op, struct instance_list *out);
bool nccl_prepare(struct case_context *context, enum nccl_op op, struct error *err);
bool nccl_sample(struct case_context *context, struct samples *out, struct error *err);
bool nccl_verify(struct case_context *context, struct verification *out, struct error *err);
void nccl_finish(struct case_context *context);

/* The whole of a case's file but its summary. */
#define NCCL_CASE(file, operation, words)                                                                    \
    static void instances(const struct node *node, struct instance_list *out) {                              \
        nccl_instances(node, operation, out);                                                                \
    }                                                                                                        \
    static bool prepare(struct case_context *context, struct error *err) {                                   \
        return nccl_prepare(context, operation, err);                                                        \
    }                                                                                                        \
    const struct bench_case case_nccl_##file = {                                                             \
        .name = "nccl." #file,                                                                               \
        .version = 1,                                                                                        \
        .summary = words,                                                                                    \
        .block = BLOCK_COLLECTIVE,                                                                           \
        .quiet = true,                                                                                       \
        .needs = {.gpus = 1, .nccl = true},                                                                  \
        .control = nccl_control,                                                                             \
        .metrics = nccl_metrics,                                                                             \
        .series = nccl_series,                                                                               \
        .instances = instances,                                                                              \
        .prepare = prepare,                                                                                  \
        .sample = nccl_sample,                                                                               \
        .verify = nccl_verify,                                                                               \
        .finish = nccl_finish,                                                                               \
    }

#endif
