/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/fault.h"

#include <cuda_runtime.h>

__global__ static void spin_forever(void) {
    for (;;)
        __nanosleep(1000);
}

__global__ static void write_to(unsigned int *address) {
    *address = 1;
}

extern "C" int fault_spin_forever(void *stream) {
    spin_forever<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>();
    return static_cast<int>(cudaGetLastError());
}

extern "C" int fault_bad_address(void *stream) {
    /* A page that nothing maps, at an address the compiler cannot see through. */
    write_to<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(reinterpret_cast<unsigned int *>(0x1000));
    return static_cast<int>(cudaGetLastError());
}
