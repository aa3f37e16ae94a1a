/* SPDX-License-Identifier: Apache-2.0 */
/* Podman's containers on this host, before they are started: what their last start shows, and what of it the
 * next one will have again. */
#include "doctor/container_needs.h"
#include "doctor/majors.h"

#include <string.h>

/* "0123456789ab (infer)", and for a command the name alone. */
static const char *shown(const struct container *c, char *out, size_t size) {
    if (c->called != NULL)
        snprintf(out, size, "%.12s (%.128s)", c->name, c->called);
    else
        snprintf(out, size, "%.12s", c->name);
    return out;
}
static const char *command_name(const struct container *c) {
    return c->called != NULL ? c->called : c->name;
}

/* `change`: what must be another way than it was. */
static void recreate(const struct container *c, const char *change, struct finding *f) {
    const char *name = command_name(c);
    finding_remedy(f, "podman inspect -f '{{.Config.CreateCommand}}' %s   (how it was made)", name);
    finding_remedy(f,
                   "podman rm %s, then make it again by that command%s: podman start and podman restart keep "
                   "what it was made with",
                   name, change);
    finding_remedy(
        f,
        "lasting: --device nvidia.com/gpu=all in place of nodes, binds and rules, and at each boot nvidia-ctk cdi "
        "generate --output=/var/run/cdi/nvidia.yaml: Podman looks CDI up at each start; or a quadlet "
        "(AddDevice=nvidia.com/gpu=all), whose container is made anew at each start");
}

/* ---- what it has of the driver's nodes ---- */

/* A node may have another name in the container than on the host (--device /dev/nvidia1:/dev/nvidia0): what
 * it is, its number says. */
static int minor_of(const struct device_entry *d, int by_name) {
    return d->minor >= 0 ? d->minor : by_name;
}

/* One after another: what CUDA needs, then the GPUs it has, and with MIG its instances. */
static bool next_node(const struct scene *scene, const struct container *c, size_t *at,
                      struct container_need *out) {
    struct container_need needs[CONTAINER_NEEDS];
    container_needs(scene, needs);
    while (*at < CONTAINER_NEEDS + c->n_devices) {
        size_t i = (*at)++;
        const struct device_entry *d = i < CONTAINER_NEEDS ? NULL : &c->devices[i - CONTAINER_NEEDS];
        const char *path = d == NULL ? needs[i].node : d->host_path;
        int cap = cap_node_number(path), gpu = gpu_node_number(path);
        if (d == NULL)
            *out = needs[i];
        else if (gpu >= 0)
            *out = (struct container_need){"nvidia", path, majors_current(scene, "nvidia"), minor_of(d, gpu)};
        else if (cap >= 0 && mig_is_on(scene))
            *out = (struct container_need){"nvidia-caps", path, majors_current(scene, "nvidia-caps"),
                                           minor_of(d, cap)};
        else
            continue;
        if (out->major >= 0)
            return true;
    }
    return false;
}

enum fate { FATE_FINE, FATE_OLD_NODE, FATE_OLD_RULE, FATE_DENIED };

/* Its owner gave it the driver's nodes by --device, and this one not: to look at GPUs needs no more. */
static bool does_without(const struct container *c, const char *path) {
    bool given = false;
    for (size_t i = 0; i < c->n_devices; i++)
        given = given || c->devices[i].major == MAJOR_NVIDIA;
    return given && container_device(c, path) == NULL;
}

/* The rule that somebody wrote for it when its number was another one. */
static const struct device_rule *old_rule(const struct scene *scene, const struct container *c,
                                          const struct container_need *node) {
    const struct device_rule *found = NULL;
    enum rule_wrong best = RULE_RIGHT;
    for (size_t i = 0; i < c->n_rules; i++) {
        const struct device_rule *rule = &c->rules[i];
        enum rule_wrong one = judge_device_rule(scene, rule, node);
        bool old =
            one == RULE_KNOWN || ((one == RULE_FOREIGN || one == RULE_STALE) && !does_without(c, node->node));
        if (old && majors_dynamic(rule->major) && strcmp(rule->key, PODMAN_RULE) == 0 &&
            (found == NULL || one < best)) {
            best = one;
            found = rule;
        }
    }
    return found;
}

/* Whatever node stands there: only what the rules allow can be opened. */
static enum fate judge(const struct scene *scene, const struct container *c,
                       const struct container_need *node, const struct device_rule **rule) {
    const struct device_entry *entry = container_device(c, node->node);
    *rule = NULL;
    if ((entry != NULL && entry->by_manager) || container_allows(c, 0, node->major, node->minor))
        return FATE_FINE;
    if (entry != NULL && entry->major >= 0 && entry->major != node->major)
        return FATE_OLD_NODE;
    if (strcmp(node->name, "nvidia-caps") == 0)
        return FATE_FINE; /* reading them is enough */
    *rule = strcmp(node->name, "nvidia") != 0 ? old_rule(scene, c, node) : NULL;
    return *rule != NULL ? FATE_OLD_RULE : entry != NULL ? FATE_DENIED : FATE_FINE;
}

