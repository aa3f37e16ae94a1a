/* SPDX-License-Identifier: Apache-2.0 */
/* How a GPU that is lost shows: without an error, or with none left. */
#ifndef GPUVET_DOCTOR_LOST_H
#define GPUVET_DOCTOR_LOST_H

#include "doctor/scene.h"

enum { LOST_SIZE = 80 };

/* "this GPU is lost, without an error from CUDA or NVML" where cuInit answered 0; "no GPU is left (cuInit
 * 100)" where NVML has none and cuInit says so; else only that it is lost. */
const char *lost_words(const struct scene *scene, char buffer[LOST_SIZE]);

#endif
