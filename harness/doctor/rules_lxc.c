/* SPDX-License-Identifier: Apache-2.0 */
/* LXC containers on this host, before they are started: does their configuration let CUDA in? Majors of
 * nvidia-uvm and nvidia-caps are given out anew at each boot, so a number in a file goes stale with a kernel.
 */
#include "doctor/container_needs.h"
#include "doctor/doctor.h"
#include "doctor/lxc_tokens.h"
#include "doctor/majors.h"
#include "doctor/shell_word.h"
#include "system/look.h"

#include <stdio.h>
#include <string.h>

static void place(const struct device_rule *rule, char *out, size_t size) {
    snprintf(out, size, "%s:%d", rule->file, rule->line);
}

static void restart(const struct container *c, struct finding *f) {
    char buffer[512];
    const char *name = shell_word(c->name, buffer, sizeof buffer);
    bool pve = c->kind == CONTAINER_PVE;
    finding_remedy(f, pve ? "pct stop %s && pct start %s" : "lxc-stop -n %s && lxc-start -n %s", name, name);
}

/* The mend makes the lines of this finding. */
static void offer_fix(const struct container *c, struct finding *f) {
    char buffer[512];
    finding_remedy(f, "gpuvet doctor --fix lxc:%s shows the whole change, and makes it with --apply",
                   shell_word(c->name, buffer, sizeof buffer));
}

static void restart_lines(const struct container *c, struct finding *f) {
    offer_fix(c, f);
    restart(c, f);
    if (c->kind == CONTAINER_PVE) {
        finding_remedy(
            f,
            "for good: replace the rules and binds by dev0: /dev/nvidiactl, dev1: /dev/nvidia0, dev2: "
            "/dev/nvidia-uvm … in %s; Proxmox then makes node and rule with the right number at each "
            "start",
            c->file);
    } else {
        finding_remedy(
            f,
            "for good: a oneshot unit before lxc.service that writes the rules from /proc/devices into a file "
            "which %s includes (lxc.include); a pre-start hook would come after the reading",
            c->file);
    }
}

/* The rule that explains best why `need` is not allowed. */
static enum rule_wrong find_wrong(const struct scene *scene, const struct container *c,
                                  const struct container_need *need, const struct device_rule **found) {
    enum rule_wrong best = RULE_RIGHT;
    for (size_t i = 0; i < c->n_rules; i++) {
        enum rule_wrong one = judge_device_rule(scene, &c->rules[i], need);
        if (one != RULE_RIGHT && (best == RULE_RIGHT || one < best)) {
            best = one;
            *found = &c->rules[i];
        }
    }
    return best;
}

static struct finding *add_wrong(struct findings *out, enum rule_wrong wrong, const struct container *c,
                                 const struct container_need *need, const struct device_rule *rule,
                                 const char *owner) {
    switch (wrong) {
    case RULE_KNOWN:
        return finding_add(out, "lxc.major-wrong", SEVERITY_FAIL,
                           "container %s allows major %d for %s; this kernel gave it %d", c->name,
                           rule->major, need->name, need->major);
    case RULE_HEX:
        return finding_add(out, "lxc.major-hex", SEVERITY_FAIL,
                           "container %s allows '%s', which is %d (%s) in hex and no decimal major", c->name,
                           rule->major_text, need->major, need->name);
    case RULE_NOT_DECIMAL:
        return finding_add(out, "lxc.not-decimal", SEVERITY_FAIL,
                           "container %s allows '%s', which is no decimal major; %s is %d", c->name,
                           rule->major_text, need->name, need->major);
    case RULE_FOREIGN:
        return finding_add(out, "lxc.major-foreign", SEVERITY_FAIL,
                           "container %s allows major %d, which is %s now, and not %s (%d)", c->name,
                           rule->major, owner, need->name, need->major);
    case RULE_OTHER_CGROUP:
        return finding_add(out, "lxc.other-cgroup", SEVERITY_FAIL,
                           "container %s allows %s by %s, which this host's cgroup v%d ignores", c->name,
                           need->name, rule->key, rule->cgroup == 1 ? 2 : 1);
    case RULE_STALE:
    case RULE_RIGHT:
        break;
    }
    return finding_add(out, "lxc.rule-missing", SEVERITY_FAIL,
                       "container %s has no rule for %s (major %d): cuInit will fail in it", c->name,
                       need->name, need->major);
}

