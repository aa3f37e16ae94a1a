/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that run at the same time, a pair of buffers a lane (bench/lanes.h): the slots that copy.bidir and
 * copy.all share.
 *
 * `where` with "gpu" alone: both directions of that GPU's link. With "gpus": all of them, in the direction(s)
 * of the parameter. What is measured, by the parameter direction (h2d, d2h, both): for one GPU that direction
 * while the other one runs, or both; for several, every lane, or with "gpu" beside "gpus" that GPU's lanes.
 * One measured lane has its figure while all others run twice as long; several have the sum of theirs, each
 * over its own first half while all still run. */
#ifndef GPUVET_BENCH_COPY_LANES_H
#define GPUVET_BENCH_COPY_LANES_H

#include "bench/lanes.h"

enum { COPY_H2D = 1, COPY_D2H = 2, COPY_BOTH = COPY_H2D | COPY_D2H };
extern const char *const copy_direction_names[]; /* by these numbers */

/* Which lanes there are and how long each runs, as plain data. */
struct copy_lane {
    int gpu;       /* index into the item's GPUs */
    int direction; /* COPY_H2D or COPY_D2H */
    struct lane_load load;
};
/* `out` has room for two lanes a GPU; returns how many there are. `one`: the first GPU's lanes are measured
 * only. `operations`: timed ones a sample. */
int copy_lanes_plan(int n_gpus, bool one, int direction, int operations, struct copy_lane *out);

bool copy_lanes_prepare(struct case_context *context, struct error *err);
bool copy_lanes_sample(struct case_context *context, struct samples *out, struct error *err);
bool copy_lanes_verify(struct case_context *context, struct verification *out, struct error *err);
void copy_lanes_finish(struct case_context *context);

/* Parameters bytes, memory, engine, cache, direction; samples and operations. */
void copy_lanes_set(struct instance *instance, const char *engine, int direction);

#endif
