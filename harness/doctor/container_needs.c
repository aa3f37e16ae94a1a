/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/container_needs.h"

#include "doctor/majors.h"
#include "doctor/shell_word.h"
#include "system/look.h"

#include <stdio.h>
#include <string.h>

void container_needs(const struct scene *scene, struct container_need out[CONTAINER_NEEDS]) {
    out[0] = (struct container_need){"nvidia", "/dev/nvidiactl", majors_current(scene, "nvidia"), 255};
    out[1] = (struct container_need){"nvidia-uvm", "/dev/nvidia-uvm", majors_current(scene, "nvidia-uvm"), 0};
}

bool container_need_met(const struct scene *scene, const struct container *c,
                        const struct container_need *need) {
    const struct device_entry *entry = container_device(c, need->node);
    bool made = entry != NULL && entry->by_manager;
    int cgroup = majors_cgroup(scene);
    return need->major < 0 || made || container_allows(c, cgroup, need->major, need->minor) ||
           container_allows_path(c, cgroup, need->node);
}

static int number_of(const char *path, const char *prefix) {
    int64_t number = -1;
    bool good = text_starts(path, prefix) && path[strlen(prefix)] >= '0' && path[strlen(prefix)] <= '9' &&
                text_to_int(path + strlen(prefix), &number) && number < 1 << 20;
    return good ? (int)number : -1;
}

int gpu_node_number(const char *path) {
    return number_of(path, "/dev/nvidia");
}

int cap_node_number(const char *path) {
    return number_of(path, "/dev/nvidia-caps/nvidia-cap");
}

bool host_has_node(const struct scene *scene, const char *path) {
    static const char *const folders[] = {"/dev/nvidia-caps", "/dev/nvidia-caps-imex-channels"};
    bool folder = false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t length = strlen(folders[i]);
        folder =
            folder || (text_starts(path, folders[i]) && path[length + strspn(path + length, "/")] == '\0');
    }
    return folder || device_nodes_find(scene->nodes, path) != NULL;
}

bool may_be_gpu_node(const struct scene *scene, const char *path) {
    char bdf[16];
    int minor = gpu_node_number(path);
    bool known = look_exists(scene->source, "/proc/driver/nvidia/gpus");
    return !known || (minor >= 0 && minor < 256 && majors_gpu_of_minor(scene, minor, bdf));
}

void remedy_node(const struct scene *scene, const char *path, const char *before, struct finding *f) {
    int gpu = gpu_node_number(path);
    if (text_starts(path, "/dev/nvidia-uvm"))
        finding_remedy(f, "nvidia-modprobe -u -c 0, and at each boot in a unit with Before=%s", before);
    else if (strcmp(path, "/dev/nvidia-modeset") == 0)
        finding_remedy(f, "nvidia-modprobe -m, and at each boot in a unit with Before=%s", before);
    else if (gpu >= 0 && !may_be_gpu_node(scene, path))
        finding_remedy(f, "no GPU of this driver has that number: recreate it with one of "
                          "/proc/driver/nvidia/gpus/*/information (Device Minor)");
    else
        finding_remedy(f, "nvidia-modprobe -c %d, and at each boot in a unit with Before=%s",
                       gpu >= 0 ? gpu : 0, before);
}

/* /proc/driver/nvidia/capabilities/gpu0/mig/gi1 */
static bool has_instances(const struct scene *scene) {
    static const char root[] = "/proc/driver/nvidia/capabilities";
    struct strings gpus = {0};
    bool found = false;
    look_list(scene->source, root, &gpus);
    for (size_t i = 0; i < gpus.count && !found; i++) {
        struct text path = {0};
        struct strings names = {0};
        text_addf(&path, "%s/%.64s/mig", root, gpus.items[i]);
        look_list(scene->source, text_string(&path), &names);
        for (size_t n = 0; n < names.count; n++)
            found = found || number_of(names.items[n], "gi") >= 0;
        strings_free(&names);
        text_free(&path);
    }
    strings_free(&gpus);
    return found;
}

