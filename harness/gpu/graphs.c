/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs: captured from a stream, launched as one. */
#ifdef GPUVET_HAVE_CUDA
#include "gpu/cuda.h"

static bool instantiate(cudaGraph_t graph, gpu_graph *out, size_t *nodes, struct error *err) {
    cudaGraphExec_t exec = NULL;
    if (!CUDA(cudaGraphGetNodes(graph, NULL, nodes), "cannot count a graph's nodes", err) ||
        !CUDA(cudaGraphInstantiate(&exec, graph, 0), "cannot instantiate a graph", err))
        return RELAY(err);
    *out = exec;
    return true;
}

bool gpu_graph_capture(gpu_stream stream, gpu_queue_fn *queue, void *arg, gpu_graph *out, size_t *nodes,
                       struct error *err) {
    cudaGraph_t graph = NULL;
    *out = NULL;
    *nodes = 0;
    if (!CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cannot begin a capture",
              err))
        return RELAY(err);
    bool queued = queue(arg, stream, err);
    /* Ended also after a failure: a stream that captures can do nothing else. */
    cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    bool good = queued && CUDA(ended, "cannot end a capture", err) && instantiate(graph, out, nodes, err);
    if (graph != NULL)
        cudaGraphDestroy(graph);
    if (!good)
        cudaGetLastError();
    return good || RELAY(err);
}

void gpu_graph_free(gpu_graph graph) {
    if (graph != NULL)
        cudaGraphExecDestroy(graph);
}

bool gpu_graph_upload(gpu_graph graph, gpu_stream stream, struct error *err) {
    return CUDA(cudaGraphUpload(graph, stream), "cannot upload a graph", err) || RELAY(err);
}

bool gpu_graph_launch(gpu_graph graph, gpu_stream stream, struct error *err) {
    return CUDA(cudaGraphLaunch(graph, stream), "cannot launch a graph", err) || RELAY(err);
}
#endif