/* ---- numbers of another day ---- */

static const char *what_is_lost(const struct container_need *node) {
    return strcmp(node->name, "nvidia-caps") == 0 ? "its MIG instance will be missing in it"
                                                  : "cuInit will fail in it";
}

static const char *owned_by(const struct scene *scene, int major, char *out, size_t size) {
    const char *owner = majors_name(scene, major);
    snprintf(out, size, "%s%.64s", owner[0] != '\0' ? "is now " : "no driver owns", owner);
    return out;
}

/* One finding for the nodes of a driver, whose numbers change together. */
static void tell_old_nodes(const struct scene *scene, const struct container *c, const char *driver,
                           struct findings *out) {
    struct finding *f = NULL;
    struct container_need node;
    const struct device_rule *rule;
    char name[160], owner[96];
    for (size_t at = 0; next_node(scene, c, &at, &node);) {
        if (strcmp(node.name, driver) != 0 || judge(scene, c, &node, &rule) != FATE_OLD_NODE)
            continue;
        const struct device_entry *entry = container_device(c, node.node);
        if (f == NULL) {
            f = finding_add(out, "podman.device-stale", SEVERITY_FAIL,
                            "Podman container %s was made with %s as %d:%d, whose major %s; %s has %d: %s",
                            shown(c, name, sizeof name), node.node, entry->major, entry->minor,
                            owned_by(scene, entry->major, owner, sizeof owner), driver, node.major,
                            what_is_lost(&node));
            finding_evidence(f, "/proc/devices", "%d %s", node.major, driver);
        }
        finding_evidence(f, c->file, "devices: %s", entry->text);
    }
    if (f != NULL)
        recreate(c, "", f);
}

static void tell_old_rule(const struct scene *scene, const struct container *c,
                          const struct container_need *node, const struct device_rule *rule,
                          struct findings *out) {
    char name[160], owner[96], change[192];
    struct finding *f = finding_add(
        out, "podman.rule-stale", SEVERITY_FAIL,
        "Podman container %s allows major %s, which %s, and not %s (major %d): %s",
        shown(c, name, sizeof name), rule->major_text, owned_by(scene, rule->major, owner, sizeof owner),
        node->name, node->major, what_is_lost(node));
    finding_evidence(f, c->file, "%s %s", rule->key, rule->text);
    finding_evidence(f, "/proc/devices", "%d %s", node->major, node->name);
    snprintf(change, sizeof change,
             " with --device-cgroup-rule 'c %d:* rmw' in place of major %.16s, or with --device %.64s",
             node->major, rule->major_text, node->node);
    recreate(c, change, f);
}

/* ---- nodes that are there, and not allowed ---- */

static void check_denied(const struct scene *scene, const struct container *c, struct findings *out) {
    struct finding *f = NULL;
    struct container_need node;
    const struct device_rule *rule;
    char name[160];
    for (size_t at = 0; next_node(scene, c, &at, &node);) {
        if (judge(scene, c, &node, &rule) != FATE_DENIED)
            continue;
        const struct device_entry *entry = container_device(c, node.node);
        if (f == NULL)
            f = finding_add(out, "podman.node-denied", SEVERITY_FAIL,
                            "Podman container %s gets %s, and no rule that lets it be read and written",
                            shown(c, name, sizeof name), node.node);
        finding_evidence(f, c->file, "%s %s", entry->major >= 0 ? "devices:" : "a bind of", entry->text);
    }
    if (f != NULL) {
        finding_evidence(f, c->file, "no rule for them in linux.resources.devices");
        recreate(c, " with --device NODE in place of -v NODE:NODE, which brings no rule, and without :r", f);
    }
}

static void check_numbers(const struct scene *scene, const struct container *c, struct findings *out) {
    static const char *const drivers[] = {"nvidia", "nvidia-uvm", "nvidia-caps"};
    struct container_need node;
    const struct device_rule *rule;
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        tell_old_nodes(scene, c, drivers[i], out);
    for (size_t at = 0; next_node(scene, c, &at, &node);)
        if (judge(scene, c, &node, &rule) == FATE_OLD_RULE)
            tell_old_rule(scene, c, &node, rule, out);
}

/* ---- nodes that are not there ---- */

/* A bind needs its source. */
static void check_missing(const struct scene *scene, const struct container *c, struct findings *out) {
    char name[160];
    for (size_t i = 0; scene->nodes->known && majors_current(scene, "nvidia") >= 0 && i < c->n_devices; i++) {
        const struct device_entry *d = &c->devices[i];
        if (d->by_manager || d->major >= 0 || host_has_node(scene, d->host_path))
            continue;
        struct finding *f = finding_add(out, "podman.node-missing", SEVERITY_FAIL,
                                        "Podman container %s takes %s, which is not there: it does not start",
                                        shown(c, name, sizeof name), d->host_path);
        finding_evidence(f, c->file, "a bind of %s", d->text);
        finding_evidence(f, d->host_path, "no such node on the host");
        remedy_node(scene, d->host_path, "podman-restart.service and the containers' own units", f);
        return;
    }
}

