/* SPDX-License-Identifier: Apache-2.0 */
/* One cycle through all cache lines of a buffer in an order that no prefetcher foresees. The order is a
 * bijection of the line's number, so that the place after any number of steps is known without walking. */
#ifndef GPUVET_BENCH_HOST_CHASE_H
#define GPUVET_BENCH_HOST_CHASE_H

#include <stdint.h>

enum { CHASE_LINE = 64 };

/* Line that comes as the `step`-th of 2^`bits`; another order for each seed. */
uint64_t chase_line(uint64_t step, unsigned bits, uint64_t seed);

/* Writes the first `steps` steps into `buffer` (2^bits lines of CHASE_LINE bytes, those walked each beginning
 * with the address of the next) and closes them to a cycle; as many as there are lines, or more, are the one
 * through all. What is written is in no cache afterwards, whether that is much or little: where lines cannot
 * be flushed, always all are written. Returns the cycle's length. */
uint64_t chase_fill(void *buffer, unsigned bits, uint64_t seed, uint64_t steps);

/* Leaves out the line that follows `line`, for tests. */
void chase_shorten(void *buffer, uint64_t line);

/* Follows it from `at` for `steps` loads, one after the other; returns where it arrived. */
void *chase_walk(void *at, uint64_t steps);

#endif
