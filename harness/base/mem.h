/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that does not fail: running out of memory in a small program leaves nothing sensible to do, so
 * these end the process with one line on stderr and status 2. What they return is released with free(). */
#ifndef GPUVET_BASE_MEM_H
#define GPUVET_BASE_MEM_H

#include <stddef.h>

/* Zeroed memory for `count` objects of `size` bytes; overflow of the product ends it too. */
void *mem_zeroed(size_t count, size_t size) __attribute__((returns_nonnull));

/* `old` grown or shrunk to `count` objects of `size` bytes; what is new is not zeroed. */
void *mem_resize(void *old, size_t count, size_t size) __attribute__((returns_nonnull));

/* A copy of `s` (NULL gives NULL). */
char *mem_copy_string(const char *s);

/* A copy of the first `n` bytes of `s`, terminated. */
char *mem_copy_bytes(const char *s, size_t n) __attribute__((returns_nonnull));

/* Makes room for one more object in a growing array: `*array` holds `used` objects of `size` bytes in space
 * for `*capacity`. */
void *mem_grow(void *array, size_t used, size_t *capacity, size_t size);

#endif
