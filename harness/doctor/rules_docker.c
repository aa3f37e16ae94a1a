/* SPDX-License-Identifier: Apache-2.0 */
/* Docker and NVIDIA's container runtime: what takes the GPU away from a container that had it. */
#include "doctor/access.h"
#include "doctor/container_needs.h"
#include "doctor/majors.h"
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

/* ---- containers as Docker keeps them, running or not ---- */

static void recreate(const struct container *c, struct finding *f) {
    finding_remedy(f, "docker inspect -f '{{.Name}} {{.Config.Image}}' %s   (which it is)", c->name);
    finding_remedy(
        f,
        "recreate it with --gpus all, or with --device /dev/nvidiactl --device /dev/nvidia-uvm --device /dev/nvidia0 … in "
        "place of --device-cgroup-rule and binds (compose: devices: in place of device_cgroup_rules:): Docker looks their "
        "numbers up at each start");
}

static void tell_stale(const struct scene *scene, const struct container *c,
                       const struct container_need *need, const struct device_rule *rule,
                       struct findings *out) {
    const char *owner = majors_name(scene, rule->major);
    struct finding *f = finding_add(
        out, "docker.rule-stale", SEVERITY_FAIL,
        "Docker container %s allows major %s, which %s%s, and not %s (major %d): cuInit will fail in it",
        c->name, rule->major_text, owner[0] != '\0' ? "is now " : "no driver owns", owner, need->name,
        need->major);
    finding_evidence(f, c->file, "DeviceCgroupRules: %s", rule->text);
    finding_evidence(f, "/proc/devices", "%d %s", need->major, need->name);
    recreate(c, f);
    finding_remedy(f, "or, until the next kernel: --device-cgroup-rule 'c %d:* rmw'", need->major);
}

static bool is_given(const struct container *c, const struct container_need *need) {
    const struct device_entry *entry = container_device(c, need->node);
    return c->by_hook || (entry != NULL && entry->by_manager && !entry->denies_write) ||
           container_allows(c, 0, need->major, need->minor);
}

static void note_dead(const struct scene *scene, const struct container *c, struct findings *out) {
    for (size_t i = 0; c->rules != NULL && i < c->n_rules; i++) {
        const struct device_rule *rule = &c->rules[i];
        if (rule->type != 'c' || !majors_dynamic(rule->major) || majors_name(scene, rule->major)[0] != '\0')
            continue;
        struct finding *f = finding_add(
            out, "docker.rule-dead", SEVERITY_INFO,
            "Docker container %s allows major %d, which no driver owns: a dead rule", c->name, rule->major);
        finding_evidence(f, c->file, "DeviceCgroupRules: %s", rule->text);
    }
}

static void check_rules_of(const struct scene *scene, const struct container *c, struct findings *out) {
    struct container_need needs[CONTAINER_NEEDS];
    bool good = true;
    container_needs(scene, needs);
    for (size_t n = 0; n < CONTAINER_NEEDS && container_wants_gpu(c); n++) {
        if (needs[n].major < 0 || is_given(c, &needs[n]))
            continue;
        const struct device_rule *found = NULL;
        enum rule_wrong best = RULE_RIGHT;
        for (size_t i = 0; i < c->n_rules; i++) {
            enum rule_wrong one = judge_device_rule(scene, &c->rules[i], &needs[n]);
            if (one != RULE_RIGHT && (found == NULL || one < best)) {
                best = one;
                found = &c->rules[i];
            }
        }
        if (found != NULL)
            tell_stale(scene, c, &needs[n], found, out);
        good = good && found == NULL;
    }
    if (good)
        note_dead(scene, c, out);
}

/* A node of --device that is not there keeps the container from starting. */
static void check_nodes_of(const struct scene *scene, const struct container *c, struct findings *out) {
    for (size_t i = 0; scene->nodes->known && majors_current(scene, "nvidia") >= 0 && i < c->n_devices; i++) {
        const struct device_entry *d = &c->devices[i];
        if (!d->by_manager || host_has_node(scene, d->host_path))
            continue;
        struct finding *f = finding_add(out, "docker.node-missing", SEVERITY_FAIL,
                                        "Docker container %s takes %s, which is not there: it does not start",
                                        c->name, d->host_path);
        finding_evidence(f, c->file, "Devices: %s", d->text);
        finding_evidence(f, d->host_path, "no such node on the host");
        remedy_node(scene, d->host_path, "docker.service", f);
        return;
    }
}

static void check_kept(const struct scene *scene, struct findings *out) {
    for (size_t i = 0; !scene->container && i < scene->containers.count; i++) {
        const struct container *c = &scene->containers.items[i];
        if (c->kind != CONTAINER_DOCKER || c->problem != NULL || container_was_tried(scene, c))
            continue;
        check_rules_of(scene, c, out);
        check_nodes_of(scene, c, out);
    }
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
    {.id = "docker.rule-stale",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container of Docker's allows the number that a device had before",
     .needs = "hostconfig.json of Docker's containers (root, on the host), /proc/devices",
     .cause =
         "--device-cgroup-rule is a number, and nvidia-uvm's is given out at each boot: the device cgroup denies the new one "
         "(EPERM), cuInit answers 999. The pods of Kubernetes are judged while they run (cgroup.container-denied)",
     .remedy = "--gpus or --device, whose numbers are looked up at each start",
     .source = "measured: a container whose rules allow another number than the kernel's answers cuInit 999",
     .check = check_kept},
    {.id = "docker.node-missing",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container of Docker's takes a node that is not there",
     .needs = "hostconfig.json of Docker's containers (root, on the host), dev.tsv or /dev",
     .cause =
         "Docker looks the nodes of --device up when it starts a container, and does not start it without one",
     .remedy = "make the nodes at boot, before docker.service",
     .source = "Docker's answer: error gathering device information while adding custom device"},
    {.id = "docker.rule-dead",
     .area = AREA_CUDA,
     .severity = SEVERITY_INFO,
     .title = "a rule of a container of Docker's names a number that no driver owns",
     .needs = "hostconfig.json of Docker's containers (root, on the host), /proc/devices",
     .cause = "left over from another kernel; harmless beside what gives the device",
     .remedy = "it can go",
     .source = "as for LXC: a stale number beside a right one"},
    {0},
};

const struct rule_family family_docker = {"docker", rules};
