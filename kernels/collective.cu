/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/collective.h"
#include "kernels/load.h"

enum { THREADS = 256, BLOCKS = 4096 };

struct collective_tally {
    unsigned long long bad;
    unsigned long long first; /* index of the first wrong element; all ones: none */
};

template <typename Element>
static __global__ void collective_fill_kernel(Element *elements, uint64_t count, collective_data data) {
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
        elements[i] = static_cast<Element>(collective_expected(&data, i));
}

template <typename Element>
static __global__ void collective_check_kernel(const Element *elements, uint64_t count, collective_data data,
                                               collective_tally *out) {
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    unsigned long long bad = 0;
    unsigned long long first = ~0ULL;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        if (elements[i] != static_cast<Element>(collective_expected(&data, i))) {
            bad++;
            first = first < i ? first : i; /* i only grows, so this keeps the thread's first */
        }
    }
    if (bad > 0) {
        atomicAdd(&out->bad, bad);
        atomicMin(&out->first, first);
    }
}

static __global__ void collective_spread_kernel(uint16_t *elements, uint64_t count, float scale,
                                                uint32_t seed) {
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
        elements[i] = static_cast<uint16_t>(collective_spread_bits(i, scale, seed));
}

static unsigned grid_for(uint64_t count) {
    const uint64_t wanted = (count + THREADS - 1) / THREADS;
    return static_cast<unsigned>(wanted < BLOCKS ? wanted : uint64_t{BLOCKS});
}

extern "C" int collective_fill_device(void *buffer, uint64_t count, const struct collective_data *data,
                                      void *stream_) {
    const cudaStream_t stream = static_cast<cudaStream_t>(stream_);
    if (count == 0)
        return 0;
    if (collective_size(data->type) == 2)
        collective_fill_kernel<<<grid_for(count), THREADS, 0, stream>>>(static_cast<uint16_t *>(buffer),
                                                                        count, *data);
    else
        collective_fill_kernel<<<grid_for(count), THREADS, 0, stream>>>(static_cast<uint32_t *>(buffer),
                                                                        count, *data);
    return static_cast<int>(cudaGetLastError());
}

/* The element found at the first wrong place, fetched from the buffer itself. */
static cudaError_t fetch_fault(const void *buffer, const collective_tally *found, const collective_data *data,
                               collective_fault *out, cudaStream_t stream) {
    collective_tally host = {0, 0};
    const size_t size = collective_size(data->type);
    cudaError_t status = cudaMemcpyAsync(&host, found, sizeof host, cudaMemcpyDeviceToHost, stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(stream);
    if (status != cudaSuccess || host.bad == 0)
        return status;
    out->bad = host.bad;
    out->first_offset = host.first * size;
    out->expected = collective_expected(data, host.first);
    status = cudaMemcpyAsync(&out->found, static_cast<const char *>(buffer) + out->first_offset, size,
                             cudaMemcpyDeviceToHost, stream);
    return status == cudaSuccess ? cudaStreamSynchronize(stream) : status;
}

extern "C" int collective_check_device(const void *buffer, uint64_t count, const struct collective_data *data,
                                       struct collective_fault *out, void *stream_) {
    const cudaStream_t stream = static_cast<cudaStream_t>(stream_);
    *out = {};
    if (count == 0)
        return 0;
    const collective_tally start = {0, ~0ULL};
    collective_tally *found = nullptr;
    cudaError_t status = cudaMalloc(&found, sizeof *found);
    if (status != cudaSuccess)
        return static_cast<int>(status);
    status = cudaMemcpyAsync(found, &start, sizeof start, cudaMemcpyHostToDevice, stream);
    if (status == cudaSuccess) {
        if (collective_size(data->type) == 2)
            collective_check_kernel<<<grid_for(count), THREADS, 0, stream>>>(
                static_cast<const uint16_t *>(buffer), count, *data, found);
        else
            collective_check_kernel<<<grid_for(count), THREADS, 0, stream>>>(
                static_cast<const uint32_t *>(buffer), count, *data, found);
        status = cudaGetLastError();
    }
    if (status == cudaSuccess)
        status = fetch_fault(buffer, found, data, out, stream);
    const cudaError_t freed = cudaFree(found);
    return static_cast<int>(status != cudaSuccess ? status : freed);
}

extern "C" int collective_spread_device(void *buffer, uint64_t count, float scale, uint32_t seed,
                                        void *stream) {
    if (count == 0)
        return 0;
    collective_spread_kernel<<<grid_for(count), THREADS, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<uint16_t *>(buffer), count, scale, seed);
    return static_cast<int>(cudaGetLastError());
}

extern "C" int collective_load(void) {
    cudaError_t status = load_kernel(collective_fill_kernel<uint16_t>);
    if (status == cudaSuccess)
        status = load_kernel(collective_fill_kernel<uint32_t>);
    if (status == cudaSuccess)
        status = load_kernel(collective_check_kernel<uint16_t>);
    if (status == cudaSuccess)
        status = load_kernel(collective_check_kernel<uint32_t>);
    if (status == cudaSuccess)
        status = load_kernel(collective_spread_kernel);
    return static_cast<int>(status);
}
