/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of dependent instructions whose latency in cycles is known, and a vector load that draws power. */
#ifndef GPUVET_BENCH_HOST_CHAIN_H
#define GPUVET_BENCH_HOST_CHAIN_H

enum {
    CHAIN_UNROLL = 16,       /* dependent instructions in a loop's body */
    CHAIN_ADD_CYCLES = 1,    /* register to register; newer cores eliminate an immediate */
    CHAIN_IMUL_CYCLES = 3,   /* which leaves a sibling thread room */
    CHAIN_ADD_25_US = 5000,  /* loops: about 25 us at 3.2 GHz */
    CHAIN_IMUL_25_US = 1700, /* the same */
};

/* Why this processor's chains are not known; NULL: they are. */
const char *chain_unknown(void);
void chain_add(int loops);
void chain_imul(int loops);

/* GHz over one call of a chain: cycles per nanosecond. */
double chain_ghz(void (*chain)(int), int loops, int cycles);

/* Independent multiplications and additions of the widest vectors here, as dense as they issue, for about
 * `us` microseconds. */
void chain_vector(int us);
const char *chain_vector_kind(void); /* "avx512", "avx2", "sse2" */

#endif
