/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events, and the three ways of waiting. */
#ifdef GPUVET_HAVE_CUDA
#include "gpu/cuda.h"

bool gpu_stream_make(gpu_stream *out, struct error *err) {
    cudaStream_t stream = NULL;
    if (!CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cannot make a stream", err))
        return RELAY(err);
    *out = stream;
    return true;
}

void gpu_stream_free(gpu_stream stream) {
    if (stream != NULL)
        cudaStreamDestroy(stream);
}

bool gpu_stream_wait(gpu_stream stream, struct error *err) {
    return CUDA(cudaStreamSynchronize(stream), "work on a stream failed", err) || RELAY(err);
}

bool gpu_stream_done(gpu_stream stream, bool *done, struct error *err) {
    cudaError_t status = cudaStreamQuery(stream);
    *done = status == cudaSuccess;
    if (*done || status == cudaErrorNotReady)
        return true;
    return CUDA(status, "work on a stream failed", err) || RELAY(err);
}

static bool event_make(unsigned flags, gpu_event *out, struct error *err) {
    cudaEvent_t event = NULL;
    if (!CUDA(cudaEventCreateWithFlags(&event, flags), "cannot make an event", err))
        return RELAY(err);
    *out = event;
    return true;
}

bool gpu_event_make(bool blocking, gpu_event *out, struct error *err) {
    return event_make(cudaEventDisableTiming | (blocking ? cudaEventBlockingSync : 0U), out, err) ||
           RELAY(err);
}

bool gpu_event_make_timed(gpu_event *out, struct error *err) {
    return event_make(cudaEventDefault, out, err) || RELAY(err);
}

void gpu_event_free(gpu_event event) {
    if (event != NULL)
        cudaEventDestroy(event);
}

bool gpu_event_record(gpu_event event, gpu_stream stream, struct error *err) {
    return CUDA(cudaEventRecord(event, stream), "cannot record an event", err) || RELAY(err);
}

bool gpu_event_wait(gpu_event event, struct error *err) {
    return CUDA(cudaEventSynchronize(event), "work before an event failed", err) || RELAY(err);
}

bool gpu_stream_wait_event(gpu_stream stream, gpu_event event, struct error *err) {
    return CUDA(cudaStreamWaitEvent(stream, event, 0), "cannot make a stream wait for an event", err) ||
           RELAY(err);
}

bool gpu_event_elapsed(gpu_event from, gpu_event to, double *seconds, struct error *err) {
    float ms = 0;
    if (!CUDA(cudaEventElapsedTime(&ms, from, to), "cannot read the time between two events", err))
        return RELAY(err);
    *seconds = (double)ms / 1e3;
    return true;
}

static bool poll_until_done(gpu_stream stream, struct error *err) {
    bool done = false;
    while (!done)
        if (!gpu_stream_done(stream, &done, err))
            return RELAY(err);
    return true;
}

bool gpu_wait_for(gpu_stream stream, enum gpu_wait how, gpu_event event, struct error *err) {
    switch (how) {
    case GPU_WAIT_SPIN:
        return gpu_stream_wait(stream, err);
    case GPU_WAIT_BLOCK:
        return gpu_event_record(event, stream, err) && gpu_event_wait(event, err);
    case GPU_WAIT_POLL:
        break;
    }
    return poll_until_done(stream, err);
}
#endif
