/* SPDX-License-Identifier: Apache-2.0 */
/* One core's part of a buffer that all cores of a node read at once. The sum of every block is known from the
 * filling, so each timed read is checked; the words are checked once more at the end. */
#ifndef GPUVET_BENCH_HOST_STREAM_H
#define GPUVET_BENCH_HOST_STREAM_H

#include "kernels/pattern.h"
#include "run/case.h"

#include <stddef.h>
#include <stdint.h>

enum { STREAM_BLOCK = 128 << 10 };

struct stream_part {
    unsigned char *data;
    size_t bytes; /* whole blocks */
    uint32_t seed;
    uint64_t *sums; /* of each block, owned */
    size_t at;      /* the block to be read next */
    uint64_t read;  /* bytes read in timed passes */
    uint64_t wrong; /* timed blocks whose sum was another one */
    size_t first_wrong;
    struct pattern_fault fault; /* at the end */
};

/* The `index`-th of `n` equal parts of a buffer; what is left over at its end is not read. */
void stream_share(void *buffer, size_t bytes, int n, int index, uint32_t seed, struct stream_part *out);

void stream_fill(struct stream_part *part);

/* Reads block after block, round and round, for about `ns`; GB/s over the exact time. */
double stream_read(struct stream_part *part, int64_t ns);

void stream_check(struct stream_part *part);
/* Adds this part's verdict; `buffer` is where offsets count from. */
void stream_verdict(const struct stream_part *part, const void *buffer, struct verification *out);

/* Share of [start, start + bytes) that is in huge pages, by the text of /proc/PID/smaps (mappings that touch
 * it, as a whole: the kernel joins neighbours); NAN: not in it. */
double stream_huge_share(const char *smaps, uintptr_t start, size_t bytes);

#endif