static void explain(const struct scene *scene, struct findings *out, const struct container *c,
                    const struct container_need *need) {
    const struct device_rule *rule = NULL;
    enum rule_wrong wrong = find_wrong(scene, c, need, &rule);
    if (rule == NULL)
        wrong = RULE_RIGHT;
    const char *owner = rule != NULL ? majors_name(scene, rule->major) : "";
    struct finding *f = add_wrong(out, wrong, c, need, rule, owner);
    const char *file = rule != NULL ? rule->file : c->file;
    bool replaces =
        wrong == RULE_KNOWN || wrong == RULE_HEX || wrong == RULE_NOT_DECIMAL || wrong == RULE_FOREIGN;
    char where[512];
    finding_evidence(f, "/proc/devices", "%d %s", need->major, need->name);
    if (rule != NULL) {
        place(rule, where, sizeof where);
        finding_evidence(f, where, "%s%s %s", rule->key, lxc_separator(c), rule->text);
        if (wrong == RULE_STALE)
            finding_cause(
                f,
                "no driver owns major %d now, so that the rule in line %d is most likely the one that "
                "meant %s before; the rule for %d is missing",
                rule->major, rule->line, need->name, need->major);
        if (wrong == RULE_FOREIGN)
            finding_cause(
                f, "the number was given to another driver: the container may open %s and may not open %s",
                owner, need->name);
    } else {
        finding_evidence(f, c->file, "no line allows c %d:%d", need->major, need->minor);
    }
    if (replaces) {
        finding_remedy(f, "%s line %d, now:  %s%s %s", file, rule->line, rule->key, lxc_separator(c),
                       rule->text);
        finding_remedy(f, "%s line %d, then: %s%s c %d:* rwm", file, rule->line, lxc_rule_key(scene),
                       lxc_separator(c), need->major);
    } else {
        finding_remedy(f, "add to %s: %s%s c %d:* rwm", file, lxc_rule_key(scene), lxc_separator(c),
                       need->major);
    }
    restart_lines(c, f);
}

/* A rule for a number that nobody owns, beside one that is right: harmless. */
static void note_dead_rules(const struct scene *scene, struct findings *out, const struct container *c) {
    for (size_t i = 0; i < c->n_rules; i++) {
        const struct device_rule *rule = &c->rules[i];
        if (!rule->allow || rule->type != 'c' || !majors_dynamic(rule->major) ||
            majors_name(scene, rule->major)[0] != '\0')
            continue;
        char where[512];
        struct finding *f = finding_add(out, "lxc.rule-dead", SEVERITY_INFO,
                                        "container %s allows major %d, which no driver owns: a dead rule",
                                        c->name, rule->major);
        place(rule, where, sizeof where);
        finding_evidence(f, where, "%s%s %s", rule->key, lxc_separator(c), rule->text);
    }
}

static void check_needs(const struct scene *scene, struct findings *out, const struct container *c) {
    struct container_need needs[CONTAINER_NEEDS];
    bool good = true;
    container_needs(scene, needs);
    for (size_t i = 0; i < CONTAINER_NEEDS; i++)
        if (!container_need_met(scene, c, &needs[i])) {
            good = false;
            explain(scene, out, c, &needs[i]);
        }
    if (good)
        note_dead_rules(scene, out, c);
}

