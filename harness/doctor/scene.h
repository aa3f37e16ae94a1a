/* SPDX-License-Identifier: Apache-2.0 */
/* All that rules may ask, live or captured. What is asked of a driver or of the kernel (rather than read from
 * a file) is in `probes`, in the form of a capture's probes.json: live, the same object is filled by probing.
 */
#ifndef GPUVET_DOCTOR_SCENE_H
#define GPUVET_DOCTOR_SCENE_H

#include "base/json.h"
#include "system/containers.h"
#include "system/device_nodes.h"
#include "system/driver_state.h"
#include "system/facts.h"
#include "system/kernel_log.h"

#include <stdbool.h>

struct access;

struct scene {
    const struct source *source; /* files, through system/look.h */
    const struct facts *facts;
    const js *probes; /* an object, never NULL */
    const struct device_nodes *nodes;
    const js *baseline; /* flat environment of the saved baseline (chrdev.NAME …); NULL: none */
    bool container;     /* seen from the inside of a container */
    struct container_list containers; /* configurations on this host; owned */
    struct driver_state driver;       /* the driver on the disk; owned */
    struct kernel_log log;            /* of this boot; owned */
    const char *manager;              /* "lxc", "docker", "podman", "kubernetes", "none"; "" unknown */
    struct access **access; /* kept for access_read, which every second rule asks; NULL: it is not */
};

/* Borrows its arguments and reads the rest through `source`. `baseline` may be NULL. Release with scene_free.
 */
void scene_make(const struct source *source, const struct facts *facts, const struct device_nodes *nodes,
                const js *baseline, struct scene *out);
void scene_free(struct scene *scene);

/* Code that a probe answered ("cuInit", "nvmlInit"); -1: not asked. A hang or a death is told apart. */
enum probe_state { PROBE_UNKNOWN, PROBE_ANSWERED, PROBE_TIMEOUT, PROBE_DIED };
enum probe_state scene_probe(const struct scene *scene, const char *name, int *code);

#endif
