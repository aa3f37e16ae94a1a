/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/load.h"
#include "kernels/pattern.h"

enum { THREADS = 256, BLOCKS = 4096 };

/* What a check finds, in device memory. */
struct tally {
    unsigned long long bad;
    unsigned long long first; /* index of the first wrong word; all ones: none */
};

static __global__ void pattern_fill_kernel(uint32_t *words, uint64_t count, uint32_t seed) {
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
        words[i] = pattern_word(i, seed);
}

static __global__ void pattern_check_kernel(const uint32_t *words, uint64_t count, uint32_t seed,
                                            tally *out) {
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    unsigned long long bad = 0;
    unsigned long long first = ~0ULL;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        if (words[i] != pattern_word(i, seed)) {
            bad++;
            first = first < i ? first : i; /* i only grows, so this keeps the thread's first */
        }
    }
    if (bad > 0) { /* rare: a whole buffer that is wrong costs one pair of atomics a thread */
        atomicAdd(&out->bad, bad);
        atomicMin(&out->first, first);
    }
}

static unsigned grid_for(uint64_t count) {
    const uint64_t wanted = (count + THREADS - 1) / THREADS;
    return static_cast<unsigned>(wanted < BLOCKS ? wanted : uint64_t{BLOCKS});
}

extern "C" int pattern_fill_device(void *buffer, size_t bytes, uint32_t seed, void *stream) {
    const uint64_t count = bytes / 4;
    if (count == 0)
        return 0;
    pattern_fill_kernel<<<grid_for(count), THREADS, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<uint32_t *>(buffer), count, seed);
    return static_cast<int>(cudaGetLastError());
}

/* The word found at the first wrong place, fetched from the buffer itself. */
static cudaError_t fetch_fault(const void *buffer, const tally *found, uint32_t seed, pattern_fault *out,
                               cudaStream_t stream) {
    tally host = {0, 0};
    cudaError_t status = cudaMemcpyAsync(&host, found, sizeof host, cudaMemcpyDeviceToHost, stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(stream);
    if (status != cudaSuccess || host.bad == 0)
        return status;
    out->bad = host.bad;
    out->first_offset = host.first * 4;
    out->expected = pattern_word(host.first, seed);
    status = cudaMemcpyAsync(&out->found, static_cast<const char *>(buffer) + out->first_offset,
                             sizeof out->found, cudaMemcpyDeviceToHost, stream);
    return status == cudaSuccess ? cudaStreamSynchronize(stream) : status;
}

extern "C" int pattern_check_device(const void *buffer, size_t bytes, uint32_t seed,
                                    struct pattern_fault *out, void *stream_) {
    const cudaStream_t stream = static_cast<cudaStream_t>(stream_);
    const uint64_t count = bytes / 4;
    *out = {};
    if (count == 0)
        return 0;
    const tally start = {0, ~0ULL};
    tally *found = nullptr;
    cudaError_t status = cudaMalloc(&found, sizeof *found);
    if (status != cudaSuccess)
        return static_cast<int>(status);
    status = cudaMemcpyAsync(found, &start, sizeof start, cudaMemcpyHostToDevice, stream);
    if (status == cudaSuccess) {
        pattern_check_kernel<<<grid_for(count), THREADS, 0, stream>>>(static_cast<const uint32_t *>(buffer),
                                                                      count, seed, found);
        status = cudaGetLastError();
    }
    if (status == cudaSuccess)
        status = fetch_fault(buffer, found, seed, out, stream);
    const cudaError_t freed = cudaFree(found);
    return static_cast<int>(status != cudaSuccess ? status : freed);
}

extern "C" int pattern_load(void) {
    const cudaError_t status = load_kernel(pattern_fill_kernel);
    return static_cast<int>(status != cudaSuccess ? status : load_kernel(pattern_check_kernel));
}