/* A node that goes in must be there when the container starts. */
static void check_nodes(const struct scene *scene, struct findings *out, const struct container *c) {
    for (size_t i = 0; scene->nodes->known && i < c->n_devices; i++) {
        const struct device_entry *entry = &c->devices[i];
        bool uvm = strcmp(entry->host_path, "/dev/nvidia-uvm") == 0;
        bool gpu = text_starts(entry->host_path, "/dev/nvidia") && entry->host_path[11] >= '0' &&
                   entry->host_path[11] <= '9';
        if ((!uvm && !gpu) || device_nodes_find(scene->nodes, entry->host_path) != NULL)
            continue;
        char where[512];
        snprintf(where, sizeof where, "%s:%d", entry->file, entry->line);
        struct finding *f = finding_add(out, "lxc.node-missing", SEVERITY_FAIL,
                                        "container %s takes %s, which is not there when it starts", c->name,
                                        entry->host_path);
        finding_evidence(f, where, "%s", entry->text);
        finding_evidence(f, entry->host_path, "no such node on the host");
        if (entry->creates_file)
            finding_cause(
                f, "create=file then leaves a regular file in its place, on which CUDA fails with 999");
        if (gpu && !may_be_gpu_node(scene, entry->host_path)) {
            finding_remedy(f, "no GPU of this driver has that number: take the line out, or name one of "
                              "/proc/driver/nvidia/gpus/*/information (Device Minor)");
            continue;
        }
        if (uvm)
            finding_remedy(
                f, "modprobe nvidia_uvm && nvidia-modprobe -u -c 0   (on the host, before the container)");
        else
            finding_remedy(f, "nvidia-modprobe -c %s   (on the host, before the container)",
                           entry->host_path + 11);
        finding_remedy(f, "for good: a oneshot unit with that line, After=systemd-modules-load.service, "
                          "Before=pve-guests.service lxc.service docker.service");
    }
}

/* What CUDA cannot do without. */
static bool is_needed(const char *path) {
    return strcmp(path, "/dev/nvidiactl") == 0 || strcmp(path, "/dev/nvidia-uvm") == 0 ||
           gpu_node_number(path) >= 0;
}

static void tell_entry(const struct container *c, const struct device_entry *entry, struct finding *f) {
    char where[512];
    snprintf(where, sizeof where, "%s:%d", entry->file, entry->line);
    finding_evidence(f, where, "%s", entry->text);
    restart(c, f);
}

/* A GPU that is bound and not allowed is lost without an error, where the others work. */
static void check_gpus(const struct scene *scene, struct findings *out, const struct container *c) {
    struct container_need needs[CONTAINER_NEEDS];
    int cgroup = majors_cgroup(scene);
    container_needs(scene, needs);
    for (size_t i = 0; container_need_met(scene, c, &needs[0]) && i < c->n_devices; i++) {
        const struct device_entry *entry = &c->devices[i];
        int minor = gpu_node_number(entry->host_path);
        char bdf[16] = "";
        if (minor < 0 || entry->by_manager || needs[0].major < 0 ||
            container_allows(c, cgroup, needs[0].major, minor) ||
            container_allows_path(c, cgroup, entry->host_path))
            continue;
        bool known = majors_gpu_of_minor(scene, minor, bdf);
        struct finding *f =
            finding_add(out, "lxc.gpu-denied", SEVERITY_FAIL,
                        "container %s takes %s and does not allow it: GPU%s%s will be lost in it", c->name,
                        entry->host_path, known ? " " : "", bdf);
        finding_evidence(f, c->file, "no line allows c %d:%d", needs[0].major, minor);
        finding_remedy(f, "add to %s: %s%s c %d:%d rwm", c->file, lxc_rule_key(scene), lxc_separator(c),
                       needs[0].major, minor);
        offer_fix(c, f);
        tell_entry(c, entry, f);
    }
}

/* A bound node of nvidia-caps that no rule allows, from `*at` on. */
static const struct device_entry *next_denied_cap(const struct scene *scene, const struct container *c,
                                                  int major, size_t *at) {
    for (; *at < c->n_devices; ++*at) {
        const struct device_entry *entry = &c->devices[*at];
        int minor = cap_node_number(entry->host_path);
        if (minor >= 0 && !entry->by_manager && !container_allows(c, majors_cgroup(scene), major, minor))
            return entry;
    }
    return NULL;
}

