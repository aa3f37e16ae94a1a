/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUVET_KERNELS_DEVICE_CLOCK_CUH
#define GPUVET_KERNELS_DEVICE_CLOCK_CUH

/* The device's wall clock in ns; its step is up to about 1 us. */
static __device__ inline unsigned long long global_timer() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

#endif
