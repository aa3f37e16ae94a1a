/* SPDX-License-Identifier: Apache-2.0 */
/* Device rules of an LXC configuration whose major is no decimal number. */
#ifndef GPUVET_DOCTOR_LXC_TOKENS_H
#define GPUVET_DOCTOR_LXC_TOKENS_H

#include "doctor/doctor.h"

/* Adds lxc.major-hex or lxc.not-decimal for each line that no finding has told yet: with cgroup v1 LXC does
 * not start the container, with v2 it leaves the rule out. lxc.rule-dead for one by a key that this host's
 * cgroup version ignores. */
void lxc_tokens_check(const struct scene *scene, struct findings *out, const struct container *c);

#endif
