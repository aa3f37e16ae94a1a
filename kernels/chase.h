/* SPDX-License-Identifier: Apache-2.0 */
/* A pointer chase: one thread of the device follows a chain of addresses through memory, so that each read
 * waits for the one before it. The memory may be any that the device can read: its own, another GPU's, or
 * pinned host memory. */
#ifndef GPUVET_KERNELS_CHASE_H
#define GPUVET_KERNELS_CHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define CHASE_FUNCTION static __host__ __device__ inline
#else
#define CHASE_FUNCTION static inline
#endif

/* What one chase found, written by the device. */
struct chase_reading {
    uint64_t ns;     /* from before the first read to after the last one, by %globaltimer */
    uint64_t cycles; /* the same, by clock64 */
    uint64_t end;    /* the address that the last read gave */
    uint32_t sm;     /* the multiprocessor it ran on */
    uint32_t done;   /* 1: written at all */
};

/* Offset of the element that the one at `offset` points to. Every 8-byte word is an element and points
 * `stride` bytes on, round the end of the buffer. `bytes` is a multiple of `stride`, both of 8. */
CHASE_FUNCTION uint64_t chase_next(uint64_t offset, uint64_t bytes, uint64_t stride) {
    return (offset + stride) % bytes;
}

/* Offset that `hops` steps from `offset` lead to. */
CHASE_FUNCTION uint64_t chase_end(uint64_t offset, uint32_t hops, uint64_t bytes, uint64_t stride) {
    return (offset + (uint64_t)hops % (bytes / stride) * stride) % bytes;
}

#ifdef __cplusplus
extern "C" {
#endif

/* Lays the chain; the host's address of the memory must be the device's too (as for all pinned memory under
 * unified addressing). */
void chase_fill_host(void *memory, size_t bytes, size_t stride);
int chase_fill_device(void *memory, size_t bytes, size_t stride, void *stream);

/* `hops` reads from `memory` + `offset` on, by block `which` of `blocks` (the others end at once: on an idle
 * device with as many multiprocessors each block sits on its own). `plain`: ordinary loads, which may be
 * served from the L1 cache; else ld.relaxed.sys, which may not. `out` is memory that the device can write. */
int chase_launch(const void *memory, uint64_t offset, uint32_t hops, bool plain, unsigned blocks,
                 unsigned which, struct chase_reading *out, void *stream);

#ifdef __cplusplus
}
#endif

#endif
