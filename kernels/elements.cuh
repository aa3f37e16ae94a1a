/* SPDX-License-Identifier: Apache-2.0 */
/* Filling and checking large buffers of which each element is known by its index. `expected(i)` says what
 * element i is. */
#ifndef GPUVET_KERNELS_ELEMENTS_CUH
#define GPUVET_KERNELS_ELEMENTS_CUH

#include <cuda_runtime.h>
#include <stdint.h>

enum { ELEMENT_THREADS = 256, ELEMENT_BLOCKS = 4096 };

/* Blocks of ELEMENT_THREADS. */
static inline unsigned element_blocks(uint64_t count) {
    const uint64_t wanted = (count + ELEMENT_THREADS - 1) / ELEMENT_THREADS;
    return static_cast<unsigned>(wanted < ELEMENT_BLOCKS ? wanted : uint64_t{ELEMENT_BLOCKS});
}

template <typename Element, typename Expected>
static __device__ void fill_elements(Element *elements, uint64_t count, Expected expected) {
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
        elements[i] = static_cast<Element>(expected(i));
}

/* What a check finds, in device memory. */
struct element_tally {
    unsigned long long bad;
    unsigned long long first; /* index of the first wrong element; all ones: none */
};

template <typename Element, typename Expected>
static __device__ void check_elements(const Element *elements, uint64_t count, Expected expected,
                                      element_tally *out) {
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    unsigned long long bad = 0;
    unsigned long long first = ~0ULL;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        if (elements[i] != static_cast<Element>(expected(i))) {
            bad++;
            first = first < i ? first : i; /* i only grows, so this keeps the thread's first */
        }
    }
    if (bad > 0) { /* rare: a whole buffer that is wrong costs one pair of atomics a thread */
        atomicAdd(&out->bad, bad);
        atomicMin(&out->first, first);
    }
}

/* To the host; waits. */
static inline cudaError_t fetch_bytes(void *to, const void *from, size_t bytes, cudaStream_t stream) {
    const cudaError_t status = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream);
    return status == cudaSuccess ? cudaStreamSynchronize(stream) : status;
}

/* `launch(tally)` launches a kernel that checks, on `stream`; waits. */
template <typename Launch>
static cudaError_t run_check(Launch launch, element_tally *out, cudaStream_t stream) {
    const element_tally start = {0, ~0ULL};
    element_tally *found = nullptr;
    cudaError_t status = cudaMalloc(&found, sizeof *found);
    if (status != cudaSuccess)
        return status;
    status = cudaMemcpyAsync(found, &start, sizeof start, cudaMemcpyHostToDevice, stream);
    if (status == cudaSuccess) {
        launch(found);
        status = cudaGetLastError();
    }
    if (status == cudaSuccess)
        status = fetch_bytes(out, found, sizeof *out, stream);
    const cudaError_t freed = cudaFree(found);
    return status != cudaSuccess ? status : freed;
}

#endif
