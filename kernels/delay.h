/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that lasts for a known time by the device's own clock. It begins on a step of %globaltimer (whose
 * steps are up to about 1 us), so that its length is the same every time. */
#ifndef GPUVET_KERNELS_DELAY_H
#define GPUVET_KERNELS_DELAY_H

#include <stdbool.h>
#include <stdint.h>

/* In host memory that the device can write (cudaHostAlloc). */
struct delay_words {
    uint64_t ns;      /* how long the last reported delay lasted, by %globaltimer */
    uint64_t cycles;  /* the same in cycles of the SM, by clock64 */
    uint32_t started; /* the number of the last delay that began: written as it begins */
};

#ifdef __cplusplus
extern "C" {
#endif

/* `report`: also writes ns and cycles at its end, which makes the end itself later; the length does not
 * change by it. */
int delay_launch(struct delay_words *words, uint32_t number, uint64_t ns, bool report, void *stream);

#ifdef __cplusplus
}
#endif

#endif
