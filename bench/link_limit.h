/* SPDX-License-Identifier: Apache-2.0 */
/* What a PCIe link can carry, and what the path from a GPU to its CPU can. GB/s per direction. */
#ifndef GPUVET_BENCH_LINK_LIMIT_H
#define GPUVET_BENCH_LINK_LIMIT_H

#include "run/case.h"

/* GT/s × lanes × encoding ÷ 8: 8b/10b up to Gen2, 128b/130b for Gen3 to Gen5, 242/256 (flits) from Gen6. NAN for
 * a generation or width that does not exist. Source: PCI Express Base Specification 6.0. */
double link_raw(int generation, int width);

/* Share of a link left to data when each packet carries `mps` bytes: payload ÷ (payload + 24), for a header of 16
 * bytes, 4 of LCRC, and 4 of framing and sequence number. NAN for mps <= 0. Gen5 x16: 53, 57.6, 60.2 GB/s. */
double link_after_headers(double raw, int mps);

/* Sets both limits of an instance from the narrowest link and the smallest MPS between GPU and root port. They
 * stay unknown where the path cannot be seen (a guest shows no bridge above the GPU); `limit` equals limit_raw
 * where only the MPS is unknown. */
void link_set_limits(const struct node *node, const char *bdf, struct instance *instance);

#endif
