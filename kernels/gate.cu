/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/device_clock.cuh"
#include "kernels/gate.h"
#include "kernels/load.h"

static __global__ void gate_kernel(gate_words *words, uint32_t number, unsigned long long limit_ns) {
    const volatile uint32_t *released = &words->released;
    const unsigned long long start = global_timer();
    /* As a signed difference, so that the numbers may wrap. */
    while (static_cast<int32_t>(*released - number) < 0) {
        if (global_timer() - start > limit_ns) {
            *const_cast<volatile uint32_t *>(&words->gave_up) = number;
            __threadfence_system();
            return;
        }
    }
}

extern "C" int gate_launch(struct gate_words *words, uint32_t number, uint64_t limit_ns, void *stream) {
    gate_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(words, number, limit_ns);
    return static_cast<int>(cudaGetLastError());
}

extern "C" int gate_load(void) {
    return static_cast<int>(load_kernel(gate_kernel));
}
