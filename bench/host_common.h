/* SPDX-License-Identifier: Apache-2.0 */
/* What the host cases share. */
#ifndef GPUVET_BENCH_HOST_COMMON_H
#define GPUVET_BENCH_HOST_COMMON_H

#include "run/case.h"

/* Attributes "guest" (steal and virtual timers are in the figures) and "clocksource" (other than tsc):
 * judging turns them into flags. */
void host_mark(const struct node *node, struct instance *instance);

/* Logical NUMA nodes that have a GPU, in order, or node 0 where there is none. `out` has room for `capacity`;
 * returns how many. */
int host_gpu_nodes(const struct node *node, int *out, int capacity);

#endif
