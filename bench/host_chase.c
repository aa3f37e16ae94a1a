/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/host_chase.h"

#include <stdbool.h>

/* Four rounds, each a bijection of `bits` bits: an odd multiplication, an addition, a shifted exclusive or.
 */
uint64_t chase_line(uint64_t step, unsigned bits, uint64_t seed) {
    uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    unsigned half = bits / 2 + 1;
    uint64_t x = step & mask;
    for (int round = 0; round < 4; round++) {
        x = (x * 0x9e3779b97f4a7c15ULL + seed) & mask;
        x ^= x >> half;
        seed = seed * 0xd1342543de82ef95ULL + 0x2545f4914f6cdd1dULL;
    }
    return x;
}

static void **line_at(void *buffer, uint64_t line) {
    return (void **)((char *)buffer + line * CHASE_LINE);
}

#if defined(__x86_64__)
static const bool can_flush = true;
static void flush(const void *line) {
    __builtin_ia32_clflush(line);
}
#else
static const bool can_flush = false;
static void flush(const void *line) {
    (void)line;
}
#endif

uint64_t chase_fill(void *buffer, unsigned bits, uint64_t seed, uint64_t steps) {
    uint64_t lines = UINT64_C(1) << bits;
    uint64_t n = can_flush && steps < lines ? steps : lines;
    uint64_t first = chase_line(0, bits, seed);
    uint64_t at = first;
    for (uint64_t step = 1; step <= n; step++) {
        uint64_t next = step < n ? chase_line(step, bits, seed) : first;
        *line_at(buffer, at) = line_at(buffer, next);
        at = next;
    }
    for (uint64_t step = 0; step < n && n < lines; step++) /* all of them drive themselves out */
        flush(line_at(buffer, chase_line(step, bits, seed)));
    return n;
}

void chase_shorten(void *buffer, uint64_t line) {
    void **at = line_at(buffer, line);
    *at = *(void **)*at;
}

void *chase_walk(void *at, uint64_t steps) {
    void **p = at;
    for (uint64_t i = 0; i < steps; i++)
        p = *(void **volatile *)p;
    return p;
}
