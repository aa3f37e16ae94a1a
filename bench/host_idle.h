/* SPDX-License-Identifier: Apache-2.0 */
/* Idle states: which were entered, and holding deep ones off for one item (PM-QoS). */
#ifndef GPUVET_BENCH_HOST_IDLE_H
#define GPUVET_BENCH_HOST_IDLE_H

#include "base/error.h"
#include "base/json.h"
#include "system/node.h"

#include <stdbool.h>
#include <stdint.h>

enum { IDLE_MAX_STATES = 16 };

/* One idle state's counters of one CPU; -1 where the kernel does not give one. */
struct idle_count {
    char name[32];
    int64_t usage, time_us, above, below;
};

/* All states of a CPU below `root` ("" live); returns how many. */
int idle_read(const char *root, int cpu, struct idle_count out[IDLE_MAX_STATES]);

/* Which states were entered between two readings of `n` states, as "idle_states" into `extra`: proof that an
 * idle time reached the state it stands for. "not visible" where n is 0. */
void idle_record(js *extra, const struct idle_count *before, const struct idle_count *after, int n);

/* The bound (us) that leaves a node polling and its first idle state only: just below the exit latency of the
 * second (what max_cstate=1 amounts to). -1: it has no second, or its latencies are not known. */
int64_t idle_first_state_bound(const struct node *node);

/* Why PM-QoS cannot be held on this node: static text; NULL: it can. */
const char *idle_no_control(const struct node *node);

/* Bounds the exit latency of every CPU's idle states to `us` until idle_release(*fd). */
bool idle_hold(int32_t us, int *fd, struct error *err);
void idle_release(int fd);
/* The bound in force, over all who hold one; -1 unknown. Disturbs nothing. */
int64_t idle_bound(void);

#endif
