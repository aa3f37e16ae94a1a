/* SPDX-License-Identifier: Apache-2.0 */
/* What CUDA needs of an LXC configuration, and what a rule that does not give it may have meant: for the
 * rules that find it (rules_lxc.c, lxc_tokens.c) and for the mend (mend.c). The rules of Docker and Podman
 * are of the same kind, and are judged by the same (rules_docker.c, rules_podman.c). */
#ifndef GPUVET_DOCTOR_LXC_NEEDS_H
#define GPUVET_DOCTOR_LXC_NEEDS_H

#include "doctor/doctor.h"
#include "doctor/scene.h"

/* One thing that a container needs: `name` as /proc/devices has it. */
struct lxc_need {
    const char *name;
    const char *node;
    int major, minor; /* major -1: this kernel has no such driver, or it is not known */
};
enum { LXC_NEEDS = 2 };
void lxc_needs(const struct scene *scene, struct lxc_need out[LXC_NEEDS]);
/* True also where there is nothing to say: the number is not known, or the manager makes the rule. */
bool lxc_need_met(const struct scene *scene, const struct container *c, const struct lxc_need *need);

/* N of /dev/nvidiaN and of /dev/nvidia-caps/nvidia-capN; -1: another. */
int lxc_gpu_number(const char *path);
int lxc_cap_number(const char *path);
/* False where the driver's GPUs are known, and none has the minor of /dev/nvidiaN. */
bool lxc_may_be_gpu(const struct scene *scene, const char *path);
/* How to make this node of the driver's, now and at each boot, before the units that need it. */
void lxc_remedy_node(const struct scene *scene, const char *path, const char *before, struct finding *f);
/* MIG is on somewhere: NVML said so, or the driver has instances. */
bool lxc_mig_is_on(const struct scene *scene);
/* An unprivileged container cannot make this node of its needs itself, and nothing gives it. */
bool lxc_lacks_node(const struct container *c, const struct lxc_need *need);

bool lxc_wants_gpu(const struct container *c);
/* It runs, and its own device cgroup was tried (cgroup.container-denied), which says more. */
bool lxc_was_tried(const struct scene *scene, const struct container *c);
/* Between key and value: ":" or " =". */
const char *lxc_separator(const struct container *c);
/* "1ff" of 511: the text is this number in hexadecimal, without the 0x. */
bool lxc_is_hex_of(const char *text, int major);
/* The key of a rule that this host obeys. */
const char *lxc_rule_key(const struct scene *scene);

/* What a rule that names the wrong number is; the better the explanation, the smaller. */
enum lxc_wrong {
    LXC_RIGHT, /* or it says nothing about this need */
    LXC_KNOWN, /* the number that the baseline gives the driver */
    LXC_HEX,
    LXC_NOT_DECIMAL,
    LXC_FOREIGN, /* another driver's number now */
    LXC_STALE,   /* nobody's number */
    LXC_OTHER_CGROUP
};
/* Why this rule may be what was meant for `need`. */
enum lxc_wrong lxc_judge_rule(const struct scene *scene, const struct device_rule *rule,
                              const struct lxc_need *need);

#endif