/* Nodes of MIG instances, whose major moves as nvidia-uvm's does. */
static void check_caps(const struct scene *scene, struct findings *out, const struct container *c) {
    int major = majors_current(scene, "nvidia-caps");
    struct container_need need = {"nvidia-caps", "", major, -1};
    size_t at = 0;
    const struct device_entry *entry =
        major >= 0 && mig_is_on(scene) ? next_denied_cap(scene, c, major, &at) : NULL;
    if (entry == NULL)
        return;
    struct finding *f =
        finding_add(out, "lxc.mig-denied", SEVERITY_FAIL,
                    "container %s takes a MIG instance's %s and does not allow nvidia-caps (major %d)",
                    c->name, entry->host_path, major);
    const struct device_rule *rule = NULL;
    enum rule_wrong wrong = find_wrong(scene, c, &need, &rule);
    char where[512];
    finding_evidence(f, "/proc/devices", "%d nvidia-caps", major);
    if (wrong != RULE_RIGHT && rule->major != -2) {
        place(rule, where, sizeof where);
        finding_evidence(f, where, "%s%s %s", rule->key, lxc_separator(c), rule->text);
    }
    for (; (entry = next_denied_cap(scene, c, major, &at)) != NULL; at++) {
        finding_remedy(f, "add to %s: %s%s c %d:%d rwm", c->file, lxc_rule_key(scene), lxc_separator(c),
                       major, cap_node_number(entry->host_path));
        snprintf(where, sizeof where, "%s:%d", entry->file, entry->line);
        finding_evidence(f, where, "%s", entry->text);
    }
    offer_fix(c, f);
    restart(c, f);
}

/* Nodes that a privileged container's CUDA makes for itself; an unprivileged one may make none. */
static void check_given(const struct scene *scene, struct findings *out, const struct container *c) {
    struct container_need needs[CONTAINER_NEEDS];
    container_needs(scene, needs);
    for (size_t i = 0; i < CONTAINER_NEEDS; i++) {
        const char *node = needs[i].node;
        if (!container_lacks_node(c, &needs[i]) || !container_need_met(scene, c, &needs[i]))
            continue;
        struct finding *f =
            finding_add(out, "lxc.node-not-given", SEVERITY_FAIL,
                        "container %s takes a GPU and not %s, which it may not make itself", c->name, node);
        finding_evidence(f, c->file, "no lxc.mount.entry and no dev entry of %s", node);
        finding_evidence(f, c->file, "unprivileged");
        finding_remedy(f, "add to %s: lxc.mount.entry%s %s %s none bind,optional,create=file 0 0", c->file,
                       lxc_separator(c), node, node + 1);
        offer_fix(c, f);
        restart(c, f);
    }
}

/* Ids inside of an unprivileged container are none of the host's: only what is open to everybody is open to
 * it. */
