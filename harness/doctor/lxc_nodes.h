/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that an LXC configuration gives a container. */
#ifndef GPUVET_DOCTOR_LXC_NODES_H
#define GPUVET_DOCTOR_LXC_NODES_H

#include "doctor/doctor.h"

/* Are they there when it starts, may it open them, and is none missing? */
void lxc_nodes_check(const struct scene *scene, struct findings *out, const struct container *c);

/* Are they the GPUs that are meant? */
void lxc_nodes_check_meant(const struct scene *scene, struct findings *out, const struct container *c);

#endif
