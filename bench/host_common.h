/* SPDX-License-Identifier: Apache-2.0 */
/* Where the host part of a case runs, and what its host clock is worth: for the host cases, and for those
 * whose figures a GPU and the host make together. */
#ifndef GPUVET_BENCH_HOST_COMMON_H
#define GPUVET_BENCH_HOST_COMMON_H

#include "run/case.h"
#include "system/pin.h"

/* Attributes "guest" (steal and virtual timers are in the figures) and "clocksource" (other than tsc):
 * judging turns them into flags. */
void host_mark(const struct node *node, struct instance *instance);

/* Logical NUMA nodes that have a GPU, in order, or node 0 where there is none. `out` has room for `capacity`;
 * returns how many. */
int host_gpu_nodes(const struct node *node, int *out, int capacity);

/* True for the first GPU of its NUMA node (or of those whose node is not known): it stands for the others
 * where a host's part in a figure is asked for. */
bool host_first_gpu_of_node(const struct node *node, size_t gpu);

/* The CPU that serves the interrupts of a GPU on `cpu_node` (of the first one for which that is known), by
 * the fact irq.gpu.affinity; -1: not known. `bdf` gets that GPU's address. */
int host_irq_cpu(const struct node *node, int cpu_node, char bdf[16]);

/* Attribute "cpus": the list that host_cpus reads in the worker. */
void host_set_cpus(struct instance *instance, const int *cpus, int n);
/* Returns how many of `capacity`. */
int host_cpus(const struct case_context *context, int *out, int capacity);

/* Where the pages of a buffer are: detail "host_node", or one more entry of "host_nodes" where an item has
 * several buffers. The flag memory-not-on-node, once, where they are not where they were asked for. */
void host_tell_memory(struct case_context *context, const struct host_buffer *buffer, bool one_of_several);

/* Gives an instance its reason for a skip, if it has none yet. */
void host_skip(struct instance *instance, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* CLOCK_MONOTONIC: what timers are set by. */
int64_t host_monotonic(void);
/* Sleeps until then; a signal does not end it early. */
void host_sleep_until(int64_t monotonic_ns);

#endif
