/* SPDX-License-Identifier: Apache-2.0 */
/* What the cases share in which multiprocessors chase pointers (gpu/chase.h): of copy.latency through host
 * memory, of p2p.latency through another GPU's. Its parameters are bytes, stride, hops and loads. */
#ifndef GPUVET_BENCH_CHASE_COMMON_H
#define GPUVET_BENCH_CHASE_COMMON_H

#include "gpu/chase.h"
#include "run/case.h"

struct chase_run {
    gpu_stream stream;      /* the case's own */
    struct gpu_chase chase; /* `memory` is the case's own */
    struct gpu_chase_result last;
};

/* Whether this instance of the case is a chase. */
bool chase_is_wanted(const struct case_context *context);

/* From the parameters, all but the memory. ERROR_DATA where the buffer is no multiple of the stride. */
bool chase_plan(const struct case_context *context, struct gpu_chase *out, struct error *err);

/* One sweep by the context's first GPU, which is current; its result is in `run->last`. */
bool chase_sweep(const struct case_context *context, struct chase_run *run, struct error *err);

/* The wanted samples, to be called after the case's warm-up; a sweep that went astray is the last one. */
bool chase_take_samples(struct case_context *context, struct chase_run *run, struct samples *out,
                        struct error *err);

/* Each chase of the last sweep must have ended where the chain leads. */
void chase_verify(const struct chase_run *run, struct verification *out);

#endif