bool mig_is_on(const struct scene *scene) {
    const js *gpus = js_get(scene->probes, "gpus");
    for (size_t i = 0; i < js_length(gpus); i++)
        if (js_get_bool(js_at(gpus, i), "mig", false))
            return true;
    return has_instances(scene);
}

static bool takes_gpu_node(const struct container *c) {
    for (size_t i = 0; i < c->n_devices; i++)
        if (gpu_node_number(c->devices[i].host_path) >= 0)
            return true;
    return false;
}

bool container_lacks_node(const struct container *c, const struct container_need *need) {
    return c->unprivileged && takes_gpu_node(c) && need->major >= 0 &&
           container_device(c, need->node) == NULL;
}

bool container_wants_gpu(const struct container *c) {
    for (size_t i = 0; i < c->n_devices; i++)
        if (text_starts(c->devices[i].host_path, "/dev/nvidia"))
            return true;
    for (size_t i = 0; i < c->n_rules; i++)
        if (c->rules[i].allow && c->rules[i].type == 'c' && c->rules[i].major == MAJOR_NVIDIA)
            return true;
    return false;
}

bool container_was_tried(const struct scene *scene, const struct container *c) {
    const js *list = js_get(js_get(scene->probes, "device_cgroup"), "containers");
    for (size_t i = 0; i < js_length(list); i++)
        if (strcmp(js_get_string(js_at(list, i), "name", ""), c->name) == 0 &&
            js_length(js_get(js_at(list, i), "tried")) > 0)
            return true;
    return false;
}

const char *lxc_separator(const struct container *c) {
    return c->kind == CONTAINER_PVE ? ":" : " =";
}

const char *lxc_rule_key(const struct scene *scene) {
    return majors_cgroup(scene) == 1 ? "lxc.cgroup.devices.allow" : "lxc.cgroup2.devices.allow";
}

void lxc_restart(const struct container *c, struct finding *f) {
    char buffer[512];
    const char *name = shell_word(c->name, buffer, sizeof buffer);
    bool pve = c->kind == CONTAINER_PVE;
    finding_remedy(f, pve ? "pct stop %s && pct start %s" : "lxc-stop -n %s && lxc-start -n %s", name, name);
}

void lxc_offer_fix(const struct container *c, struct finding *f) {
    char buffer[512];
    finding_remedy(f, "gpuvet doctor --fix lxc:%s shows the whole change, and makes it with --apply",
                   shell_word(c->name, buffer, sizeof buffer));
}

void lxc_tell_entry(const struct container *c, const struct device_entry *entry, struct finding *f) {
    char where[512];
    snprintf(where, sizeof where, "%s:%d", entry->file, entry->line);
    finding_evidence(f, where, "%s", entry->text);
    lxc_restart(c, f);
}

bool is_hex_of(const char *text, int major) {
    int64_t value = -1;
    char hex[32];
    snprintf(hex, sizeof hex, "0x%.20s", text);
    return major >= 0 && text_to_int(hex, &value) && value == major;
}

enum rule_wrong judge_device_rule(const struct scene *scene, const struct device_rule *rule,
                                  const struct container_need *need) {
    if (!rule->allow || (rule->type != 'c' && rule->type != '?'))
        return RULE_RIGHT;
    int cgroup = majors_cgroup(scene);
    if (rule->major == need->major)
        return cgroup != 0 && rule->cgroup != cgroup ? RULE_OTHER_CGROUP : RULE_RIGHT;
    if (rule->major == -2 || strcmp(majors_name(scene, rule->major), "") == 0)
        if (is_hex_of(rule->major_text, need->major))
            return RULE_HEX;
    if (rule->major == -2 && rule->major_text[0] != '\0')
        return RULE_NOT_DECIMAL;
    if (rule->major < 0 || rule->major == MAJOR_NVIDIA || need->major == MAJOR_NVIDIA)
        return RULE_RIGHT;
    if (majors_before(scene, need->name) == rule->major)
        return RULE_KNOWN;
    const char *owner = majors_name(scene, rule->major);
    if (owner[0] == '\0')
        return RULE_STALE;
    return majors_dynamic(rule->major) && !text_starts(owner, "nvidia") && !majors_common(owner)
               ? RULE_FOREIGN
               : RULE_RIGHT;
}
