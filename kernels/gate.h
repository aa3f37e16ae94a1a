/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that holds a stream until the host lets go of it. Both words lie in host memory that the device
 * can read and write (cudaHostAlloc). Each closing has a number of its own, one more than the last, so that
 * nothing has to be reset while a kernel may still be reading. */
#ifndef GPUVET_KERNELS_GATE_H
#define GPUVET_KERNELS_GATE_H

#include <stdint.h>

struct gate_words {
    uint32_t released; /* by the host: gates up to this number are open */
    uint32_t gave_up;  /* by the device: the number of the last gate whose time limit passed */
};

#ifdef __cplusplus
extern "C" {
#endif

/* The limit is measured by the device's own clock (%globaltimer), so that a dead host cannot hang the GPU. */
int gate_launch(struct gate_words *words, uint32_t number, uint64_t limit_ns, void *stream);

#ifdef __cplusplus
}
#endif

#endif
