/* SPDX-License-Identifier: Apache-2.0 */
/* Docker and NVIDIA's container runtime: what takes the GPU away from a container that had it. */
#include "doctor/access.h"
#include "system/look.h"

#include <stdio.h>
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

/* "[ nvidia-container-cli ]  # ours" is that table. */
static bool is_table(const char *line, const char *table) {
    for (; *line != '\0' && *table != '\0'; line++)
        if (*line == *table)
            table++;
        else if (*line != ' ' && *line != '\t')
            return false;
    return *table == '\0';
}

/* Whether the table [nvidia-container-cli] sets it; comments and other tables do not. */
static bool sets_no_cgroups(const char *toml) {
    static const char table[] = "[nvidia-container-cli]", dotted[] = "nvidia-container-cli.";
    bool set = false, inside = false, top = true;
    while (*toml != '\0') {
        size_t length = strcspn(toml, "\n");
        char line[256];
        size_t kept = length < sizeof line - 1 ? length : sizeof line - 1;
        memcpy(line, toml, kept);
        line[kept] = '\0';
        const char *s = text_trim(line);
        if (*s == '[') {
            inside = is_table(s, table);
            top = false;
        }
        bool here = inside || (top && text_starts(s, dotted));
        s += top && here ? strlen(dotted) : 0;
        const char *after = here && text_starts(s, "no-cgroups") ? s + strlen("no-cgroups") : "";
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

/* ---- systemctl daemon-reload takes the rules away ---- */

static const char *docker_info(const struct scene *scene) {
    return js_get_string(js_get(js_get(scene->probes, "commands"), "docker info"), "stdout", "");
}

/* native.cgroupdriver of exec-opts; NULL: not set. */
static const char *driver_set(const js *daemon) {
    static const char key[] = "native.cgroupdriver=";
    const js *options = js_get(daemon, "exec-opts");
    for (size_t i = 0; i < js_length(options); i++) {
        const char *option = js_string(js_at(options, i), "");
        if (text_starts(option, key))
            return option + strlen(key);
    }
    return NULL;
}

/* What "docker info" answered, what daemon.json sets, or Docker's own default: systemd, where it runs and
 * cgroups are those of v2. Who says so; NULL: another driver, or not known. */
static const char *says_systemd(const struct scene *scene, const js *daemon, bool readable) {
    const char *info = strstr(docker_info(scene), "Cgroup Driver:");
    const char *set = driver_set(daemon);
    if (info != NULL)
        return text_starts(info + strlen("Cgroup Driver:"), " systemd")
                   ? "docker info: Cgroup Driver: systemd"
                   : NULL;
    if (set != NULL)
        return strcmp(set, "systemd") == 0 ? DAEMON ": native.cgroupdriver=systemd" : NULL;
    bool systemd = look_exists(scene->source, "/run/systemd/system") &&
                   look_exists(scene->source, "/sys/fs/cgroup/cgroup.controllers");
    return readable && systemd ? "Docker's default here (cgroup v2 and systemd): systemd" : NULL;
}

/* Docker runs or ran here, and containers may get GPUs from NVIDIA's hook (--gpus), which tells systemd
 * nothing. */
static bool gives_gpus(const struct scene *scene, bool configured) {
    static const char *const engine[] = {"/var/lib/docker", "/usr/bin/dockerd", "/var/run/docker.sock"};
    static const char *const toolkit[] = {TOML, "/usr/bin/nvidia-container-runtime-hook",
                                          "/usr/bin/nvidia-container-toolkit",
                                          "/usr/bin/nvidia-container-cli"};
    bool docker = false, hook = false;
    if (configured || strstr(docker_info(scene), "Cgroup Driver:") != NULL)
        return true;
    for (size_t i = 0; i < sizeof engine / sizeof *engine; i++)
        docker = docker || look_exists(scene->source, engine[i]);
    for (size_t i = 0; docker && i < sizeof toolkit / sizeof *toolkit; i++)
        hook = hook || look_exists(scene->source, toolkit[i]);
    return docker && hook;
}

/* The nodes that CUDA needs, for which systemd finds no /dev/char/MAJOR:MINOR. */
static size_t missing_links(const struct scene *scene, const struct access *access, struct finding *f) {
    size_t count = 0;
    for (size_t i = 0; i < access->n_subjects; i++) {
        const struct access_subject *s = &access->subjects[i];
        char link[64];
        if (!s->needed || s->node == NULL || s->trouble != TROUBLE_NONE)
            continue;
        snprintf(link, sizeof link, "/dev/char/%d:%d", s->want_major, s->want_minor);
        if (device_nodes_find(scene->nodes, link) != NULL)
            continue;
        count++;
        if (f != NULL)
            finding_evidence(f, link, "no such link, for %s", s->path);
    }
    return count;
}

static void check_reload(const struct scene *scene, struct findings *out) {
    struct access *access = scene->container ? NULL : access_read(scene);
    js *daemon = access == NULL ? NULL : read_daemon(scene);
    bool configured = look_exists(scene->source, DAEMON);
    const char *who = access == NULL ? NULL : says_systemd(scene, daemon, daemon != NULL || !configured);
    size_t missing = who != NULL && gives_gpus(scene, configured) ? missing_links(scene, access, NULL) : 0;
    if (missing > 0) {
        struct finding *f = finding_add(
            out, "docker.char-links", SEVERITY_WARN,
            "Docker containers that have a GPU lose it at the next systemctl daemon-reload: %zu link%s missing "
            "in /dev/char",
            missing, missing == 1 ? " is" : "s are");
        missing_links(scene, access, f);
        finding_evidence(f, "cgroup driver", "%s", who);
        finding_remedy(
            f,
            "nvidia-ctk system create-dev-char-symlinks --create-all, and at each boot (a udev rule on module nvidia: "
            "RUN+=\"/usr/bin/nvidia-ctk system create-dev-char-symlinks --create-all\")");
        finding_remedy(f, "or CDI (nvidia-ctk cdi generate), --device for each node, or \"exec-opts\": "
                          "[\"native.cgroupdriver=cgroupfs\"] in " DAEMON);
    }
    js_free(daemon);
    access_free(access);
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
     .title = "Docker with the systemd cgroup driver, and links missing in /dev/char",
     .needs = DAEMON " or what \"docker info\" said, dev.tsv with /dev/char",
     .cause =
         "with the systemd cgroup driver (Docker's default on cgroup v2) the rules are systemd's, which finds devices by "
         "/dev/char/MAJOR:MINOR at every daemon-reload; the driver makes no such links, so that the rules come back without the "
         "GPUs (NVML: Unknown Error)",
     .remedy = "the links at boot, CDI, or the cgroupfs driver",
     .source = "nvidia-container-toolkit issues 48, 251, 1227",
     .check = check_reload},
    {0},
};

const struct rule_family family_docker = {"docker", rules};
