/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/pattern.h"

/* 512 MiB are filled or checked between two measurements, so these loops must run at memory speed: one
 * version for each vector width, chosen when the program is loaded, and optimised in every kind of build. */
#if defined(__x86_64__) && defined(__gnu_linux__)
#define FAST __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define FAST
#endif

/* Words a block; divides 2^32, so that the upper half of the index is the same in a whole block. */
enum { BLOCK = PATTERN_PART_WORDS };

FAST static void fill_block(uint32_t *words, uint32_t count, uint64_t start, uint32_t seed) {
    for (uint32_t i = 0; i < count; i++)
        words[i] = pattern_word((start & ~UINT64_C(0xffffffff)) | ((uint32_t)start + i), seed);
}

FAST static uint32_t count_bad(const uint32_t *words, uint32_t count, uint64_t start, uint32_t seed) {
    uint32_t bad = 0;
    for (uint32_t i = 0; i < count; i++)
        bad += words[i] != pattern_word((start & ~UINT64_C(0xffffffff)) | ((uint32_t)start + i), seed);
    return bad;
}

static uint32_t block_at(uint64_t start, uint64_t count) {
    return count - start < BLOCK ? (uint32_t)(count - start) : BLOCK;
}

void pattern_fill_host_part(void *part, size_t bytes, uint64_t first, uint32_t seed) {
    uint32_t *words = part;
    uint64_t count = bytes / 4;
    for (uint64_t i = 0; i < count; i += BLOCK)
        fill_block(words + i, block_at(i, count), first + i, seed);
}

void pattern_fill_host(void *buffer, size_t bytes, uint32_t seed) {
    pattern_fill_host_part(buffer, bytes, 0, seed);
}

/* Index in `words` of the first wrong one from `start` on, where there is one. */
static uint64_t first_bad(const uint32_t *words, uint64_t start, uint64_t first, uint32_t seed) {
    while (words[start] == pattern_word(first + start, seed))
        start++;
    return start;
}

void pattern_check_host_part(const void *part, size_t bytes, uint64_t first, uint32_t seed,
                             struct pattern_fault *out) {
    const uint32_t *words = part;
    uint64_t count = bytes / 4;
    *out = (struct pattern_fault){0};
    for (uint64_t i = 0; i < count; i += BLOCK) {
        uint32_t bad = count_bad(words + i, block_at(i, count), first + i, seed);
        if (bad > 0 && out->bad == 0) {
            uint64_t at = first_bad(words, i, first, seed);
            out->first_offset = (first + at) * 4;
            out->expected = pattern_word(first + at, seed);
            out->found = words[at];
        }
        out->bad += bad;
    }
}

void pattern_check_host(const void *buffer, size_t bytes, uint32_t seed, struct pattern_fault *out) {
    pattern_check_host_part(buffer, bytes, 0, seed, out);
}
