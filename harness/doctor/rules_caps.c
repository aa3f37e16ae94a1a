/* SPDX-License-Identifier: Apache-2.0 */
/* MIG: the capability nodes, which matter only while it is on. */
#include "doctor/access.h"
#include "system/look.h"

#include <stdlib.h>

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

enum { MAX_INSTANCES = 64 };

/* Nodes of the MIG instances that this GPU has ("gi0/access"): how many are here, and the others as evidence.
 */
static size_t count_instances(const struct access *access, const char *gpu, struct strings *missing) {
    struct text folder = {0};
    struct strings names = {0};
    size_t here = 0;
    text_addf(&folder, "/proc/driver/nvidia/capabilities/%s/mig", gpu);
    look_list(access->scene->source, text_string(&folder), &names);
    for (size_t i = 0; i < names.count && i < MAX_INSTANCES; i++) {
        struct text file = {0}, node = {0};
        text_addf(&file, "%s/%s/access", text_string(&folder), names.items[i]);
        int minor = text_starts(names.items[i], "gi") ? cap_minor(access->scene, text_string(&file)) : -1;
        text_addf(&node, "/dev/nvidia-caps/nvidia-cap%d", minor);
        if (minor >= 0 && device_nodes_find(access->scene->nodes, text_string(&node)) != NULL)
            here++;
        else if (minor >= 0 && missing->count < MAX_INSTANCES)
            strings_add(missing, text_string(&node));
        text_free(&file);
        text_free(&node);
    }
    strings_free(&names);
    text_free(&folder);
    return here;
}

/* A container without any instance's node sees no device on a GPU that is divided. */
static void check_missing(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    struct strings gpus = {0}, missing = {0};
    size_t here = 0;
    int code = -1;
    bool none = scene_probe(scene, "cuInit", &code) == PROBE_ANSWERED && code == 100;
    if (access != NULL && access->mig && scene->container && none && findings_cuda_cause(out) == NULL)
        look_list(scene->source, "/proc/driver/nvidia/capabilities", &gpus);
    for (size_t i = 0; i < gpus.count && i < ACCESS_MAX_GPUS; i++)
        if (text_starts(gpus.items[i], "gpu"))
            here += count_instances(access, gpus.items[i], &missing);
    if (here == 0 && missing.count > 0) {
        struct finding *f = finding_add(out, "caps.node-missing", SEVERITY_FAIL,
                                        "MIG is on, and no MIG instance's node is here: CUDA sees no device");
        for (size_t i = 0; i < missing.count; i++)
            finding_evidence(f, missing.items[i], "no such node (ENOENT)");
        finding_remedy(
            f, "docker/podman: --gpus '\"device=0:0\"' or -e NVIDIA_VISIBLE_DEVICES=MIG-UUID (nvidia-smi "
               "-L shows them), or --device for the instance's two nodes of /dev/nvidia-caps");
        finding_remedy(
            f, "LXC: bind the instance's two nodes of /dev/nvidia-caps (gi and ci), and allow their major");
    }
    strings_free(&gpus);
    strings_free(&missing);
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
    {.id = "caps.node-missing",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "MIG is on, and a container has no instance's node",
     .needs = "dev.tsv, /proc/driver/nvidia/capabilities, probes.json: gpus, cuInit",
     .cause =
         "a GPU that is divided is used through its instances alone, and an instance through its nodes in "
         "/dev/nvidia-caps: without one cuInit answers 100",
     .remedy = "give the container the nodes of an instance",
     .source = "NVIDIA's MIG user guide, device nodes and capabilities",
     .check = check_missing},
    {0},
};

const struct rule_family family_caps = {"caps", rules};
