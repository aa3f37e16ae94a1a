/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that CUDA can do without, and what makes them. */
#ifndef GPUVET_DOCTOR_NODES_OPTIONAL_H
#define GPUVET_DOCTOR_NODES_OPTIONAL_H

#include "doctor/doctor.h"

/* Adds nodes.optional-missing for each that the driver has and /dev has not; on a host that wants GPUs only.
 */
void nodes_optional_check(const struct scene *scene, struct findings *out);

#endif
