/* SPDX-License-Identifier: Apache-2.0 */
/* What the P2P cases have in common: which pairs of GPUs there are, what is known of each, and which stand
 * for the others. */
#ifndef GPUVET_BENCH_P2P_COMMON_H
#define GPUVET_BENCH_P2P_COMMON_H

#include "bench/link_limit.h"
#include "run/case.h"
#include "run/where.h"

/* The GPUs of a node that can be used, in its order. */
struct p2p_party {
    const struct node *node;
    const struct gpu_info *gpus[WHERE_MAX_GPUS];
    int n;
};
void p2p_gather(const struct node *node, struct p2p_party *out);

/* One way from a GPU to another, by their places in the party. */
struct p2p_path {
    int from, to;
    int nvlinks;            /* -1: not known */
    char path_class[16];    /* "NV18", "PIX", "PXB", "PHB", "NODE", "SYS"; "" unknown */
    const char *status;     /* the driver's word: "OK", "CNS", …; "" unknown */
    int nodes[2];           /* NUMA nodes (logical) of from and to; -1 unknown */
    bool stands_for_others; /* the first of its class and pair of NUMA nodes, with from before to */
    struct link_limits limits;
};
/* All ordered pairs, owned (free); returns how many. */
int p2p_paths(const struct p2p_party *party, struct p2p_path **out);
/* NULL: no such pair. */
const struct p2p_path *p2p_find_path(const struct p2p_path *paths, int n, int from, int to);
/* The driver says of it that there is no P2P. */
bool p2p_is_refused(const struct p2p_path *path);
bool p2p_is_nvlink(const struct p2p_path *path);
/* Whether every ordered pair may have judged series: up to eight GPUs. On more the pairs would take longer
 * than a round may, and have more series than can be judged together: then neighbours, and one pair of each
 * kind. */
bool p2p_is_judged(const struct p2p_party *party, const struct p2p_path *path);

/* An instance for a path: where (from, to), attributes (both BDFs, path_class, nvlinks, the driver's word
 * both ways), the initiator's core (`read`: the destination's GPU), and a reason to skip where the driver
 * says that there is no P2P. */
struct instance *p2p_instance(const struct p2p_party *party, const struct p2p_path *path,
                              const struct metric *metric, enum level level, bool read,
                              struct instance_list *out);
/* One instance that stands for a case which cannot run: fewer than `gpus` can be used, or the driver offers
 * P2P nowhere. False: it can run, and nothing was added. */
bool p2p_skip_all(const struct p2p_party *party, int gpus, const struct p2p_path *paths, int n_paths,
                  const struct metric *metric, struct instance_list *out);

/* Attribute access (read, write); parameters bytes, engine, peer=on, cache=cold; samples and operations so
 * that a figure is as good as it can be for its time. A large copy through PCIe takes 10 ms, several through
 * NVLink as long, and both repeat to a part in a thousand: judged series of 56 pairs have one sample a round,
 * and the rounds tell the rest. */
void p2p_set_copies(struct instance *instance, const struct p2p_path *path, bool read, const char *engine,
                    int64_t bytes);
/* Estimated seconds of an item that copies `copies` times `bytes` through `gbps` (NAN: unknown). */
double p2p_seconds(double copies, double bytes, double gbps);

/* What the cases that copy through lanes (bench/lanes.h) measure, p2p.write, read, bidir and all, and how the
 * first three compare it. */
extern const struct metric p2p_bandwidth[];
extern const struct series_row p2p_bandwidth_series[];

/* Their slots.
 *
 * `where` with from and to: one lane, from → to. With the parameter direction: a second one back;
 * direction=one measures the first while the other runs twice as long, both the sum. `attributes.lanes`:
 * [[0,2],…], places in `where`'s GPUs: the sum of all, each also alone before (detail: isolated,
 * of_isolated). */
bool p2p_prepare(struct case_context *context, struct error *err);
bool p2p_sample(struct case_context *context, struct samples *out, struct error *err);
bool p2p_verify(struct case_context *context, struct verification *out, struct error *err);
void p2p_finish(struct case_context *context);

/* Which lanes there are and how long each runs. `out` has room for `room`; returns how many, -1: none or too
 * many. */
struct p2p_lane {
    int from, to;
    int timed, total;
};
int p2p_lanes_plan(const struct case_context *context, struct p2p_lane *out, int room);

/* Whether copies that went together broke down: clearly less than what one of them carries alone, which no
 * shared link explains (it would be filled). */
bool p2p_collapsed(double total, const double *isolated, int n);

#endif
