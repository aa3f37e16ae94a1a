/* SPDX-License-Identifier: Apache-2.0 */
/* Device rules of an LXC configuration whose major is no decimal number. */
#ifndef GPUVET_DOCTOR_LXC_TOKENS_H
#define GPUVET_DOCTOR_LXC_TOKENS_H

#include "doctor/doctor.h"

/* Adds lxc.major-hex or lxc.not-decimal for each, but for lines that a finding has told already: LXC does not
 * start a container with one, however right the other lines are. One that this host's cgroup version ignores
 * is dead. */
void lxc_tokens_check(const struct scene *scene, struct findings *out, const struct container *c);

#endif