static void check_closed(const struct scene *scene, struct findings *out, const struct container *c) {
    enum {
        FIRST_MAPPED = 65536
    }; /* a node given to an id of the usual maps, 100000 and on, was given to the container */
    struct finding *f = NULL;
    char where[512];
    for (size_t i = 0; c->unprivileged && !c->maps_ids && i < c->n_devices; i++) {
        const struct device_entry *entry = &c->devices[i];
        const struct device_node *node = device_nodes_find(scene->nodes, entry->host_path);
        if (entry->by_manager || !is_needed(entry->host_path) || node == NULL || node->type != 'c' ||
            node->mode < 0 || (node->mode & 06) == 06 || node->uid >= FIRST_MAPPED ||
            node->gid >= FIRST_MAPPED)
            continue;
        if (f == NULL)
            f = finding_add(out, "lxc.node-closed", SEVERITY_FAIL,
                            "container %s is unprivileged, and the mode of %s shuts its users out", c->name,
                            entry->host_path);
        snprintf(where, sizeof where, "%s:%d", entry->file, entry->line);
        finding_evidence(f, where, "%s", entry->text);
        finding_evidence(f, entry->host_path, "mode %04o, owner %lld:%lld on the host", (unsigned)node->mode,
                         (long long)node->uid, (long long)node->gid);
    }
    if (f == NULL)
        return;
    finding_remedy(
        f, "Proxmox VE 8.2 or newer: dev0: /dev/nvidiactl, dev1: /dev/nvidia-uvm, dev2: /dev/nvidia0 … "
           "(each with ,gid=GID or ,mode=0666 for users other than root) in place of the binds");
    finding_remedy(
        f, "or for everybody: chmod 0666 /dev/nvidia*; lasting: options nvidia NVreg_DeviceFileMode=0666 "
           "in /etc/modprobe.d/nvidia.conf");
    restart(c, f);
}

/* CUDA opens its nodes to read and write. */
static void check_write(struct findings *out, const struct container *c) {
    for (size_t i = 0; i < c->n_devices; i++) {
        const struct device_entry *entry = &c->devices[i];
        if (!entry->denies_write || !is_needed(entry->host_path))
            continue;
        struct finding *f =
            finding_add(out, "lxc.deny-write", SEVERITY_FAIL,
                        "container %s may only read %s: CUDA cannot open it", c->name, entry->host_path);
        finding_remedy(f, "%s line %d: take out deny-write=1", entry->file, entry->line);
        tell_entry(c, entry, f);
    }
}

static bool comments_name(const struct container *c, const char *bdf) {
    const char *colon = strchr(bdf, ':');
    for (size_t i = 0; colon != NULL && i < c->comments.count; i++)
        if (strstr(c->comments.items[i], colon + 1) != NULL)
            return true;
    return false;
}

/* The first GPU that a comment names by its address and that none of the container's nodes is; "" none. */
static void named_elsewhere(const struct scene *scene, const struct container *c, char out[16]) {
    struct strings names = {0};
    out[0] = '\0';
    look_list(scene->source, "/proc/driver/nvidia/gpus", &names);
    for (size_t n = 0; n < names.count && out[0] == '\0'; n++) {
        bool given = !comments_name(c, names.items[n]) || strlen(names.items[n]) > 15;
        for (size_t i = 0; i < c->n_devices && !given; i++) {
            char bdf[16];
            int minor = gpu_node_number(c->devices[i].host_path);
            given = minor >= 0 && majors_gpu_of_minor(scene, minor, bdf) && strcmp(bdf, names.items[n]) == 0;
        }
        if (!given)
            snprintf(out, 16, "%.15s", names.items[n]);
    }
    strings_free(&names);
}

/* A comment says which GPU was meant, and the node is another: indices were taken for minors. */
static void check_meant(const struct scene *scene, struct findings *out, const struct container *c) {
    char meant[16], bdf[16];
    named_elsewhere(scene, c, meant);
    for (size_t i = 0; meant[0] != '\0' && i < c->n_devices; i++) {
        int minor = gpu_node_number(c->devices[i].host_path);
        if (minor < 0 || !majors_gpu_of_minor(scene, minor, bdf) || comments_name(c, bdf))
            continue;
        struct finding *f =
            finding_add(out, "lxc.other-gpu", SEVERITY_FAIL,
                        "container %s names GPU %s in a comment and takes %s, which is GPU %s", c->name,
                        meant, c->devices[i].host_path, bdf);
        char file[64];
        snprintf(file, sizeof file, "/proc/driver/nvidia/gpus/%s/information", bdf);
        finding_evidence(f, file, "Device Minor: %d", minor);
        finding_remedy(f,
                       "the node of GPU %s has the number after Device Minor in "
                       "/proc/driver/nvidia/gpus/%s/information",
                       meant, meant);
        tell_entry(c, &c->devices[i], f);
        return;
    }
}

