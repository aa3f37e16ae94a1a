/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute "cache": whether what an item's timed operations touch, again and again, is in a cache or not.
 * For cases whose parameters do not say it; it follows from them, so it is no part of the key. */
#ifndef GPUVET_BENCH_CACHE_WORD_H
#define GPUVET_BENCH_CACHE_WORD_H

#include "run/case.h"

/* "hot": at most half of a cache that holds `least`; "cold": at least twice one that may hold `most`, walked
 * in order, so that nothing is left when the walk comes round; "partly" between. All in bytes. */
const char *cache_word(double walked, double least, double most);

/* By the L2 of a GPU of that compute capability: NVML does not tell its size, and architectures differ. */
const char *cache_word_gpu(const struct gpu_info *gpu, double walked);

/* Sets the attribute. */
void cache_set(struct instance *instance, const char *word);

#endif
