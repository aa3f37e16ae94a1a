/* SPDX-License-Identifier: Apache-2.0 */
/* LXC containers on this host, before they are started: does their configuration let CUDA in? Majors of
 * nvidia-uvm and nvidia-caps are given out anew at each boot, so a number in a file goes stale with a kernel.
 */
#include "doctor/container_needs.h"
#include "doctor/doctor.h"
#include "doctor/lxc_nodes.h"
#include "doctor/lxc_tokens.h"
#include "doctor/majors.h"

#include <stdio.h>
#include <string.h>

static void place(const struct device_rule *rule, char *out, size_t size) {
    snprintf(out, size, "%s:%d", rule->file, rule->line);
}

static void restart_lines(const struct container *c, struct finding *f) {
    lxc_offer_fix(c, f);
    lxc_restart(c, f);
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
        lxc_offer_fix(c, f);
        lxc_tell_entry(c, entry, f);
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
    lxc_offer_fix(c, f);
    lxc_restart(c, f);
}

static void check_lxc(const struct scene *scene, struct findings *out) {
    for (size_t i = 0; i < scene->containers.count; i++) {
        const struct container *c = &scene->containers.items[i];
        if ((c->kind != CONTAINER_PVE && c->kind != CONTAINER_LXC) || !container_wants_gpu(c))
            continue;
        check_needs(scene, out, c);
        lxc_tokens_check(scene, out, c);
        lxc_nodes_check(scene, out, c);
        check_gpus(scene, out, c);
        check_caps(scene, out, c);
        lxc_nodes_check_meant(scene, out, c);
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