/* The index that nvidia-smi shows is the order of PCI addresses; the node's number is the driver's. */
static void check_map(const struct scene *scene, struct findings *out, const struct container *c) {
    for (size_t i = 0; i < c->n_devices; i++) {
        char bdf[16];
        int minor = -1;
        const char *path = c->devices[i].host_path;
        if (sscanf(path, "/dev/nvidia%d", &minor) != 1 || !majors_gpu_of_minor(scene, minor, bdf))
            continue;
        int index = majors_index_of_gpu(scene, bdf);
        if (index < 0 || index == minor)
            continue;
        struct finding *f =
            finding_add(out, "lxc.node-map", SEVERITY_INFO,
                        "container %s takes %s, which is the GPU at %s (GPU %d in nvidia-smi)", c->name, path,
                        bdf, index);
        finding_evidence(f, c->file, "%s", c->devices[i].text);
    }
}

static void check_lxc(const struct scene *scene, struct findings *out) {
    for (size_t i = 0; i < scene->containers.count; i++) {
        const struct container *c = &scene->containers.items[i];
        if ((c->kind != CONTAINER_PVE && c->kind != CONTAINER_LXC) || !container_wants_gpu(c))
            continue;
        check_needs(scene, out, c);
        lxc_tokens_check(scene, out, c);
        check_write(out, c);
        check_given(scene, out, c);
        check_closed(scene, out, c);
        check_nodes(scene, out, c);
        check_gpus(scene, out, c);
        check_caps(scene, out, c);
        check_meant(scene, out, c);
        check_map(scene, out, c);
    }
}

#define NEEDS "/etc/pve/lxc/*.conf or /var/lib/lxc/*/config, /proc/devices"
#define MATRIX                                                                                               \
    "measured: a container whose configuration allows another number than the kernel's answers cuInit 999"

