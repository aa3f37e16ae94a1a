/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs send to which in p2p.all. */
#ifndef GPUVET_BENCH_P2P_PATTERNS_H
#define GPUVET_BENCH_P2P_PATTERNS_H

#include "bench/lanes.h"
#include "bench/p2p_common.h"

/* Lanes by places in the party. */
struct p2p_pattern {
    const char *name;
    int n;
    int lanes[LANES_MAX][2];
    int hub;            /* the one source or target, or the first source; -1: none stands out */
    int sources, roots; /* of "fan", else 0 */
};

/* Each to its successor; all do so at once. */
void p2p_pattern_ring(int n, struct p2p_pattern *out);
/* From one to all others, or back. */
void p2p_pattern_star(int n, int hub, bool outward, struct p2p_pattern *out);
/* False where there are more than LANES_MAX pairs. */
bool p2p_pattern_all(int n, struct p2p_pattern *out);

/* GPUs by the root port above them (one switch, where several share it), and root ports by their root bus.
 * The bridges of a guest are its hypervisor's inventions: there nothing is known. */
struct p2p_roots {
    int root[WHERE_MAX_GPUS]; /* by place in the party; -1 unknown */
    int n_roots;
    char bdf[WHERE_MAX_GPUS][16]; /* of the root ports */
};
void p2p_find_roots(const struct p2p_party *party, struct p2p_roots *out);

/* `sources` GPUs below root port `root` write to GPUs below `roots` others in turn. False where there are not
 * as many. */
bool p2p_pattern_fan(const struct p2p_party *party, const struct p2p_roots *roots, int root, int sources,
                     int n_roots, struct p2p_pattern *out);

/* What all lanes together can carry at most: each GPU's way out, and in, once. NAN where one is not known. */
struct link_limits p2p_pattern_limits(const struct p2p_pattern *pattern, const struct p2p_path *paths,
                                      int n_paths);

#endif
