/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/delay.h"
#include "kernels/device_clock.cuh"
#include "kernels/load.h"

static __global__ void delay_kernel(delay_words *words, uint32_t number, unsigned long long ns, bool report) {
    const unsigned long long before = global_timer();
    unsigned long long start = before;
    while (start == before)
        start = global_timer();
    const long long first_cycle = clock64();
    *const_cast<volatile uint32_t *>(&words->started) = number;
    __threadfence_system(); /* out to the host now, not when the kernel ends */
    unsigned long long passed = 0;
    while (passed < ns)
        passed = global_timer() - start;
    if (report) {
        words->ns = passed;
        words->cycles = static_cast<uint64_t>(clock64() - first_cycle);
    }
}

extern "C" int delay_launch(struct delay_words *words, uint32_t number, uint64_t ns, bool report,
                            void *stream) {
    delay_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(words, number, ns, report);
    return static_cast<int>(cudaGetLastError());
}

extern "C" int delay_load(void) {
    return static_cast<int>(load_kernel(delay_kernel));
}
