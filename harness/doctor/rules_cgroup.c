/* SPDX-License-Identifier: Apache-2.0 */
/* The device cgroup: which numbers this process, or a running container, may open at all. */
#include "doctor/access.h"
#include "doctor/lost.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

/* ---- what denies, and where ---- */

/* What was found by trying about one device; NULL: it was not tried. */
static const js *tried(const struct scene *scene, int major, int minor) {
    const js *list = js_get(js_get(scene->probes, "device_cgroup"), "tried");
    for (size_t i = 0; i < js_length(list); i++) {
        const js *one = js_at(list, i);
        if (js_get_int(one, "major", -1) == major && js_get_int(one, "minor", -1) == minor)
            return one;
    }
    return NULL;
}

static void tell_level(const struct scene *scene, const struct access *access, const struct access_subject *s,
                       struct finding *f) {
    const char *level = js_get_string(tried(scene, s->want_major, s->want_minor), "denied_at", NULL);
    if (access->v1_list != NULL && !access_v1_allows(access->v1_list, s->want_major, s->want_minor))
        finding_evidence(f, access->v1_file,
                         "no entry lets c %d:%d be read and written (\"m\" alone only makes nodes)",
                         s->want_major, s->want_minor);
    if (level != NULL)
        finding_evidence(f, "cgroup (v2)", "the first level that denies c %d:%d is %s", s->want_major,
                         s->want_minor, level);
}

/* The unit in a cgroup's path: "/system.slice/ollama.service" → "ollama.service". */
static char *unit_name(const struct scene *scene) {
    char *path = look_text(scene->source, "/proc/self/cgroup");
    char *end = path == NULL ? NULL : strstr(path, ".service");
    char *found = NULL;
    if (end != NULL) {
        end[strlen(".service")] = '\0';
        char *slash = strrchr(path, '/');
        found = text_printable(slash == NULL ? path : slash + 1);
    }
    free(path);
    return found;
}

static void lxc_remedy(const struct scene *scene, const struct access *access, const struct access_subject *s,
                       struct finding *f) {
    bool by_v2 = js_get_string(tried(scene, s->want_major, s->want_minor), "denied_at", NULL) != NULL;
    bool v1 = access->v1_list != NULL || (!by_v2 && access_is_v1(scene));
    const char *key = v1 ? "lxc.cgroup.devices.allow" : "lxc.cgroup2.devices.allow";
    char *id = access_pve_id(scene);
    if (id != NULL)
        finding_remedy(f, "on the host, in /etc/pve/lxc/%s.conf: %s: c %d:* rwm", id, key, s->want_major);
    else
        finding_remedy(
            f,
            "on the host, in /etc/pve/lxc/ID.conf (Proxmox VE; plain LXC: /var/lib/lxc/NAME/config, with = for the first :): "
            "%s: c %d:* rwm",
            key, s->want_major);
    finding_remedy(
        f, "then start the container again: pct stop %s && pct start %s (plain LXC: lxc-stop, lxc-start)",
        id == NULL ? "ID" : id, id == NULL ? "ID" : id);
    finding_remedy(
        f,
        "lasting, since the number moves with the kernel: Proxmox VE 8.2 or newer looks numbers up at each start: "
        "pct set %s --dev0 /dev/nvidiactl --dev1 /dev/nvidia-uvm --dev2 /dev/nvidia0 …, in place of the allow lines",
        id == NULL ? "ID" : id);
    free(id);
}

static void engine_remedy(const struct scene *scene, const struct access_subject *s, struct finding *f) {
    if (strcmp(scene->manager, "kubernetes") == 0) {
        finding_remedy(
            f,
            "on the node: nvidia-modprobe -u -c 0, then recreate the pod (its rules are made when it is created)");
        finding_remedy(
            f,
            "where it comes back: kubelet's cpu-manager-policy=static rewrites the rules unless the device plugin runs with "
            "--pass-device-specs=true");
        return;
    }
    finding_remedy(
        f,
        "on the host: nvidia-modprobe -u -c 0, then recreate the container (its rules were made when it was created): "
        "docker|podman run --gpus all …, or --device %s for each node",
        s->path);
    finding_remedy(
        f,
        "where it comes back after systemctl daemon-reload: nvidia-ctk system create-dev-char-symlinks --create-all on the "
        "host, or CDI: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml and --device nvidia.com/gpu=all");
    finding_remedy(
        f,
        "where it comes back after a reboot: make the nodes before the engine starts (nvidia-modprobe -u -c 0 in a unit with "
        "Before=docker.service)");
}

