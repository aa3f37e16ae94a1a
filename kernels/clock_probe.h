/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the clock of every multiprocessor together with the device's wall clock. Two such readings give the
 * mean SM clock between them; a multiprocessor is compared with itself only, since their counters differ. */
#ifndef GPUVET_KERNELS_CLOCK_PROBE_H
#define GPUVET_KERNELS_CLOCK_PROBE_H

#include <stdint.h>

enum { CLOCK_PROBE_MAX_SM = 1024 };

struct clock_reading {
    uint64_t cycles; /* clock64 */
    uint64_t ns;     /* %globaltimer; 0: no block ran on this multiprocessor */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Fills `out` (CLOCK_PROBE_MAX_SM readings in memory that the device can write, zeroed by the caller) by
 * %smid. */
int clock_probe_launch(struct clock_reading *out, void *stream);

#ifdef __cplusplus
}
#endif

#endif