static const struct rule rules[] = {
    {.id = "lxc.major-wrong",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container allows the number that a device had before",
     .needs = NEEDS ", and a baseline or earlier capture that knows the old number",
     .cause =
         "majors of nvidia-uvm and nvidia-caps are given out at each boot; the device cgroup then denies the "
         "new one (EPERM), and cuInit answers 999 while nvidia-smi works",
     .remedy = "the number in that line; for good, entries for which the manager makes rules at each start",
     .source = MATRIX,
     .check = check_lxc},
    {.id = "lxc.rule-missing",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container that takes a GPU does not allow a device that CUDA needs",
     .needs = NEEDS,
     .cause =
         "the device cgroup denies what no rule allows (EPERM); without nvidia-uvm cuInit answers 999 while "
         "nvidia-smi works",
     .remedy = "the missing line; for good, entries for which the manager makes rules at each start",
     .source = MATRIX},
    {.id = "lxc.major-hex",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container's rule has a major in hex",
     .needs = NEEDS,
     .cause =
         "stat -c %t prints majors in hex, device rules are decimal: LXC leaves another out (cgroup v2) or does "
         "not start the container (v1); one of digits alone names another device",
     .remedy = "the decimal number",
     .source = "public thread: a recipe that read the major with stat -c %t"},
    {.id = "lxc.not-decimal",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container's rule has no decimal major",
     .needs = NEEDS,
     .cause =
         "device rules take decimal numbers or *: LXC leaves another out (cgroup v2) or does not start the "
         "container (v1)",
     .remedy = "the decimal number",
     .source = "lxc.container.conf(5); LXC's source, device_cgroup_rule_parse"},
    {.id = "lxc.major-foreign",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container allows a number that belongs to another driver now",
     .needs = NEEDS,
     .cause = "the number was given to another driver at this boot",
     .remedy = "the right number; the old one lets the container at a device that it was not meant to have",
     .source = "made from the fault matrix: a stale number can be given out again"},
    {.id = "lxc.other-cgroup",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container's rule is for the other cgroup version",
     .needs = NEEDS ", /proc/self/mountinfo",
     .cause = "lxc.cgroup.devices is for cgroup v1, lxc.cgroup2.devices for v2; the other one is ignored",
     .remedy = "the other key",
     .source = "lxc.container.conf(5)"},
    {.id = "lxc.node-missing",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container takes a device node that the host does not have",
     .needs = NEEDS ", dev.tsv or /dev",
     .cause =
         "nodes other than nvidiactl and nvidia0 are made when somebody asks for them; an optional bind is then "
         "left out without a word",
     .remedy = "make the nodes at boot, before containers start",
     .source = "public threads: containers that start before nvidia-uvm exists"},
    {.id = "lxc.gpu-denied",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container takes the node of a GPU that its rules do not allow",
     .needs = NEEDS,
     .cause =
         "the device cgroup denies that minor (EPERM); CUDA and NVML leave the GPU out of the count, and say "
         "nothing",
     .remedy = "a rule for its minor, or for all of the driver's",
     .source = "measured: one of two GPUs denied is lost without an error"},
    {.id = "lxc.mig-denied",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container takes a MIG instance whose capability nodes its rules do not allow",
     .needs = NEEDS ", probes.json: gpus",
     .cause =
         "the major of nvidia-caps is given out at each boot; without its node a MIG instance is not to be seen",
     .remedy =
         "a rule for the major of nvidia-caps; for good, entries for which the manager makes rules at each start",
     .source = "nvidia-container-toolkit issue 1740"},
    {.id = "lxc.deny-write",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container may only read a node that CUDA writes to",
     .needs = NEEDS,
     .cause = "open() for reading and writing is denied (EPERM), as if the node were not allowed at all",
     .remedy = "the entry without deny-write=1",
     .source = "pct.conf(5)"},
    {.id = "lxc.node-not-given",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "an unprivileged container takes a GPU without a node that CUDA needs",
     .needs = NEEDS,
     .cause =
         "root of an unprivileged container may not make nodes: without nvidiactl NVML and CUDA find no GPU, "
         "without nvidia-uvm cuInit answers 999",
     .remedy = "give it the node",
     .source = "measured: the node missing, where nobody may make it"},
    {.id = "lxc.node-closed",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "an unprivileged container takes nodes that only the host's users may open",
     .needs = NEEDS ", dev.tsv or /dev",
     .cause =
         "its ids are mapped to others of the host, so that owner and group of the node are nobody inside "
         "(EACCES)",
     .remedy = "entries for which the manager makes nodes of the container's own, or mode 0666",
     .source = "lxd issue 11236; nvidia-container-toolkit issue 210"},
    {.id = "lxc.rule-dead",
     .area = AREA_CUDA,
     .severity = SEVERITY_INFO,
     .title = "a container's rule names a number that no driver owns",
     .needs = NEEDS,
     .cause = "left over from another kernel; harmless beside a right rule",
     .remedy = "it can go",
     .source = MATRIX},
    {.id = "lxc.other-gpu",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container takes another GPU than its own comment names",
     .needs = NEEDS ", /proc/driver/nvidia/gpus/*/information",
     .cause = "the number in /dev/nvidiaN is the driver's minor, which is not the index of nvidia-smi",
     .remedy = "the node whose Device Minor is that GPU's",
     .source = "the NVIDIA container project's page on GPU isolation"},
    {.id = "lxc.node-map",
     .area = AREA_CUDA,
     .severity = SEVERITY_INFO,
     .title = "the number of a node is not the GPU's index",
     .needs = NEEDS ", /proc/driver/nvidia/gpus/*/information",
     .cause = "nvidia-smi counts in PCI order, /dev/nvidiaN is the driver's minor",
     .remedy = "choose the node by its PCI address",
     .source = "the NVIDIA container project's page on GPU isolation"},
    {0},
};

const struct rule_family family_lxc = {"lxc", rules};
