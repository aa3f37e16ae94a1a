/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/chase.h"

void chase_fill_host(void *memory, size_t bytes, size_t stride) {
    uint64_t *words = memory;
    for (uint64_t i = 0; i < bytes / sizeof *words; i++)
        words[i] = (uint64_t)(uintptr_t)memory + chase_next(i * sizeof *words, bytes, stride);
}
