/* SPDX-License-Identifier: Apache-2.0 */
/* Docker and NVIDIA's container runtime: what takes the GPU away from a container that had it. */
#include "doctor/doctor.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

#define TOML "/etc/nvidia-container-runtime/config.toml"
#define DAEMON "/etc/docker/daemon.json"

static js *read_daemon(const struct scene *scene) {
    struct text text = {0};
    struct error err = {0};
    js *out = NULL;
    if (look_bytes(scene->source, DAEMON, LOOK_LARGE, &text))
        out = js_parse(text_string(&text), text.length, &err);
    text_free(&text);
    return out;
}

/* Whether a line of the file sets it; comments do not. */
static bool sets_no_cgroups(const char *toml) {
    bool set = false;
    while (*toml != '\0') {
        size_t length = strcspn(toml, "\n");
        char line[256];
        size_t kept = length < sizeof line - 1 ? length : sizeof line - 1;
        memcpy(line, toml, kept);
        line[kept] = '\0';
        const char *s = text_trim(line);
        const char *after = text_starts(s, "no-cgroups") ? s + strlen("no-cgroups") : "";
        after += strspn(after, " \t");
        if (*after == '=')
            set = strncmp(after + 1 + strspn(after + 1, " \t"), "true", 4) == 0;
        toml += length + (toml[length] == '\n');
    }
    return set;
}

/* Docker in LXC: the hook would have to add rules to a device filter that belongs to the host. */
static void check_nested(const struct scene *scene, struct findings *out) {
    struct text text = {0};
    bool lxc = scene->container && strcmp(scene->manager, "lxc") == 0;
    if (lxc && look_bytes(scene->source, TOML, LOOK_LARGE, &text) && !sets_no_cgroups(text_string(&text))) {
        struct finding *f =
            finding_add(out, "docker.nested-cgroups", SEVERITY_WARN,
                        "Docker in this container cannot add device rules: no-cgroups is not true");
        finding_evidence(f, TOML, "no line no-cgroups = true");
        finding_evidence(f, "container manager", "lxc");
        finding_remedy(f, "in " TOML ", under [nvidia-container-cli]: no-cgroups = true");
        finding_remedy(f, "pass the nodes themselves: docker run --gpus all --device /dev/nvidiactl --device "
                          "/dev/nvidia-uvm --device /dev/nvidia0 …");
    }
    text_free(&text);
}

/* native.cgroupdriver of exec-opts; Docker's own default is systemd where cgroup v2 and systemd run. */
static bool uses_systemd(const struct scene *scene, const js *daemon) {
    const js *options = js_get(daemon, "exec-opts");
    for (size_t i = 0; i < js_length(options); i++) {
        const char *option = js_string(js_at(options, i), "");
        if (text_starts(option, "native.cgroupdriver="))
            return strcmp(option, "native.cgroupdriver=systemd") == 0;
    }
    return look_exists(scene->source, "/run/systemd/system") &&
           look_exists(scene->source, "/sys/fs/cgroup/cgroup.controllers");
}

static bool has_char_link(const struct scene *scene) {
    for (size_t i = 0; i < scene->nodes->count; i++)
        if (text_starts(scene->nodes->items[i].path, "/dev/char/195:"))
            return true;
    return false;
}

static void check_reload(const struct scene *scene, struct findings *out) {
    js *daemon = scene->container ? NULL : read_daemon(scene);
    bool runtime = daemon != NULL && js_get(js_get(daemon, "runtimes"), "nvidia") != NULL;
    bool nodes = scene->nodes->known && device_nodes_find(scene->nodes, "/dev/nvidiactl") != NULL;
    if (runtime && nodes && uses_systemd(scene, daemon) && !has_char_link(scene)) {
        struct finding *f = finding_add(
            out, "docker.char-links", SEVERITY_WARN,
            "containers will lose the GPU at the next systemctl daemon-reload: no links in /dev/char");
        finding_evidence(f, "/dev/char/195:255", "no such link");
        finding_evidence(f, DAEMON, "cgroup driver systemd, runtime nvidia");
        finding_remedy(
            f,
            "nvidia-ctk system create-dev-char-symlinks --create-all   (and in a udev rule or unit at boot)");
        finding_remedy(f, "or: \"exec-opts\": [\"native.cgroupdriver=cgroupfs\"] in " DAEMON
                          ", or CDI, or --device for "
                          "each node");
    }
    js_free(daemon);
}

static const struct rule rules[] = {
    {.id = "docker.nested-cgroups",
     .area = AREA_CUDA,
     .severity = SEVERITY_WARN,
     .title = "NVIDIA's container runtime in an LXC container without no-cgroups",
     .needs = TOML ", the container's manager",
     .cause =
         "the device filter belongs to the host: the runtime's hook fails with bpf_prog_query … operation not "
         "permitted",
     .remedy =
         "no-cgroups = true, and the nodes passed one by one; only inside a container, on a host it takes "
         "protection away",
     .source = "public threads: Docker inside LXC",
     .check = check_nested},
    {.id = "docker.char-links",
     .area = AREA_CUDA,
     .severity = SEVERITY_WARN,
     .title = "Docker with the systemd cgroup driver, and no links in /dev/char",
     .needs = DAEMON ", dev.tsv or /dev",
     .cause =
         "at a daemon-reload systemd makes the device rules of every scope anew from what it finds in /dev/char; "
         "without the links NVML then answers Unknown Error",
     .remedy = "the links at boot, the cgroupfs driver, or CDI",
     .source = "notice of the NVIDIA container toolkit on containers losing access to GPUs",
     .check = check_reload},
    {0},
};

const struct rule_family family_docker = {"docker", rules};
