/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs through the CUDA runtime (linked statically; libcuda itself is loaded at run time by it). No CUDA type
 * shows here, so that everything above builds without a toolkit; then every call fails with the reason
 * "built without CUDA". All of it is for the worker's child process only: the coordinator never touches CUDA.
 */
#ifndef GPUVET_GPU_GPU_H
#define GPUVET_GPU_GPU_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void *gpu_stream; /* a cudaStream_t */
typedef void *gpu_event;  /* a cudaEvent_t */

/* Whether this program was built with CUDA. */
bool gpu_built(void);

/* Starts CUDA in this process; `count` gets the number of devices. False with CUDA's own words (and what it
 * usually means) when it cannot. */
bool gpu_start(int *count, struct error *err);

/* Turns what a launcher of kernels/ returned (a cudaError_t as int) into an error that begins with `what`
 * ("cannot fill a device buffer"). True for 0. */
bool gpu_check(int code, const char *what, struct error *err);

struct gpu_device {
    int ordinal;
    int cc_major, cc_minor;
    int sm_count;
    int64_t l2_bytes;
    int64_t memory_bytes;
    int copy_engines;
    char bdf[16];  /* lower case */
    char uuid[80]; /* "GPU-…" */
    char name[96];
};

/* The device with this UUID, made current for the calling thread, primary context created (its schedule is
 * spin), all kernels of kernels/ that are timed or wait behind a gate loaded. */
bool gpu_open(const char *uuid, struct gpu_device *out, struct error *err);
bool gpu_use(const struct gpu_device *device, struct error *err);

/* True when the context still works; false means a sticky error: the process must be replaced. */
bool gpu_alive(struct error *err);

bool gpu_synchronize(struct error *err);

/* ---- memory ---- */
bool gpu_alloc(size_t bytes, void **out, struct error *err);
void gpu_free(void *p); /* NULL allowed */
/* Makes existing host memory (a host_buffer) known to the driver: "pinned". */
bool gpu_register(void *p, size_t bytes, struct error *err);
void gpu_unregister(void *p); /* NULL allowed */
/* The driver's own pinned memory: "hostalloc". */
bool gpu_host_alloc(size_t bytes, void **out, struct error *err);
void gpu_host_free(void *p); /* NULL allowed */
/* Where kernels of the current GPU find pinned host memory. */
bool gpu_device_address(void *host, void **out, struct error *err);
bool gpu_memset(void *p, int byte, size_t bytes, struct error *err); /* waits */
/* cudaMemcpyAsync with the direction given by the addresses. */
bool gpu_copy_async(void *to, const void *from, size_t bytes, gpu_stream stream, struct error *err);
bool gpu_copy(void *to, const void *from, size_t bytes, struct error *err); /* waits */

/* ---- streams and events ---- */
bool gpu_stream_make(gpu_stream *out, struct error *err); /* non-blocking */
void gpu_stream_free(gpu_stream stream);
bool gpu_stream_wait(gpu_stream stream, struct error *err); /* as the device's schedule flag says */
bool gpu_stream_done(gpu_stream stream, bool *done, struct error *err); /* a query, never waits */
bool gpu_event_make(bool blocking, gpu_event *out,
                    struct error *err); /* blocking: waits by sleeping, no timing */
bool gpu_event_make_timed(gpu_event *out, struct error *err);
void gpu_event_free(gpu_event event);
bool gpu_event_record(gpu_event event, gpu_stream stream, struct error *err);
bool gpu_event_wait(gpu_event event, struct error *err);
/* What is issued on `stream` from now on waits, on the device, for `event` as recorded last; of any GPU. */
bool gpu_stream_wait_event(gpu_stream stream, gpu_event event, struct error *err);
bool gpu_event_elapsed(gpu_event from, gpu_event to, double *seconds, struct error *err);

/* How the host waits. */
enum gpu_wait { GPU_WAIT_SPIN, GPU_WAIT_BLOCK, GPU_WAIT_POLL };
/* Waits for everything issued on `stream`: spin (cudaStreamSynchronize under the spin schedule), block (an
 * event with cudaEventBlockingSync) or poll (cudaStreamQuery in a loop). `event` is needed for block only. */
bool gpu_wait_for(gpu_stream stream, enum gpu_wait how, gpu_event event, struct error *err);

/* ---- graphs ---- */
typedef void *gpu_graph; /* a cudaGraphExec_t */
/* Queues work on `stream`; nothing in it may wait, allocate or load. */
typedef bool gpu_queue_fn(void *arg, gpu_stream stream, struct error *err);
/* What `queue` issues becomes a graph instead of running; `nodes` gets how many nodes it has. */
bool gpu_graph_capture(gpu_stream stream, gpu_queue_fn *queue, void *arg, gpu_graph *out, size_t *nodes,
                       struct error *err);
void gpu_graph_free(gpu_graph graph); /* NULL allowed; not while it runs */
/* Readies the graph on the device, so that its first launch is like the later ones. */
bool gpu_graph_upload(gpu_graph graph, gpu_stream stream, struct error *err);
bool gpu_graph_launch(gpu_graph graph, gpu_stream stream, struct error *err);

/* ---- the gate ----
 * A kernel that holds a stream until it is released from the host or its time limit passes on the device.
 * What is queued behind it starts at once on release, so that launch cost stays outside the timed part. Only
 * so many operations may be queued behind one: the driver's queue is finite, and who fills it waits for ever.
 */
enum { GPU_GATE_MAX_OPERATIONS = 256 };
#define GPU_GATE_LIMIT_NS INT64_C(5000000000) /* the time limit of all that is measured */
struct gpu_gate;
bool gpu_gate_make(struct gpu_gate **out, struct error *err);
void gpu_gate_free(struct gpu_gate *gate);
bool gpu_gate_close(struct gpu_gate *gate, gpu_stream stream, int64_t limit_ns, struct error *err);
/* The same closing holds one more stream, of any GPU (which must be current): one opening releases them all,
 * each as soon as its kernel sees the word in host memory, within about a microsecond of each other. */
bool gpu_gate_join(struct gpu_gate *gate, gpu_stream stream, struct error *err);
/* Opens the gate. After the stream was waited for, gpu_gate_held is true when the gate held until then;
 * false, with `err` filled, when it had given up before (then the timed part is worthless). */
void gpu_gate_open(struct gpu_gate *gate);
bool gpu_gate_held(const struct gpu_gate *gate, struct error *err);

/* Mean SM clock between two probes, from clock64 and %globaltimer read on the device: queue one before and
 * one after the timed part (`which` 0 and 1), on its stream, outside the timed events. MHz, of the middle one
 * of the multiprocessors; -1 when the interval was too short. */
struct gpu_clock_probe;
bool gpu_clock_probe_make(struct gpu_clock_probe **out, struct error *err);
void gpu_clock_probe_free(struct gpu_clock_probe *probe);
bool gpu_clock_probe_read(struct gpu_clock_probe *probe, gpu_stream stream, int which, struct error *err);
double gpu_clock_probe_mhz(const struct gpu_clock_probe *probe);

#endif
