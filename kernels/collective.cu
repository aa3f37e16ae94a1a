/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/collective.h"
#include "kernels/elements.cuh"
#include "kernels/load.h"

template <typename Element>
static __global__ void collective_fill_kernel(Element *elements, uint64_t count, collective_data data) {
    fill_elements(elements, count, [&data](uint64_t i) { return collective_expected(&data, i); });
}

template <typename Element>
static __global__ void collective_check_kernel(const Element *elements, uint64_t count, collective_data data,
                                               element_tally *out) {
    check_elements(
        elements, count, [&data](uint64_t i) { return collective_expected(&data, i); }, out);
}

static __global__ void collective_spread_kernel(uint16_t *elements, uint64_t count, float scale,
                                                uint32_t seed) {
    fill_elements(elements, count,
                  [scale, seed](uint64_t i) { return collective_spread_bits(i, scale, seed); });
}

extern "C" int collective_fill_device(void *buffer, uint64_t count, const struct collective_data *data,
                                      void *stream_) {
    const cudaStream_t stream = static_cast<cudaStream_t>(stream_);
    if (count == 0)
        return 0;
    if (collective_size(data->type) == 2)
        collective_fill_kernel<<<element_blocks(count), ELEMENT_THREADS, 0, stream>>>(
            static_cast<uint16_t *>(buffer), count, *data);
    else
        collective_fill_kernel<<<element_blocks(count), ELEMENT_THREADS, 0, stream>>>(
            static_cast<uint32_t *>(buffer), count, *data);
    return static_cast<int>(cudaGetLastError());
}

extern "C" int collective_check_device(const void *buffer, uint64_t count, const struct collective_data *data,
                                       struct collective_fault *out, void *stream_) {
    const cudaStream_t stream = static_cast<cudaStream_t>(stream_);
    const size_t size = collective_size(data->type);
    element_tally found = {};
    *out = {};
    if (count == 0)
        return 0;
    const auto launch = [=](element_tally *tally) {
        if (size == 2)
            collective_check_kernel<<<element_blocks(count), ELEMENT_THREADS, 0, stream>>>(
                static_cast<const uint16_t *>(buffer), count, *data, tally);
        else
            collective_check_kernel<<<element_blocks(count), ELEMENT_THREADS, 0, stream>>>(
                static_cast<const uint32_t *>(buffer), count, *data, tally);
    };
    const cudaError_t status = run_check(launch, &found, stream);
    if (status != cudaSuccess || found.bad == 0)
        return static_cast<int>(status);
    out->bad = found.bad;
    out->first_offset = found.first * size;
    out->expected = collective_expected(data, found.first);
    return static_cast<int>(
        fetch_bytes(&out->found, static_cast<const char *>(buffer) + out->first_offset, size, stream));
}

extern "C" int collective_spread_device(void *buffer, uint64_t count, float scale, uint32_t seed,
                                        void *stream) {
    if (count == 0)
        return 0;
    collective_spread_kernel<<<element_blocks(count), ELEMENT_THREADS, 0,
                               static_cast<cudaStream_t>(stream)>>>(static_cast<uint16_t *>(buffer), count,
                                                                    scale, seed);
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
