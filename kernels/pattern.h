/* SPDX-License-Identifier: Apache-2.0 */
/* Data that says where it belongs: every 4-byte word of a buffer is a function of its position and of a seed
 * (which differs by case, buffer and round), so that a lost, shifted, repeated or swapped block shows. The
 * same function fills and checks on host and device. Pure C, no harness header. */
#ifndef GPUVET_KERNELS_PATTERN_H
#define GPUVET_KERNELS_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define PATTERN_FUNCTION static __host__ __device__ inline
#else
#define PATTERN_FUNCTION static inline
#endif

/* A bijection of the word's index (so that no two positions within 16 GiB hold the same word), moved by the
 * seed: the finaliser of MurmurHash3 without its last multiplication. */
PATTERN_FUNCTION uint32_t pattern_word(uint64_t index, uint32_t seed) {
    uint32_t x = (uint32_t)index ^ seed;
    x ^= x >> 16;
    x *= 0x85ebca6bU;
    x ^= x >> 13;
    x *= 0xc2b2ae35U;
    x ^= x >> 16;
    return x + (uint32_t)(index >> 32) * 0x9e3779b9U;
}

/* 32 bits of seed for one buffer of one item. */
PATTERN_FUNCTION uint32_t pattern_seed(uint64_t item_seed, uint32_t buffer) {
    uint64_t x = item_seed + (uint64_t)(buffer + 1U) * 0x9e3779b97f4a7c15ULL;
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    return (uint32_t)(x ^ (x >> 32));
}

struct pattern_fault {
    uint64_t bad;          /* words that differ; 0: the buffer is as it should be */
    uint64_t first_offset; /* bytes */
    uint32_t expected, found;
};

#ifdef __cplusplus
extern "C" {
#endif

/* On the host; `bytes` is a multiple of 4. */
void pattern_fill_host(void *buffer, size_t bytes, uint32_t seed);
void pattern_check_host(const void *buffer, size_t bytes, uint32_t seed, struct pattern_fault *out);
/* The same for a part of a buffer, so that several threads can share the work: `part` holds the words from
 * `first` (a multiple of PATTERN_PART_WORDS) on. Offsets in `out` count from the start of the whole buffer.
 */
enum { PATTERN_PART_WORDS = 4096 };
void pattern_fill_host_part(void *part, size_t bytes, uint64_t first, uint32_t seed);
void pattern_check_host_part(const void *part, size_t bytes, uint64_t first, uint32_t seed,
                             struct pattern_fault *out);

/* On the current device, on `stream` (a cudaStream_t); all return a cudaError_t as int. The check waits. */
int pattern_fill_device(void *buffer, size_t bytes, uint32_t seed, void *stream);
int pattern_check_device(const void *buffer, size_t bytes, uint32_t seed, struct pattern_fault *out,
                         void *stream);

#ifdef __cplusplus
}
#endif

#endif
