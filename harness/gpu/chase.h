/* SPDX-License-Identifier: Apache-2.0 */
/* Read latency as one multiprocessor after the other sees it (kernels/chase.h). */
#ifndef GPUVET_GPU_CHASE_H
#define GPUVET_GPU_CHASE_H

#include "gpu/gpu.h"

struct gpu_chase {
    const void *memory; /* its own, a peer's or pinned host memory, the chain already laid */
    size_t bytes, stride;
    uint32_t hops; /* by each multiprocessor */
    bool plain;    /* ordinary loads (nvbandwidth's way) instead of ld.relaxed.sys */
};

struct gpu_chase_result {
    double ns;           /* a hop, mean over the multiprocessors */
    double sm_mhz;       /* mean SM clock meanwhile */
    int multiprocessors; /* different ones that took part */
    uint64_t hops;       /* all together */
    int wrong;           /* chases that did not end where the chain leads; then of the first: */
    uint64_t wrong_at, expected, found; /* block, offset in the buffer */
};

/* One sweep: a chase by each multiprocessor of `device` (current for this thread), one after the other.
 * Waits. A chase that went astray is in the result, no failure. */
bool gpu_chase_sweep(const struct gpu_chase *chase, const struct gpu_device *device, gpu_stream stream,
                     struct gpu_chase_result *out, struct error *err);

/* What a sweep's readings (one for each of `blocks`) amount to. */
struct chase_reading;
void gpu_chase_sum_up(const struct gpu_chase *chase, const struct chase_reading *readings, int blocks,
                      struct gpu_chase_result *out);

#endif
