/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between host and device: buffers, data, checks. Shared by copy.h2d, copy.d2h and copy.latency. */
#ifndef GPUVET_BENCH_COPY_COMMON_H
#define GPUVET_BENCH_COPY_COMMON_H

#include "run/case.h"

/* An instance for one GPU, with where (gpu, role=local), attributes (bdf, os_node), CPU, bytes, and memory.
 */
struct instance *copy_instance(const struct node *node, const struct gpu_info *gpu,
                               const struct metric *metric, enum level level, int64_t bytes,
                               const char *memory, struct instance_list *out);

/* Slots of struct bench_case. The source is filled, the destination spoiled, by position-dependent data;
 * params "corrupt" = word, shift or swap damages the destination before the check (to prove the check). */
bool copy_prepare_h2d(struct case_context *context, struct error *err);
bool copy_prepare_d2h(struct case_context *context, struct error *err);
bool copy_poison(struct case_context *context, struct error *err);
bool copy_enqueue(struct case_context *context, gpu_stream stream, int count, struct error *err);
bool copy_verify(struct case_context *context, struct verification *out, struct error *err);
double copy_work(const struct case_context *context);
void copy_finish(struct case_context *context);

/* All instances of copy.h2d or copy.d2h. */
void copy_bandwidth_instances(const struct node *node, const struct metric *metric,
                              struct instance_list *out);

#endif
