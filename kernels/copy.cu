/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/copy.h"
#include "kernels/load.h"

#include <stdint.h>

/* Far memory answers after a microsecond or more, so what counts is how many bytes are on their way: blocks
 * of 512 threads, one on each multiprocessor, with twelve loads of 16 bytes a thread before the first store
 * (132 multiprocessors: 13 MB). It is also the shape that nvbandwidth copies in, whose figures ours are held
 * against. */
enum { THREADS = 512, DEPTH = 12 };

static __global__ void __launch_bounds__(THREADS)
    copy_kernel(uint4 *to, const uint4 *from, uint64_t words, unsigned tail_bytes) {
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * THREADS;
    uint64_t i = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x;
    for (; i + (DEPTH - 1) * step < words; i += DEPTH * step) {
        uint4 held[DEPTH];
#pragma unroll
        for (unsigned k = 0; k < DEPTH; k++)
            held[k] = from[i + k * step];
#pragma unroll
        for (unsigned k = 0; k < DEPTH; k++)
            to[i + k * step] = held[k];
    }
    for (; i < words; i += step)
        to[i] = from[i];
    if (blockIdx.x == 0 && threadIdx.x < tail_bytes)
        reinterpret_cast<unsigned char *>(to + words)[threadIdx.x] =
            reinterpret_cast<const unsigned char *>(from + words)[threadIdx.x];
}

extern "C" int copy_kernel_launch(void *to, const void *from, size_t bytes, void *stream) {
    int device = 0, sm_count = 0;
    if (bytes == 0)
        return 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device);
    if (status != cudaSuccess)
        return static_cast<int>(status);
    const uint64_t words = bytes / 16;
    const uint64_t needed = words / THREADS + 1;
    const unsigned blocks = static_cast<unsigned>(
        needed < static_cast<uint64_t>(sm_count) ? needed : static_cast<uint64_t>(sm_count));
    copy_kernel<<<blocks, THREADS, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<uint4 *>(to), static_cast<const uint4 *>(from), words, static_cast<unsigned>(bytes % 16));
    return static_cast<int>(cudaGetLastError());
}

extern "C" int copy_load(void) {
    return static_cast<int>(load_kernel(copy_kernel));
}