static void host_remedy(const struct scene *scene, const struct access_subject *s, struct finding *f) {
    char *unit = unit_name(scene);
    finding_remedy(
        f,
        "a systemd unit with DevicePolicy=closed or DeviceAllow= denies it: systemctl edit %s, [Service] DeviceAllow=%s rw",
        unit == NULL ? "UNIT" : unit, s->path);
    free(unit);
}

static void add_remedy(const struct scene *scene, const struct access *access, const struct access_subject *s,
                       struct finding *f) {
    if (!scene->container)
        host_remedy(scene, s, f);
    else if (strcmp(scene->manager, "docker") == 0 || strcmp(scene->manager, "podman") == 0 ||
             strcmp(scene->manager, "kubernetes") == 0)
        engine_remedy(scene, s, f);
    else if (strcmp(scene->manager, "lxc") == 0)
        lxc_remedy(scene, access, s, f);
    else { /* some container: both say the same thing in their own words */
        lxc_remedy(scene, access, s, f);
        engine_remedy(scene, s, f);
    }
}

static struct finding *denied(const struct scene *scene, const struct access *access,
                              const struct access_subject *s, const char *id, const char *effect,
                              struct findings *out) {
    struct finding *f = finding_add(out, id, SEVERITY_FAIL, "the device cgroup denies %s (c %d:%d): %s",
                                    s->path, s->want_major, s->want_minor, effect);
    access_evidence(f, s);
    tell_level(scene, access, s, f);
    return f;
}

/* ---- the rules ---- */

static const struct access_subject *next_denied(const struct access *access, const struct access_subject *s,
                                                enum access_role role) {
    if (access == NULL)
        return NULL;
    for (s = s == NULL ? access->subjects : s + 1; s < access->subjects + access->n_subjects; s++)
        if (s->role == role && s->denied)
            return s;
    return NULL;
}

/* Whether a rule before this one has told of the same node what is no matter of the cgroup. */
static bool has_other_trouble(const struct access_subject *s) {
    return s->trouble == TROUBLE_HANG || s->trouble == TROUBLE_NOT_DEVICE || s->trouble == TROUBLE_MAJOR ||
           s->trouble == TROUBLE_MINOR;
}

static void check_ctl(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    const struct access_subject *s = next_denied(access, NULL, ROLE_CTL);
    if (s != NULL && s->needed && !has_other_trouble(s)) {
        struct finding *f = denied(scene, access, s, "cgroup.ctl-denied", "no program finds a GPU", out);
        for (const struct access_subject *g = NULL; (g = next_denied(access, g, ROLE_GPU)) != NULL;)
            access_evidence(f, g);
        const struct access_subject *uvm = next_denied(access, NULL, ROLE_UVM);
        if (uvm != NULL)
            access_evidence(f, uvm);
        add_remedy(scene, access, s, f);
        if (uvm != NULL)
            finding_remedy(f, "the same for nvidia-uvm: c %d:* rwm", uvm->want_major);
    }
    access_free(access);
}

static void check_uvm(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    const struct access_subject *s = next_denied(access, NULL, ROLE_UVM);
    if (s != NULL && s->needed) {
        bool all = findings_has(out, "cgroup.ctl-denied", SEVERITY_FAIL);
        struct finding *f = denied(scene, access, s, "cgroup.uvm-denied",
                                   "nvidia-smi works, CUDA does not (cuInit 999)", out);
        finding_evidence(f, "/proc/devices", "%d nvidia-uvm", s->want_major);
        int64_t before = js_get_int(scene->baseline, "chrdev.nvidia-uvm", -1);
        if (before >= 0 && before != s->want_major)
            finding_evidence(f, "baseline: chrdev.nvidia-uvm", "%lld: rules made then allow that number",
                             (long long)before);
        if (all)
            finding_follows(f, "cgroup.ctl-denied");
        else if (findings_has(out, "uvm.major-*", SEVERITY_FAIL))
            finding_evidence(f, "also", "the node's own number is wrong");
        add_remedy(scene, access, s, f);
    }
    access_free(access);
}

