/* SPDX-License-Identifier: Apache-2.0 */
/* Data for collectives, made so that a sum over ranks is exact in any order and by any path: whole numbers
 * small enough that every partial sum has an exact representation in the type. Each element depends on its
 * index, its rank and a seed, so that a lost, shifted, repeated or foreign part shows. The same functions
 * fill and check on host and device. Pure C, no harness header. */
#ifndef GPUVET_KERNELS_COLLECTIVE_H
#define GPUVET_KERNELS_COLLECTIVE_H

#include "kernels/pattern.h"

#include <string.h>

enum collective_type { COLLECTIVE_INT32, COLLECTIVE_FLOAT, COLLECTIVE_HALF, COLLECTIVE_BF16 };

PATTERN_FUNCTION size_t collective_size(int type) {
    return type == COLLECTIVE_HALF || type == COLLECTIVE_BF16 ? 2 : 4;
}

/* Values of one rank are below this; 0: any 32 bits (sums wrap, which is exact too). The largest sum over all
 * ranks is then at most 2^24, 2^11 and 2^8: what a float, a half and a bf16 still count in steps of one. */
PATTERN_FUNCTION uint32_t collective_range(int type, int ranks) {
    const uint32_t n = ranks > 0 ? (uint32_t)ranks : 1U;
    switch (type) {
    case COLLECTIVE_FLOAT:
        return (1U << 24) / n;
    case COLLECTIVE_HALF:
        return (1U << 11) / n;
    case COLLECTIVE_BF16:
        return (1U << 8) / n;
    default:
        return 0;
    }
}

PATTERN_FUNCTION uint32_t collective_value(uint64_t index, int type, int rank, int ranks, uint32_t seed) {
    const uint32_t word = pattern_word(index, seed + (uint32_t)rank * 0x9e3779b9U);
    const uint32_t range = collective_range(type, ranks);
    return range == 0 ? word : (uint32_t)(((uint64_t)word * range) >> 32);
}

/* A whole number, at most 2048, as half: its leading one is implied. */
PATTERN_FUNCTION uint32_t collective_half_bits(uint32_t value) {
    uint32_t exponent = 0;
    if (value == 0)
        return 0;
    while ((value >> exponent) > 1)
        exponent++;
    const uint32_t fraction = exponent <= 10 ? value << (10 - exponent) : value >> (exponent - 10);
    return (exponent + 15) << 10 | (fraction & 0x3ffU);
}

PATTERN_FUNCTION uint32_t collective_bits(int type, uint32_t value) {
    if (type == COLLECTIVE_INT32)
        return value;
    if (type == COLLECTIVE_HALF)
        return collective_half_bits(value);
    const float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return type == COLLECTIVE_BF16 ? bits >> 16 : bits;
}

/* What a buffer should hold: element i is what `from` has at `first` + i. */
enum { COLLECTIVE_SUM = -1 /* over all ranks */, COLLECTIVE_BY_BLOCK = -2 };
struct collective_data {
    int type;
    int ranks;
    int from;       /* a rank; or the sum; or by block: block k is what rank k has at `first` on */
    uint64_t block; /* elements, by block only */
    uint64_t first;
    uint32_t seed;
};

PATTERN_FUNCTION uint32_t collective_expected(const struct collective_data *data, uint64_t i) {
    uint32_t value = 0;
    if (data->from == COLLECTIVE_SUM) {
        for (int rank = 0; rank < data->ranks; rank++)
            value += collective_value(data->first + i, data->type, rank, data->ranks, data->seed);
    } else if (data->from == COLLECTIVE_BY_BLOCK) {
        value = collective_value(data->first + i % data->block, data->type, (int)(i / data->block),
                                 data->ranks, data->seed);
    } else {
        value = collective_value(data->first + i, data->type, data->from, data->ranks, data->seed);
    }
    return collective_bits(data->type, value);
}

struct collective_fault {
    uint64_t bad;          /* elements that differ; 0: all is as it should be */
    uint64_t first_offset; /* bytes */
    uint32_t expected, found;
};

#ifdef __cplusplus
extern "C" {
#endif

/* `count` elements. */
void collective_fill_host(void *buffer, uint64_t count, const struct collective_data *data);
void collective_check_host(const void *buffer, uint64_t count, const struct collective_data *data,
                           struct collective_fault *out);

/* On the current device, on `stream` (a cudaStream_t); all return a cudaError_t as int. The check waits. */
int collective_fill_device(void *buffer, uint64_t count, const struct collective_data *data, void *stream);
int collective_check_device(const void *buffer, uint64_t count, const struct collective_data *data,
                            struct collective_fault *out, void *stream);

/* bf16 numbers spread evenly between -scale and scale, for GEMM operands. */
int collective_spread_device(void *buffer, uint64_t count, float scale, uint32_t seed, void *stream);

#ifdef __cplusplus
}
#endif

/* The same number on the host: bits of bf16, truncated. */
PATTERN_FUNCTION uint32_t collective_spread_bits(uint64_t index, float scale, uint32_t seed) {
    const float number = ((float)(pattern_word(index, seed) >> 8) / 8388608.0F - 1.0F) * scale;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits >> 16;
}

#endif
