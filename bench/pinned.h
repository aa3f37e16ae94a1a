/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that is bound to a NUMA node, touched, and known to the driver: "pinned". Getting 512 MiB of it
 * takes as long as copying them ten times, so large ones go back to the child's shelf and serve the next
 * item. */
#ifndef GPUVET_BENCH_PINNED_H
#define GPUVET_BENCH_PINNED_H

#include "run/case.h"
#include "system/pin.h"

/* At least `bytes` on the node with this OS index (-1: anywhere), reachable for the current GPU. What it
 * holds is whatever the last user left. Give it back with pinned_give. */
bool pinned_take(struct shelf *shelf, size_t bytes, int os_node, const struct host_buffer **out,
                 struct error *err);
void pinned_give(struct shelf *shelf, const struct host_buffer *buffer); /* NULL allowed */

/* False when the machine does not have `bytes` of memory to spare: better one clear line than the kernel
 * ending somebody's process. True where /proc/meminfo does not tell. */
bool host_memory_suffices(size_t bytes, struct error *err);

#endif