static void check_gpu(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    bool all = findings_has(out, "cgroup.ctl-denied", SEVERITY_FAIL);
    for (const struct access_subject *s = NULL; (s = next_denied(access, s, ROLE_GPU)) != NULL;) {
        if (!s->needed || has_other_trouble(s))
            continue;
        char words[LOST_SIZE];
        struct finding *f = denied(scene, access, s, "cgroup.gpu-denied", lost_words(scene, words), out);
        if (s->gpu != NULL && s->gpu->asked_by != NULL)
            finding_evidence(f, s->gpu->bdf, "asked for: %s", s->gpu->asked_by);
        if (all)
            finding_follows(f, "cgroup.ctl-denied");
        add_remedy(scene, access, s, f);
    }
    access_free(access);
}

static void check_harmless(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    struct finding *f = NULL;
    bool mig = access != NULL && access->mig;
    for (const struct access_subject *s = NULL;
         access != NULL && s < access->subjects + access->n_subjects;) {
        s = s == NULL ? access->subjects : s + 1;
        bool over = s >= access->subjects + access->n_subjects;
        if (over || !s->denied || s->needed || (s->role == ROLE_CAP && mig) || s->node == NULL)
            continue;
        if (f == NULL)
            f = finding_add(out, "cgroup.harmless-denied", SEVERITY_INFO,
                            "the device cgroup denies nodes that CUDA can do without here");
        access_evidence(f, s);
    }
    access_free(access);
}

/* ---- running containers, tried from the host ---- */

static bool has_node(const js *container, const char *path) {
    const js *nodes = js_get(container, "nodes");
    for (size_t i = 0; i < js_length(nodes); i++)
        if (strcmp(js_string(js_at(nodes, i), ""), path) == 0)
            return true;
    return false;
}

/* What CUDA cannot do without, of a container's nodes. */
static bool is_needed(const char *path) {
    return text_starts(path, "/dev/nvidia") && strcmp(path, "/dev/nvidia-modeset") != 0 &&
           strcmp(path, "/dev/nvidia-uvm-tools") != 0 && !text_starts(path, "/dev/nvidia-caps");
}

/* What denies above a container is not in its configuration. */
static bool is_above(const char *level, const char *group) {
    size_t length = strcmp(level, "/") == 0 ? 0 : strlen(level);
    return level[0] == '/' && text_starts(group, level) && group[length] == '/' && group[length + 1] != '\0';
}

/* One number that a container has a node of and may not open; `level` NULL: its v1 list says so. */
static void tell_container(const js *container, const js *number, const char *level, struct findings *out) {
    const char *name = js_get_string(container, "name", "?");
    const char *group = js_get_string(container, "group", "cgroup");
    int major = (int)js_get_int(number, "major", -1);
    bool lxc = strcmp(js_get_string(container, "manager", ""), "lxc") == 0;
    struct finding *f =
        finding_add(out, "cgroup.container-denied", SEVERITY_FAIL,
                    "running container %s has %s, but its device cgroup denies c %d:%d", name,
                    js_get_string(number, "path", "?"), major, (int)js_get_int(number, "minor", -1));
    if (level != NULL)
        finding_evidence(f, group,
                         "a process put there is refused (EPERM); the first level that denies is %s", level);
    else
        finding_evidence(f, group, "devices.list (v1) has no entry that lets it be read and written");
    if (level != NULL && is_above(level, group))
        finding_remedy(
            f,
            "the group %s lies above the container: look at what made it and its rules (systemctl show -p "
            "DevicePolicy -p DeviceAllow UNIT, where it is a unit's); the container's own cannot widen them",
            level);
    else if (lxc)
        finding_remedy(
            f,
            "/etc/pve/lxc/%s.conf (plain LXC: /var/lib/lxc/%s/config): %s.devices.allow: c %d:* rwm, then start "
            "it again; lasting: dev0: entries",
            name, name, level != NULL ? "lxc.cgroup2" : "lxc.cgroup", major);
    else
        finding_remedy(f, "recreate the container with the nodes that are there now (--gpus, --device, CDI)");
}

