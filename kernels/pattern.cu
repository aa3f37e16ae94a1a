/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/elements.cuh"
#include "kernels/load.h"
#include "kernels/pattern.h"

static __global__ void pattern_fill_kernel(uint32_t *words, uint64_t count, uint32_t seed) {
    fill_elements(words, count, [seed](uint64_t i) { return pattern_word(i, seed); });
}

static __global__ void pattern_check_kernel(const uint32_t *words, uint64_t count, uint32_t seed,
                                            element_tally *out) {
    check_elements(
        words, count, [seed](uint64_t i) { return pattern_word(i, seed); }, out);
}

extern "C" int pattern_fill_device(void *buffer, size_t bytes, uint32_t seed, void *stream) {
    const uint64_t count = bytes / 4;
    if (count == 0)
        return 0;
    pattern_fill_kernel<<<element_blocks(count), ELEMENT_THREADS, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<uint32_t *>(buffer), count, seed);
    return static_cast<int>(cudaGetLastError());
}

extern "C" int pattern_check_device(const void *buffer, size_t bytes, uint32_t seed,
                                    struct pattern_fault *out, void *stream_) {
    const cudaStream_t stream = static_cast<cudaStream_t>(stream_);
    const uint32_t *words = static_cast<const uint32_t *>(buffer);
    const uint64_t count = bytes / 4;
    element_tally found = {};
    *out = {};
    if (count == 0)
        return 0;
    const auto launch = [=](element_tally *tally) {
        pattern_check_kernel<<<element_blocks(count), ELEMENT_THREADS, 0, stream>>>(words, count, seed,
                                                                                    tally);
    };
    const cudaError_t status = run_check(launch, &found, stream);
    if (status != cudaSuccess || found.bad == 0)
        return static_cast<int>(status);
    out->bad = found.bad;
    out->first_offset = found.first * 4;
    out->expected = pattern_word(found.first, seed);
    return static_cast<int>(fetch_bytes(&out->found, words + found.first, sizeof out->found, stream));
}

extern "C" int pattern_load(void) {
    const cudaError_t status = load_kernel(pattern_fill_kernel);
    return static_cast<int>(status != cudaSuccess ? status : load_kernel(pattern_check_kernel));
}
