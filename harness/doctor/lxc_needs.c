/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/lxc_needs.h"

#include "doctor/majors.h"

#include <stdio.h>
#include <string.h>

void lxc_needs(const struct scene *scene, struct lxc_need out[LXC_NEEDS]) {
    out[0] = (struct lxc_need){"nvidia", "/dev/nvidiactl", majors_current(scene, "nvidia"), 255};
    out[1] = (struct lxc_need){"nvidia-uvm", "/dev/nvidia-uvm", majors_current(scene, "nvidia-uvm"), 0};
}

bool lxc_need_met(const struct scene *scene, const struct container *c, const struct lxc_need *need) {
    const struct device_entry *entry = container_device(c, need->node);
    bool made = entry != NULL && entry->by_manager;
    return need->major < 0 || made || container_allows(c, majors_cgroup(scene), need->major, need->minor);
}

bool lxc_wants_gpu(const struct container *c) {
    for (size_t i = 0; i < c->n_devices; i++)
        if (text_starts(c->devices[i].host_path, "/dev/nvidia"))
            return true;
    for (size_t i = 0; i < c->n_rules; i++)
        if (c->rules[i].allow && c->rules[i].type == 'c' && c->rules[i].major == MAJOR_NVIDIA)
            return true;
    return false;
}

const char *lxc_separator(const struct container *c) {
    return c->kind == CONTAINER_PVE ? ":" : " =";
}

const char *lxc_rule_key(const struct scene *scene) {
    return majors_cgroup(scene) == 1 ? "lxc.cgroup.devices.allow" : "lxc.cgroup2.devices.allow";
}

static bool reads_as_hex(const struct device_rule *rule, int major) {
    int64_t value = 0;
    char hex[32];
    snprintf(hex, sizeof hex, "0x%.20s", rule->major_text);
    return text_to_int(hex, &value) && value == major;
}

enum lxc_wrong lxc_judge_rule(const struct scene *scene, const struct device_rule *rule,
                              const struct lxc_need *need) {
    if (!rule->allow || (rule->type != 'c' && rule->type != '?'))
        return LXC_RIGHT;
    int cgroup = majors_cgroup(scene);
    if (rule->major == need->major)
        return cgroup != 0 && rule->cgroup != cgroup ? LXC_OTHER_CGROUP : LXC_RIGHT;
    if (rule->major == -2 || strcmp(majors_name(scene, rule->major), "") == 0)
        if (reads_as_hex(rule, need->major))
            return LXC_HEX;
    if (rule->major == -2 && rule->major_text[0] != '\0')
        return LXC_NOT_DECIMAL;
    if (rule->major < 0 || rule->major == MAJOR_NVIDIA || need->major == MAJOR_NVIDIA)
        return LXC_RIGHT;
    if (majors_before(scene, need->name) == rule->major)
        return LXC_KNOWN;
    const char *owner = majors_name(scene, rule->major);
    if (owner[0] == '\0')
        return LXC_STALE;
    return majors_dynamic(rule->major) && !text_starts(owner, "nvidia") && !majors_common(owner) ? LXC_FOREIGN
                                                                                                 : LXC_RIGHT;
}
