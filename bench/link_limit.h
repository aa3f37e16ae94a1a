/* SPDX-License-Identifier: Apache-2.0 */
/* What a PCIe link can carry, and what the path from a GPU to its CPU can. GB/s per direction. */
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

/* Sets both limits of an instance from the narrowest link and the smallest MPS between GPU and root port.
 * Where the GPU's own link is not in the environment, what NVML says of it counts. In a guest only the GPU's
 * own link counts: the bridges above it are the hypervisor's inventions, and so is the MPS. `limit` equals
 * limit_raw where the MPS of the path is unknown; both stay unknown (NAN) where no link is known. */
void link_set_limits(const struct node *node, const struct gpu_info *gpu, struct instance *instance);

#endif
