/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.h for a build without a toolkit: everything links, and every call says why it cannot work. gate.c and
 * clock_probe.c stand on these functions and need no variant of their own. */
#ifndef GPUVET_HAVE_CUDA
#include "gpu/gpu.h"
#include "kernels/launch.h"

static bool absent(struct error *err) {
    return FAIL_NATIVE(err, ERROR_GPU, KERNELS_WITHOUT_CUDA,
                       "this gpuvet was built without CUDA: build it where nvcc is, or with GPUVET_CUDA=ON");
}

bool gpu_built(void) {
    return false;
}

bool gpu_start(int *count, struct error *err) {
    *count = 0;
    return absent(err);
}

bool gpu_check(int code, const char *what, struct error *err) {
    if (code == 0)
        return true;
    return absent(err) || error_context(err, "%s", what);
}

bool gpu_open(const char *uuid, struct gpu_device *out, struct error *err) {
    (void)uuid;
    *out = (struct gpu_device){0};
    return absent(err);
}

bool gpu_use(const struct gpu_device *device, struct error *err) {
    (void)device;
    return absent(err);
}

bool gpu_alive(struct error *err) {
    return absent(err);
}

bool gpu_synchronize(struct error *err) {
    return absent(err);
}

bool gpu_alloc(size_t bytes, void **out, struct error *err) {
    (void)bytes;
    *out = NULL;
    return absent(err);
}

void gpu_free(void *p) {
    (void)p;
}

bool gpu_register(void *p, size_t bytes, struct error *err) {
    (void)p, (void)bytes;
    return absent(err);
}

void gpu_unregister(void *p) {
    (void)p;
}

bool gpu_host_alloc(size_t bytes, void **out, struct error *err) {
    (void)bytes;
    *out = NULL;
    return absent(err);
}

void gpu_host_free(void *p) {
    (void)p;
}

bool gpu_device_address(void *host, void **out, struct error *err) {
    (void)host;
    *out = NULL;
    return absent(err);
}

bool gpu_memset(void *p, int byte, size_t bytes, struct error *err) {
    (void)p, (void)byte, (void)bytes;
    return absent(err);
}

bool gpu_copy_async(void *to, const void *from, size_t bytes, gpu_stream stream, struct error *err) {
    (void)to, (void)from, (void)bytes, (void)stream;
    return absent(err);
}

bool gpu_copy(void *to, const void *from, size_t bytes, struct error *err) {
    (void)to, (void)from, (void)bytes;
    return absent(err);
}

bool gpu_stream_make(gpu_stream *out, struct error *err) {
    *out = NULL;
    return absent(err);
}

void gpu_stream_free(gpu_stream stream) {
    (void)stream;
}

bool gpu_stream_wait(gpu_stream stream, struct error *err) {
    (void)stream;
    return absent(err);
}

bool gpu_stream_done(gpu_stream stream, bool *done, struct error *err) {
    (void)stream;
    *done = false;
    return absent(err);
}

bool gpu_event_make(bool blocking, gpu_event *out, struct error *err) {
    (void)blocking;
    *out = NULL;
    return absent(err);
}

bool gpu_event_make_timed(gpu_event *out, struct error *err) {
    *out = NULL;
    return absent(err);
}

void gpu_event_free(gpu_event event) {
    (void)event;
}

bool gpu_event_record(gpu_event event, gpu_stream stream, struct error *err) {
    (void)event, (void)stream;
    return absent(err);
}

bool gpu_event_wait(gpu_event event, struct error *err) {
    (void)event;
    return absent(err);
}

bool gpu_stream_wait_event(gpu_stream stream, gpu_event event, struct error *err) {
    (void)stream, (void)event;
    return absent(err);
}

bool gpu_event_elapsed(gpu_event from, gpu_event to, double *seconds, struct error *err) {
    (void)from, (void)to;
    *seconds = 0;
    return absent(err);
}

bool gpu_graph_capture(gpu_stream stream, gpu_queue_fn *queue, void *arg, gpu_graph *out, size_t *nodes,
                       struct error *err) {
    (void)stream, (void)queue, (void)arg;
    *out = NULL;
    *nodes = 0;
    return absent(err);
}

void gpu_graph_free(gpu_graph graph) {
    (void)graph;
}

bool gpu_graph_upload(gpu_graph graph, gpu_stream stream, struct error *err) {
    (void)graph, (void)stream;
    return absent(err);
}

bool gpu_graph_launch(gpu_graph graph, gpu_stream stream, struct error *err) {
    (void)graph, (void)stream;
    return absent(err);
}

bool gpu_wait_for(gpu_stream stream, enum gpu_wait how, gpu_event event, struct error *err) {
    (void)stream, (void)how, (void)event;
    return absent(err);
}
#endif
