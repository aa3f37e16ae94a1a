/* SPDX-License-Identifier: Apache-2.0 */
/* What CUDA needs of a container's configuration, and what a rule that does not give it may have meant: for
 * the rules of LXC (rules_lxc.c, lxc_tokens.c), Docker and Podman (rules_docker.c, rules_podman.c), and for
 * the mend (mend.c). What only LXC's files know is called lxc_. */
#ifndef GPUVET_DOCTOR_CONTAINER_NEEDS_H
#define GPUVET_DOCTOR_CONTAINER_NEEDS_H

#include "doctor/doctor.h"
#include "doctor/scene.h"

/* One thing that a container needs: `name` as /proc/devices has it. */
struct container_need {
    const char *name;
    const char *node;
    int major, minor; /* major -1: this kernel has no such driver, or it is not known */
};
enum { CONTAINER_NEEDS = 2 };
void container_needs(const struct scene *scene, struct container_need out[CONTAINER_NEEDS]);
/* True also where there is nothing to say: the number is not known, or the manager makes the rule. */
bool container_need_met(const struct scene *scene, const struct container *c,
                        const struct container_need *need);

/* N of /dev/nvidiaN and of /dev/nvidia-caps/nvidia-capN; -1: another. */
int gpu_node_number(const char *path);
int cap_node_number(const char *path);
/* True also for the driver's folders of nodes (-v /dev/nvidia-caps), which are in no list of nodes. */
bool host_has_node(const struct scene *scene, const char *path);
/* False where the driver's GPUs are known, and none has the minor of /dev/nvidiaN. */
bool may_be_gpu_node(const struct scene *scene, const char *path);
/* How to make this node of the driver's, now and at each boot, before the units that need it. */
void remedy_node(const struct scene *scene, const char *path, const char *before, struct finding *f);
/* MIG is on somewhere: NVML said so, or the driver has instances. */
bool mig_is_on(const struct scene *scene);
/* An unprivileged container cannot make this node of its needs itself, and nothing gives it. */
bool container_lacks_node(const struct container *c, const struct container_need *need);

bool container_wants_gpu(const struct container *c);
/* It runs, and its own device cgroup was tried (cgroup.container-denied), which says more. */
bool container_was_tried(const struct scene *scene, const struct container *c);
/* Between key and value: ":" or " =". */
const char *lxc_separator(const struct container *c);
/* "1ff" of 511: the text is this number in hexadecimal, without the 0x. */
bool is_hex_of(const char *text, int major);
/* The key of a rule that this host obeys. */
const char *lxc_rule_key(const struct scene *scene);

/* Remedies: start it anew; the mend makes the lines of this finding. */
void lxc_restart(const struct container *c, struct finding *f);
void lxc_offer_fix(const struct container *c, struct finding *f);
/* The line that gives the node, as evidence, and the start anew. */
void lxc_tell_entry(const struct container *c, const struct device_entry *entry, struct finding *f);

/* What a rule that names the wrong number is; the better the explanation, the smaller. */
enum rule_wrong {
    RULE_RIGHT, /* or it says nothing about this need */
    RULE_KNOWN, /* the number that the baseline gives the driver */
    RULE_HEX,
    RULE_NOT_DECIMAL,
    RULE_FOREIGN, /* another driver's number now */
    RULE_STALE,   /* nobody's number */
    RULE_OTHER_CGROUP
};
/* Why this rule may be what was meant for `need`. */
enum rule_wrong judge_device_rule(const struct scene *scene, const struct device_rule *rule,
                                  const struct container_need *need);

#endif
