/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by the multiprocessors instead of the copy engine: a kernel on one GPU reads and writes whatever it
 * can address (its own memory, pinned host memory, a peer's memory), in words of 16 bytes. Reading far memory
 * pulls, writing it pushes. */
#ifndef GPUVET_KERNELS_COPY_H
#define GPUVET_KERNELS_COPY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* On the current device. Both addresses are multiples of 16 and valid there (host memory:
 * gpu_device_address); any number of bytes. Does not wait. */
int copy_kernel_launch(void *to, const void *from, size_t bytes, void *stream);

#ifdef __cplusplus
}
#endif

#endif
