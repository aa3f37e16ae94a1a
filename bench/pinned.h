/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that is bound to a NUMA node, touched, and known to the driver: "pinned". Getting 512 MiB of it
 * takes as long as copying them ten times, so large ones go back to the child's shelf and serve the next
 * item. */
#ifndef GPUVET_BENCH_PINNED_H
#define GPUVET_BENCH_PINNED_H

#include "run/case.h"
#include "system/pin.h"

/* How it was got: mmap and cudaHostRegister, or cudaHostAlloc (whose node the driver chooses near the
 * caller). */
enum pinned_how { PINNED_REGISTERED, PINNED_HOSTALLOC };

/* At least `bytes` on the node with this OS index (-1: anywhere), reachable for the current GPU. What it
 * holds is whatever the last user left. `filled`: where there is a choice one that pinned_mark says is
 * filled, else one that is not. Give it back with pinned_give. */
bool pinned_take(struct shelf *shelf, enum pinned_how how, size_t bytes, int os_node, bool filled,
                 const struct host_buffer **out, struct error *err);
void pinned_give(struct shelf *shelf, const struct host_buffer *buffer); /* NULL allowed */

/* The first `bytes` hold the pattern of `seed` from now on, until somebody marks it otherwise; 0: none. Only
 * for what pinned_take gave. */
void pinned_mark(const struct host_buffer *buffer, size_t bytes, uint32_t seed);
/* True where at least `bytes` are filled: `seed` is then what with. */
bool pinned_is_filled(const struct host_buffer *buffer, size_t bytes, uint32_t *seed);

/* False when the machine does not have `bytes` of memory to spare: better one clear line than the kernel
 * ending somebody's process. True where /proc/meminfo does not tell. */
bool host_memory_suffices(size_t bytes, struct error *err);

#endif
