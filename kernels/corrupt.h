/* SPDX-License-Identifier: Apache-2.0 */
/* Damage done on purpose, to prove that a check finds it. Offsets and sizes are multiples of 16 bytes. */
#ifndef GPUVET_KERNELS_CORRUPT_H
#define GPUVET_KERNELS_CORRUPT_H

#include <stddef.h>
#include <stdint.h>

enum {
    CORRUPT_WORD_BYTES = 16,     /* what corrupt_word changes */
    CORRUPT_SHIFT_BYTES = 16384, /* the block that corrupt_shift moves */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Turns over every bit of the 16 bytes at `offset`. */
void corrupt_word_host(void *buffer, uint64_t offset);
int corrupt_word_device(void *buffer, uint64_t offset, void *stream);

/* Moves the block of CORRUPT_SHIFT_BYTES at `offset` up by 16 bytes; its last 16 come round to its start. */
void corrupt_shift_host(void *buffer, uint64_t offset);
int corrupt_shift_device(void *buffer, uint64_t offset, void *stream);

/* Exchanges the contents of two buffers. */
void corrupt_swap_host(void *a, void *b, size_t bytes);
int corrupt_swap_device(void *a, void *b, size_t bytes, void *stream);

#ifdef __cplusplus
}
#endif

#endif
