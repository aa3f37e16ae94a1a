/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes: several streams, on one GPU or on several, that begin together and are each timed by their own
 * events. For figures that mean something only while others run: both directions of a link, all GPUs at once.
 *
 * A lane has operations that count and, where it also has to load the others, more of them behind its timed
 * part:
 *
 *     lane            begin           total       what for
 *     measured        timed = n       total = n   one lane's figure while the others run …
 *     load            timed = 0       total = 2n  … which last about twice as long as it
 *     both of these   timed = n       total = 2n  each lane's figure while all run: their sum is the total
 *
 * Lanes of one GPU begin by one event, recorded behind a gate kernel on a stream of its own; the gate kernels
 * of all GPUs are released by one store of the host. An event across GPUs would have to travel from the first
 * GPU to the others, which would begin later by that time, and the first lane always alone; the word in host
 * memory is read by all of them at the same distance. Behind the gate the rules of run/measure.c hold:
 * nothing that is queued may wait, allocate or load; at most GPU_GATE_MAX_OPERATIONS operations a lane; the
 * gate gives up after 5 s on the device, and then the sample is an error.
 *
 * Use, in a case's sample() (bench/copy_lanes.c is one):
 *
 *     lanes_make(n, devices, &lanes, err)
 *     lanes_sample(lanes, &work, context, out, err)    warm-up, poison, all samples
 *     lanes_free(lanes)
 */
#ifndef GPUVET_BENCH_LANES_H
#define GPUVET_BENCH_LANES_H

#include "run/case.h"

enum { LANES_MAX = 128 };

struct lanes;

/* Lane i runs on a stream of devices[i] (opened, which context->gpus are); several lanes may be on one
 * device. */
bool lanes_make(int n, const struct gpu_device *const *devices, struct lanes **out, struct error *err);
/* Waits for what still runs. NULL allowed; the first lane's GPU is current afterwards. */
void lanes_free(struct lanes *lanes);

struct lane_load {
    int timed; /* operations between the lane's two events; 0: it is not measured */
    int total; /* all of them, at least `timed` */
};

struct lane_time {
    double seconds; /* of the timed operations; 0 for a lane that is not measured */
    double whole;   /* of all operations */
};

/* Queues `count` operations of a lane on `stream`. The lane's GPU is current, and must be so on return. */
typedef bool lanes_queue_fn(void *arg, int lane, gpu_stream stream, int count, struct error *err);

/* One sample: loads[i] and times[i] belong to lane i. The first lane's GPU is current afterwards. */
bool lanes_run(struct lanes *lanes, const struct lane_load *loads, lanes_queue_fn *queue, void *arg,
               struct lane_time *times, struct error *err);
/* Mean SM clock over the last sample, of the slowest of the GPUs; -1: not known. */
double lanes_mhz(const struct lanes *lanes);

/* True when every lane that has operations behind its timed part (or is load only) was still at it when the
 * slowest of the other lanes' timed parts ended. */
bool lanes_overlapped(const struct lane_load *loads, const struct lane_time *times, int n);

struct lanes_work {
    const struct lane_load *loads;
    lanes_queue_fn *queue;
    void *arg;
    bool links_idle; /* what the lanes do leaves the PCIe links alone (NVLink): nobody looks at them in the
                        warm-up (run/link_look.h) */
    /* Spoils the destinations, after the warm-up. A case that uses this leaves bench_case.poison empty. NULL:
     * nothing to spoil. */
    bool (*poison)(struct case_context *context, struct error *err);
    /* The sample in the metric's unit. */
    double (*value)(void *arg, const struct lane_time *times);
};

/* Runs a quarter of the operations again and again, ungated, until two batches in a row take the same time
 * (bounded; else the flag not-steady). */
bool lanes_warm_up(struct lanes *lanes, const struct lanes_work *work, struct case_context *context,
                   struct error *err);

/* lanes_warm_up, poison, then context->wanted_samples samples. Adds the SM clocks, and the flag
 * load-ended-early where lanes_overlapped was false for a sample: the figure is then too good. */
bool lanes_sample(struct lanes *lanes, const struct lanes_work *work, struct case_context *context,
                  struct samples *out, struct error *err);

#endif
