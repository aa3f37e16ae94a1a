/* SPDX-License-Identifier: Apache-2.0 */
/* What a PCIe link can carry, and what the paths between GPUs and their CPU, and between two GPUs, can. GB/s
 * per direction. */
#ifndef GPUVET_BENCH_LINK_LIMIT_H
#define GPUVET_BENCH_LINK_LIMIT_H

#include "run/case.h"

/* GT/s × lanes × encoding ÷ 8: 8b/10b up to Gen2, 128b/130b for Gen3 to Gen5, 242/256 (flits) from Gen6. NAN
 * for a generation or width that does not exist. Source: PCI Express Base Specification 6.0. */
double link_raw(int generation, int width);

/* Share of a link left to data when each packet carries `mps` bytes: payload ÷ (payload + 24), for a header
 * of 16 bytes, 4 of LCRC, and 4 of framing and sequence number. NAN for mps <= 0. Gen5 x16: 53, 57.6, 60.2
 * GB/s. */
double link_after_headers(double raw, int mps);

/* One direction. `raw` is what no figure can pass, `limit` what is left to data after packet headers; equal
 * where the MPS of the path is unknown. NAN: unknown. */
struct link_limits {
    double raw, limit;
};

/* Between host memory and one GPU: the narrowest link and the smallest MPS from the GPU to its root port.
 *
 * A link counts as it is trained where that can be told. A GPU lets its own link fall to a low generation
 * while it idles, and the port above with it, so for this link the generation is the smallest that either end
 * and NVML (which knows the slot too) call possible, and the trained one only while the GPU is in P0. Links
 * further up belong to switches and stay as they were trained. Lanes that did not train stay away everywhere.
 *
 * In a guest only the GPU's own link counts: the bridges above it are the hypervisor's inventions, and so is
 * the MPS. */
struct link_limits link_path_limits(const struct node *node, const struct gpu_info *gpu);

/* The sum over `n` GPUs that all copy in the same direction at once: links above a switch are shared. For
 * both directions at once each has this limit. */
struct link_limits link_shared_limits(const struct node *node, const struct gpu_info *const *gpus, size_t n);

/* From one GPU's memory to another's. `nvlinks`: NVLinks between them, 0 for PCIe, -1 where that is not known
 * (then the limits are not known either). Over PCIe the links below the bridge that both share, or both whole
 * paths where they share none; what lies between root ports is not in the figure. */
struct link_limits link_peer_limits(const struct node *node, const struct gpu_info *from,
                                    const struct gpu_info *to, int nvlinks);

/* Puts limits × `times` into an instance (`times` 2: a figure that sums both directions). */
void link_set(struct instance *instance, struct link_limits limits, double times);

/* link_set of link_path_limits. */
void link_set_limits(const struct node *node, const struct gpu_info *gpu, struct instance *instance);

#endif
