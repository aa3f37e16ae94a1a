/* SPDX-License-Identifier: Apache-2.0 */
/* Two kernels, each on a GPU of its own (or both on one), that hand a number to and fro: each waits for it at
 * a flag in its own GPU's memory, and writes it into the flag of the other one. Both give up by themselves,
 * so that a number that never arrives cannot hang a GPU. */
#ifndef GPUVET_KERNELS_PINGPONG_H
#define GPUVET_KERNELS_PINGPONG_H

#include <stdbool.h>
#include <stdint.h>

/* What one side found, in host memory that its GPU can write; zeroed by the caller. */
struct pingpong_reading {
    uint64_t ns;       /* of the timed exchanges, by %globaltimer */
    uint64_t cycles;   /* the same, by clock64 */
    uint32_t received; /* numbers that came, in order; those before the timed part count too */
    uint32_t wrong;    /* what stood in the flag instead, where that was neither the old nor the new number */
    uint32_t expected; /* and what should have */
    uint32_t gave_up;  /* 1: the time limit passed, 2: something else than the number came */
    uint32_t done;     /* 1: all came */
};

struct pingpong {
    uint32_t first;    /* number of the first exchange; the flags hold first - 1 at the start */
    uint32_t warm;     /* exchanges before the timed part: until both sides are there */
    uint32_t timed;    /* timed ones */
    uint64_t limit_ns; /* without any new number, by the device's clock */
};

#ifdef __cplusplus
extern "C" {
#endif

/* On the current device. `mine` is in its memory, `theirs` in the other's, mapped here; `begins`: writes
 * first. The two flags of one side must not share a line of 128 bytes with other data in use. */
int pingpong_launch(const struct pingpong *plan, bool begins, uint32_t *mine, uint32_t *theirs,
                    struct pingpong_reading *out, void *stream);

#ifdef __cplusplus
}
#endif

#endif