static void judge_container(const js *container, const js *numbers, struct findings *out) {
    const js *list = js_get(container, "tried");
    for (size_t i = 0; i < js_length(list); i++) {
        const js *one = js_at(list, i);
        const char *path = js_get_string(one, "path", "");
        if (is_needed(path) && has_node(container, path) &&
            strcmp(js_get_string(one, "open", ""), "EPERM") == 0)
            tell_container(container, one, js_get_string(one, "denied_at", "not known"), out);
    }
    const char *v1 = js_get_string(container, "devices_list", NULL);
    for (size_t i = 0; v1 != NULL && i < js_length(numbers); i++) {
        const js *one = js_at(numbers, i);
        const char *path = js_get_string(one, "path", "");
        if (is_needed(path) && has_node(container, path) &&
            !access_v1_allows(v1, (int)js_get_int(one, "major", -1), (int)js_get_int(one, "minor", -1)))
            tell_container(container, one, NULL, out);
    }
}

static void check_containers(const struct scene *scene, struct findings *out) {
    const js *list = js_get(js_get(scene->probes, "device_cgroup"), "containers");
    for (size_t i = 0; !scene->container && i < js_length(list); i++)
        judge_container(js_at(list, i), js_get(js_get(scene->probes, "device_cgroup"), "tried"), out);
}

static const char matrix[] = "measured: each fault injected on a machine with H200 GPUs, driver 580.159.04";
static const char needs[] =
    "dev.tsv, /proc/devices; probes.json: device_cgroup, or /sys/fs/cgroup/devices/devices.list";

static const struct rule rules[] = {
    {.id = "cgroup.ctl-denied",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the device cgroup denies /dev/nvidiactl",
     .needs = needs,
     .cause =
         "a container may open only the numbers of its device cgroup; EPERM is that list's answer, whatever the mode of the node",
     .remedy =
         "allow the major of nvidia (/proc/devices) in the container's configuration, or recreate it with its devices",
     .source = "bigdata issue 150; nvidia-container-toolkit issue 48; measured",
     .check = check_ctl},
    {.id = "cgroup.uvm-denied",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the device cgroup denies /dev/nvidia-uvm",
     .needs = needs,
     .cause =
         "the major of nvidia-uvm moves with the kernel; rules with a number of an earlier boot, or made before the node existed, do "
         "not let the device cgroup through (EPERM): nvidia-smi works, cuInit answers 999",
     .remedy =
         "allow the major that /proc/devices shows now; lasting: configuration by name (dev0:, CDI), not by number",
     .source = matrix,
     .check = check_uvm},
    {.id = "cgroup.gpu-denied",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the device cgroup denies a GPU that was asked for",
     .needs = needs,
     .cause =
         "CUDA and NVML leave a GPU whose node the device cgroup denies (EPERM) out of the count, and say nothing as long "
         "as another is left; with none left cuInit answers 100",
     .remedy = "allow it in the container's configuration, or do not give it the node",
     .source = matrix,
     .check = check_gpu},
    {.id = "cgroup.harmless-denied",
     .area = AREA_CUDA,
     .severity = SEVERITY_INFO,
     .title = "the device cgroup denies nodes that are not needed",
     .needs = needs,
     .cause =
         "nvidia-uvm-tools is for debuggers, nvidia-modeset for displays, nvidia-caps for MIG: CUDA starts without them",
     .remedy = "none needed",
     .source = matrix,
     .check = check_harmless},
    {.id = "cgroup.container-denied",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a running container has a node that its device cgroup denies",
     .needs = "probes.json: device_cgroup.containers (root, on the host)",
     .cause = "its rules were made for other numbers, or before the node existed",
     .remedy = "its configuration's numbers, or recreate it",
     .source = matrix,
     .check = check_containers},
    {0},
};

const struct rule_family family_cgroup = {"cgroup", rules};
