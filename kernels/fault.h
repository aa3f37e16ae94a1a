/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that misbehave, for proving that the harness survives them. `stream` is a cudaStream_t; both return
 * a cudaError_t as int and do not wait. */
#ifndef GPUVET_KERNELS_FAULT_H
#define GPUVET_KERNELS_FAULT_H

#ifdef __cplusplus
extern "C" {
#endif

int fault_spin_forever(void *stream); /* ends only with its process */
int fault_bad_address(void *stream);  /* leaves a sticky error: cudaErrorIllegalAddress */

#ifdef __cplusplus
}
#endif

#endif
