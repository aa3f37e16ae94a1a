/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/chase.h"
#include "kernels/device_clock.cuh"
#include "kernels/load.h"

enum { THREADS = 256, BLOCKS = 64 };

static __global__ void chase_fill_kernel(uint64_t *words, uint64_t bytes, uint64_t stride) {
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    const uint64_t base = reinterpret_cast<uint64_t>(words);
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < bytes / 8; i += step)
        words[i] = base + chase_next(i * 8, bytes, stride);
}

template <bool plain> static __device__ inline uint64_t follow(uint64_t address) {
    uint64_t next;
    if (plain)
        asm volatile("ld.global.u64 %0, [%1];" : "=l"(next) : "l"(address) : "memory");
    else
        asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(next) : "l"(address) : "memory");
    return next;
}

template <bool plain>
static __global__ void chase_kernel(uint64_t address, uint32_t hops, unsigned which, chase_reading *out) {
    if (blockIdx.x != which)
        return;
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    const long long first_cycle = clock64();
    const unsigned long long start = global_timer();
    /* The timer's highest bit is 0: so the first read cannot go out before the timer was read. */
    uint64_t p = address + (start >> 63);
    for (uint32_t i = 0; i < hops; i++)
        p = follow<plain>(p);
    if (p == 0) /* never, but the clocks cannot be read before the last read is back */
        return;
    const unsigned long long end = global_timer();
    const long long last_cycle = clock64();
    out->ns = end - start;
    out->cycles = static_cast<uint64_t>(last_cycle - first_cycle);
    out->end = p;
    out->sm = sm;
    out->done = 1;
}

extern "C" int chase_fill_device(void *memory, size_t bytes, size_t stride, void *stream) {
    chase_fill_kernel<<<BLOCKS, THREADS, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<uint64_t *>(memory), bytes, stride);
    return static_cast<int>(cudaGetLastError());
}

extern "C" int chase_launch(const void *memory, uint64_t offset, uint32_t hops, bool plain, unsigned blocks,
                            unsigned which, struct chase_reading *out, void *stream_) {
    const cudaStream_t stream = static_cast<cudaStream_t>(stream_);
    const uint64_t address = reinterpret_cast<uint64_t>(memory) + offset;
    if (plain)
        chase_kernel<true><<<blocks, 1, 0, stream>>>(address, hops, which, out);
    else
        chase_kernel<false><<<blocks, 1, 0, stream>>>(address, hops, which, out);
    return static_cast<int>(cudaGetLastError());
}

extern "C" int chase_load(void) {
    cudaError_t status = load_kernel(chase_fill_kernel);
    if (status == cudaSuccess)
        status = load_kernel(chase_kernel<true>);
    return static_cast<int>(status == cudaSuccess ? load_kernel(chase_kernel<false>) : status);
}
