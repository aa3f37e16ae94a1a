/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory for copies between GPUs, kept on the child's shelf by GPU: getting 512 MiB anew for each of
 * 56 pairs, and mapping it for all peers, would take longer than the copies. */
#ifndef GPUVET_BENCH_PEER_MEMORY_H
#define GPUVET_BENCH_PEER_MEMORY_H

#include "run/case.h"

/* At least `bytes` on `gpu`, which becomes current. What it holds is whatever the last user left. Give it
 * back with peer_memory_give. */
bool peer_memory_take(struct shelf *shelf, const struct gpu_device *gpu, size_t bytes, void **out,
                      struct error *err);
void peer_memory_give(struct shelf *shelf, void *memory); /* NULL allowed */

#endif
