/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/device_clock.cuh"
#include "kernels/load.h"
#include "kernels/pingpong.h"

enum { LOOKS_A_CLOCK = 64 }; /* reads of the flag between two of the clock */

static __device__ inline void send(uint32_t *flag, uint32_t number) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(number) : "memory");
}

static __device__ inline uint32_t look(const uint32_t *flag) {
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}

/* 0: `number` stands in the flag; else what pingpong_reading.gave_up says. */
static __device__ inline uint32_t await(const uint32_t *flag, uint32_t number, uint64_t limit_ns,
                                        pingpong_reading *out) {
    unsigned long long start = 0;
    for (unsigned looks = 0;; looks++) {
        const uint32_t value = look(flag);
        if (value == number)
            return 0;
        if (value != number - 1) {
            out->wrong = value;
            out->expected = number;
            return 2;
        }
        if (looks % LOOKS_A_CLOCK != LOOKS_A_CLOCK - 1)
            continue;
        const unsigned long long now = global_timer();
        if (start == 0)
            start = now;
        else if (now - start > limit_ns)
            return 1;
    }
}

static __global__ void pingpong_kernel(pingpong plan, bool begins, uint32_t *mine, uint32_t *theirs,
                                       pingpong_reading *out) {
    unsigned long long start = 0;
    long long first_cycle = 0;
    const uint32_t all = plan.warm + plan.timed;
    for (uint32_t i = 0; i < all; i++) {
        if (i == plan.warm) {
            first_cycle = clock64();
            start = global_timer();
        }
        if (begins)
            send(theirs, plan.first + i);
        const uint32_t why = await(mine, plan.first + i, plan.limit_ns, out);
        if (why != 0) {
            out->received = i;
            out->gave_up = why;
            return;
        }
        if (!begins)
            send(theirs, plan.first + i);
    }
    out->ns = global_timer() - start;
    out->cycles = static_cast<uint64_t>(clock64() - first_cycle);
    out->received = all;
    out->done = 1;
}

extern "C" int pingpong_launch(const struct pingpong *plan, bool begins, uint32_t *mine, uint32_t *theirs,
                               struct pingpong_reading *out, void *stream) {
    pingpong_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(*plan, begins, mine, theirs, out);
    return static_cast<int>(cudaGetLastError());
}

extern "C" int pingpong_load(void) {
    return static_cast<int>(load_kernel(pingpong_kernel));
}
