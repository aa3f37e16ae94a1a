/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between host and device. Instances that all copy cases make alike, and the slots of a case that
 * copies one pair of buffers (bench/copy_pair.h), one way, on one GPU. */
#ifndef GPUVET_BENCH_COPY_COMMON_H
#define GPUVET_BENCH_COPY_COMMON_H

#include "run/case.h"

/* An instance for one GPU, with where (gpu, role=local), attributes (bdf, os_node), CPU, bytes, and memory.
 */
struct instance *copy_instance(const struct node *node, const struct gpu_info *gpu,
                               const struct metric *metric, enum level level, int64_t bytes,
                               const char *memory, struct instance_list *out);
/* The parameters engine (ce: the copy engine, sm: a kernel) and cache=cold: the copies of an item go through
 * buffers of 512 MiB, over three times any L2 cache, and come round only then. */
void copy_set_way(struct instance *instance, const char *engine);

/* Slots of struct bench_case. The source is filled, the destination spoiled, by position-dependent data;
 * params "corrupt" = word, shift or swap damages the destination before the check (to prove the check). */
bool copy_prepare_h2d(struct case_context *context, struct error *err);
bool copy_prepare_d2h(struct case_context *context, struct error *err);
bool copy_poison(struct case_context *context, struct error *err);
bool copy_enqueue(struct case_context *context, gpu_stream stream, int count, struct error *err);
bool copy_verify(struct case_context *context, struct verification *out, struct error *err);
double copy_work(const struct case_context *context);
void copy_finish(struct case_context *context);
/* Pageable memory: copies that wait by themselves, timed by the host. */
bool copy_is_pageable(const struct case_context *context);
bool copy_sample_pageable(struct case_context *context, struct samples *out, struct error *err);

/* All instances of copy.h2d or copy.d2h. */
void copy_bandwidth_instances(const struct node *node, const struct metric *metric,
                              struct instance_list *out);

#endif
