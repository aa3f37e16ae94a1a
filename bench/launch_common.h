/* SPDX-License-Identifier: Apache-2.0 */
/* What cases share that time one call from its issue to its completion seen: where they run, what they need
 * on a GPU, rest, and proof that the GPU is awake. */
#ifndef GPUVET_BENCH_LAUNCH_COMMON_H
#define GPUVET_BENCH_LAUNCH_COMMON_H

#include "kernels/delay.h"
#include "run/case.h"

enum { LAUNCH_IDLE_US = 10000, LAUNCH_IDLE_SAMPLES = 8 };

/* ---- instances ---- */

/* For one GPU: where, attributes (with the SM's highest clock), CPU. */
struct instance *launch_instance(const struct node *node, const struct gpu_info *gpu,
                                 const struct metric *metric, enum level level, struct instance_list *out);
/* The attribute by which launch_wake knows how fast the GPU can be. */
void launch_set_clock(const struct gpu_info *gpu, struct instance *instance);
/* Params "after" (busy, idle) and "idle_us" (0: busy). */
void launch_set_after(struct instance *instance, int64_t idle_us);

/* Ways of waiting, in the order of enum gpu_wait. Param "wait" belongs to what the host times, so the marks
 * of a host series (host_mark) go with it. */
enum { LAUNCH_WAITS = 3 };
void launch_set_wait(const struct node *node, struct instance *instance, enum gpu_wait how);
enum gpu_wait launch_wait(const struct case_context *context);
/* Primary are: spin after busy, block after idle. */
enum level launch_level(bool first_of_node, enum gpu_wait how, bool idle);

/* ---- on the GPU ---- */

struct launch_bench {
    gpu_stream stream;
    gpu_event sleeping;    /* for GPU_WAIT_BLOCK */
    gpu_event start, stop; /* timed */
    struct gpu_gate *gate;
    struct delay_words *words;
    uint32_t delays; /* number of the last delay */
    double mhz;      /* when it was woken */
};

/* free also after a failure of make. */
bool launch_bench_make(struct launch_bench *b, struct error *err);
void launch_bench_free(struct launch_bench *b);

/* Sleeps. */
void launch_rest(int64_t us);

/* Issues a delay; its number is b->delays then. */
bool launch_delay(struct launch_bench *b, int64_t ns, bool report, struct error *err);

/* Seconds on the device of what `queue` issues, behind the gate. */
bool launch_gated(struct launch_bench *b, gpu_queue_fn *queue, void *arg, double *seconds, struct error *err);

/* Keeps the GPU busy until its SM clock stands, before the first sample; reads it again after the last.
 * Both go into the detail (sm_mhz_before, sm_mhz_after). Flags: not-steady; gpu-not-awake (below a third of
 * the highest clock); sm-clock-moved (by more than a tenth). */
bool launch_wake(struct case_context *context, struct launch_bench *b, struct error *err);
bool launch_still_awake(struct case_context *context, struct launch_bench *b, struct error *err);

/* Whether `count` samples will do, where `dropped` tries gave none because their beginning was seen late. In
 * a guest, whose core anybody may hold up, a quarter of those wanted will (flag start-seen-late), and fewer
 * are no error of the machine: ERROR_ABSENT, a skip. */
bool launch_enough(struct case_context *context, size_t count, int dropped, struct error *err);

/* A case's sample slot on a bench of its own: `take` takes the samples of a GPU that is awake before the
 * first one and was so until after the last. */
typedef bool launch_samples_fn(struct case_context *context, struct launch_bench *b, struct samples *out,
                               struct error *err);
bool launch_sample(struct case_context *context, launch_samples_fn *take, struct samples *out,
                   struct error *err);

#endif
