/* SPDX-License-Identifier: Apache-2.0 */
/* MIG: the capability nodes, which matter only while it is on. */
#include "doctor/access.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

/* "DeviceFileMinor: 1" of a capability; -1: not there. */
static int cap_minor(const struct scene *scene, const char *file) {
    struct text text = {0};
    int64_t number = -1;
    if (look_bytes(scene->source, file, LOOK_LARGE, &text)) {
        char *value = look_field(text_string(&text), "DeviceFileMinor");
        if (value == NULL || !text_to_int(value, &number) || number < 0 || number > 1 << 20)
            number = -1;
        free(value);
    }
    text_free(&text);
    return (int)number;
}

/* config lets MIG be changed, monitor lets all of it be seen: neither is needed to compute, but NVML asks for
 * monitor when MIG is mixed. */
static void check_mig(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    struct finding *f = NULL;
    for (size_t i = 0; access != NULL && access->mig && i < access->n_subjects; i++) {
        const struct access_subject *s = &access->subjects[i];
        if (s->role != ROLE_CAP || (s->trouble != TROUBLE_CGROUP && s->trouble != TROUBLE_MAJOR))
            continue;
        if (f == NULL)
            f = finding_add(
                out, s->trouble == TROUBLE_MAJOR ? "caps.major-stale" : "caps.mig-denied", SEVERITY_FAIL,
                "MIG is on, but its capability nodes (nvidia-caps, major %d) %s", s->want_major,
                s->trouble == TROUBLE_MAJOR ? "have another number" : "are denied by the device cgroup");
        access_evidence(f, s);
    }
    if (f != NULL) {
        int config = cap_minor(scene, "/proc/driver/nvidia/capabilities/mig/config");
        if (config >= 0)
            finding_evidence(f, "/proc/driver/nvidia/capabilities/mig/config", "DeviceFileMinor: %d", config);
        int major = access->subjects[0].want_major;
        for (size_t i = 0; i < access->n_subjects; i++)
            if (access->subjects[i].role == ROLE_CAP)
                major = access->subjects[i].want_major;
        finding_remedy(f, "LXC: lxc.cgroup2.devices.allow: c %d:* rwm, and the nodes of /dev/nvidia-caps",
                       major);
        finding_remedy(
            f,
            "docker/podman: --device /dev/nvidia-caps/nvidia-capN for the instance (nvidia-container-toolkit 1.18 with mode "
            "\"legacy\", or CDI), then recreate the container");
    }
    access_free(access);
}

static const struct rule rules[] = {
    {.id = "caps.mig-denied",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "MIG is on and its capability nodes are denied",
     .needs = "dev.tsv, /proc/devices; probes.json: gpus with mig",
     .cause =
         "a MIG instance is opened through its nodes in /dev/nvidia-caps; without them NVML answers 4 and CUDA sees no device",
     .remedy = "allow the major of nvidia-caps, give the container the nodes of its instance",
     .source = "nvidia-container-toolkit issue 1740",
     .check = check_mig},
    {.id = "caps.major-stale",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "MIG is on and its capability nodes have an old number",
     .needs = "dev.tsv, /proc/devices; probes.json: gpus with mig",
     .cause = "the major of nvidia-caps moves with the kernel",
     .remedy = "make them anew: nvidia-modprobe -f FILE of the capability, or restart "
               "the container",
     .source = "nvidia-modprobe(1)"},
    {0},
};

const struct rule_family family_caps = {"caps", rules};