/* The container starts: its node is made by the number that Podman keeps. */
static void check_gone(const struct scene *scene, const struct container *c, struct findings *out) {
    char name[160];
    for (size_t i = 0; majors_current(scene, "nvidia") >= 0 && i < c->n_devices; i++) {
        const struct device_entry *d = &c->devices[i];
        char node[32];
        snprintf(node, sizeof node, "/dev/nvidia%d", d->minor);
        if (d->by_manager || d->major != MAJOR_NVIDIA || gpu_node_number(d->host_path) < 0 ||
            may_be_gpu_node(scene, node))
            continue;
        struct finding *f =
            finding_add(out, "podman.gpu-gone", SEVERITY_FAIL,
                        "Podman container %s was made with %s as %d:%d, which no GPU of this driver has",
                        shown(c, name, sizeof name), d->host_path, d->major, d->minor);
        finding_evidence(f, c->file, "devices: %s", d->text);
        finding_evidence(f, "/proc/driver/nvidia/gpus", "no GPU with Device Minor: %d", d->minor);
        recreate(c, " with the GPUs that are there", f);
    }
}

static void check_podman(const struct scene *scene, struct findings *out) {
    for (size_t i = 0; !scene->container && i < scene->containers.count; i++) {
        const struct container *c = &scene->containers.items[i];
        if (c->kind != CONTAINER_PODMAN || c->problem != NULL || c->by_hook || !container_wants_gpu(c) ||
            container_was_tried(scene, c))
            continue;
        check_numbers(scene, c, out);
        check_denied(scene, c, out);
        check_missing(scene, c, out);
        check_gone(scene, c, out);
    }
}

#define NEEDS                                                                                                 \
    "config.json of Podman's containers (root, on the host): "                                                \
    "GRAPHROOT/{overlay,vfs,btrfs,zfs}-containers/ID/userdata, GRAPHROOT as /etc/containers/storage.conf or " \
    "/usr/share/containers/storage.conf has it, else /var/lib/containers/storage"
/* What no prediction is made of. */
#define NOT_JUDGED                                                                                           \
    ". Not judged: a container that was never started (it has no config.json), and what is looked up again " \
    "at each start: --privileged, CDI (the family cdi), NVIDIA's hook; those of --rm, which start once; of " \
    "--cgroups=disabled, which are denied nothing; a user's own (rootless), whose nodes are the host's and " \
    "whose device cgroup denies nothing"

static const struct rule rules[] = {
    {.id = "podman.device-stale",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container of Podman's keeps the number that a node of --device had when it was made",
     .needs = NEEDS ", /proc/devices" NOT_JUDGED,
     .cause =
         "podman create looks up the numbers of --device once and keeps them in its database; each start makes node and rule "
         "of them again, whatever the host's node is by then, and only warns (Could not locate device): open() answers ENXIO "
         "(EPERM with runc in a user namespace, where it binds the host's node), cuInit 999",
     .remedy = "make it again; lasting: CDI, or a quadlet",
     .source =
         "measured: Podman 4.3 with runc and crun, started again after nvidia-uvm's number had changed, also with its run "
         "folders gone as after a reboot; the code is the same up to Podman 6",
     .check = check_podman},
    {.id = "podman.rule-stale",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container of Podman's allows the number that a device had before",
     .needs = NEEDS ", /proc/devices",
     .cause =
         "--device-cgroup-rule is a number, and nvidia-uvm's is given out at each boot: the device cgroup denies the new one "
         "(EPERM), cuInit answers 999",
     .remedy = "make it again; lasting: CDI, or a quadlet",
     .source = "measured: Podman 4.3 with runc"},
    {.id = "podman.node-denied",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container of Podman's gets a node, and no rule that lets it be used",
     .needs = NEEDS ", /proc/devices",
     .cause =
         "-v brings the node alone, and the device cgroup denies what no rule allows (EPERM); --device with r "
         "alone denies writing",
     .remedy = "--device in place of -v; lasting: CDI, or a quadlet",
     .source = "measured: Podman 4.3 with runc"},
    {.id = "podman.node-missing",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container of Podman's binds a node that is not there",
     .needs = NEEDS ", dev.tsv or /dev",
     .cause =
         "a bind needs its source: the container does not start. The node of --device is made by its number, and "
         "needs none on the host (but with runc in a user namespace, which is not foreseen)",
     .remedy = "make the nodes at boot, before the containers",
     .source =
         "measured: Podman 4.3 with runc and crun; runc: error mounting \"/dev/nvidia-uvm\" … no such file or directory"},
    {.id = "podman.gpu-gone",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a container of Podman's was made with a GPU's node that is no GPU's any more",
     .needs = NEEDS ", /proc/driver/nvidia/gpus",
     .cause =
         "the node is made by its number, and no GPU answers behind it: CUDA leaves the GPU out without an error",
     .remedy = "make it again with the GPUs that are there",
     .source =
         "measured: Podman 4.3 with runc and crun makes the nodes that it keeps, whether the host has them or not"},
    {0},
};

const struct rule_family family_podman = {"podman", rules};
