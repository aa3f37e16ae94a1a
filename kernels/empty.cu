/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/launch.h"
#include "kernels/load.h"

static __global__ void empty_kernel() {}

static __global__ void count_kernel(uint32_t *counter, uint32_t expected) {
    if (*counter == expected)
        *counter = expected + 1;
}

extern "C" int empty_launch(void *stream) {
    empty_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>();
    return static_cast<int>(cudaGetLastError());
}

extern "C" int count_launch(uint32_t *counter, uint32_t expected, void *stream) {
    count_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(counter, expected);
    return static_cast<int>(cudaGetLastError());
}

extern "C" int empty_load(void) {
    const cudaError_t status = load_kernel(empty_kernel);
    return static_cast<int>(status == cudaSuccess ? load_kernel(count_kernel) : status);
}
