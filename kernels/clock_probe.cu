/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/clock_probe.h"
#include "kernels/device_clock.cuh"
#include "kernels/load.h"

static __global__ void clock_probe_kernel(clock_reading *out) {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (sm >= CLOCK_PROBE_MAX_SM)
        return;
    const unsigned long long ns = global_timer();
    const unsigned long long cycles = static_cast<unsigned long long>(clock64());
    /* One store, so that two blocks on one multiprocessor cannot mix their readings. */
    *reinterpret_cast<ulonglong2 *>(&out[sm]) = make_ulonglong2(cycles, ns);
}

extern "C" int clock_probe_launch(struct clock_reading *out, void *stream) {
    int device = 0, sm_count = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device);
    if (status != cudaSuccess)
        return static_cast<int>(status);
    /* On an idle device a block goes to each multiprocessor. */
    clock_probe_kernel<<<static_cast<unsigned>(sm_count), 1, 0, static_cast<cudaStream_t>(stream)>>>(out);
    return static_cast<int>(cudaGetLastError());
}

extern "C" int clock_probe_load(void) {
    return static_cast<int>(load_kernel(clock_probe_kernel));
}
