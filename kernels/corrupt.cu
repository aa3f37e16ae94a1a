/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/corrupt.h"
#include "kernels/load.h"

enum { SHIFT_THREADS = CORRUPT_SHIFT_BYTES / 16 };
static_assert(SHIFT_THREADS == 1024, "the block is shifted by one block of threads, 16 bytes each");

static __global__ void corrupt_word_kernel(uint4 *word) {
    *word = make_uint4(~word->x, ~word->y, ~word->z, ~word->w);
}

static __global__ void corrupt_shift_kernel(uint4 *block) {
    const uint4 mine = block[threadIdx.x];
    __syncthreads(); /* everybody has read before anybody writes */
    block[(threadIdx.x + 1) % SHIFT_THREADS] = mine;
}

static __global__ void corrupt_swap_kernel(uint4 *a, uint4 *b, uint64_t count) {
    const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        const uint4 left = a[i];
        a[i] = b[i];
        b[i] = left;
    }
}

static uint4 *at(void *buffer, uint64_t offset) {
    return reinterpret_cast<uint4 *>(static_cast<char *>(buffer) + offset);
}

extern "C" int corrupt_word_device(void *buffer, uint64_t offset, void *stream) {
    corrupt_word_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(at(buffer, offset));
    return static_cast<int>(cudaGetLastError());
}

extern "C" int corrupt_shift_device(void *buffer, uint64_t offset, void *stream) {
    corrupt_shift_kernel<<<1, SHIFT_THREADS, 0, static_cast<cudaStream_t>(stream)>>>(at(buffer, offset));
    return static_cast<int>(cudaGetLastError());
}

extern "C" int corrupt_swap_device(void *a, void *b, size_t bytes, void *stream) {
    corrupt_swap_kernel<<<1024, 256, 0, static_cast<cudaStream_t>(stream)>>>(at(a, 0), at(b, 0), bytes / 16);
    return static_cast<int>(cudaGetLastError());
}

extern "C" int corrupt_load(void) {
    cudaError_t status = load_kernel(corrupt_word_kernel);
    if (status == cudaSuccess)
        status = load_kernel(corrupt_shift_kernel);
    return static_cast<int>(status == cudaSuccess ? load_kernel(corrupt_swap_kernel) : status);
}
