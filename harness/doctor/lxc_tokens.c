/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/lxc_tokens.h"

#include "doctor/container_needs.h"
#include "doctor/majors.h"

#include <stdio.h>
#include <string.h>

static bool is_told(const struct findings *out, const char *where) {
    for (size_t i = 0; i < out->count; i++)
        for (size_t e = 0; e < out->items[i].n_evidence; e++)
            if (strcmp(out->items[i].evidence[e].path, where) == 0)
                return true;
    return false;
}

/* What of the driver's the token is in hex; NULL: nothing. */
static const char *meant_in_hex(const struct scene *scene, const struct device_rule *rule, int *major) {
    static const char *const names[] = {"nvidia", "nvidia-uvm", "nvidia-caps"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct container_need need = {names[i], NULL, majors_current(scene, names[i]), 0};
        if (need.major >= 0 && judge_device_rule(scene, rule, &need) == RULE_HEX) {
            *major = need.major;
            return names[i];
        }
    }
    return NULL;
}

static void tell_remedy(const struct scene *scene, const struct container *c, const struct device_rule *rule,
                        const char *name, int major, struct finding *f) {
    if (name != NULL) {
        finding_remedy(f, "%s line %d, now:  %s%s %s", rule->file, rule->line, rule->key, lxc_separator(c),
                       rule->text);
        finding_remedy(f, "%s line %d, then: %s%s c %d:* rwm", rule->file, rule->line, lxc_rule_key(scene),
                       lxc_separator(c), major);
    } else {
        finding_remedy(f, "%s line %d: take it out, or write the number that /proc/devices shows, in decimal",
                       rule->file, rule->line);
    }
    lxc_restart(c, f);
}

/* Seen with LXC 5.0.2: with cgroup v2 it logs an error, leaves the rule out and starts the container; with v1
 * the kernel refuses the line, and LXC the start. What lacks a rule for it is told as such, before this. */
static void tell(const struct scene *scene, struct findings *out, const struct container *c,
                 const struct device_rule *rule, const char *where) {
    int major = -1, cgroup = majors_cgroup(scene);
    struct finding *f;
    if (cgroup != 0 && rule->cgroup != cgroup) {
        f = finding_add(out, "lxc.rule-dead", SEVERITY_INFO,
                        "container %s has '%s' for a major, by a key that this host ignores: a dead rule",
                        c->name, rule->major_text);
        finding_evidence(f, where, "%s%s %s", rule->key, lxc_separator(c), rule->text);
        return;
    }
    const char *name = meant_in_hex(scene, rule, &major);
    enum severity severity = cgroup == 1 ? SEVERITY_FAIL : SEVERITY_WARN;
    const char *what = cgroup == 1 ? "LXC does not start it so" : "LXC leaves the rule out";
    f = name != NULL
            ? finding_add(out, "lxc.major-hex", severity,
                          "container %s allows '%s', which is %d (%s) in hex and no decimal major: %s",
                          c->name, rule->major_text, major, name, what)
            : finding_add(out, "lxc.not-decimal", severity,
                          "container %s has '%s' for a major, which is no decimal number: %s", c->name,
                          rule->major_text, what);
    finding_evidence(f, where, "%s%s %s", rule->key, lxc_separator(c), rule->text);
    if (name != NULL)
        finding_evidence(f, "/proc/devices", "%d %s", major, name);
    tell_remedy(scene, c, rule, name, major, f);
}

void lxc_tokens_check(const struct scene *scene, struct findings *out, const struct container *c) {
    for (size_t i = 0; i < c->n_rules; i++) {
        const struct device_rule *rule = &c->rules[i];
        char where[512];
        if (rule->type == '?' || rule->major != -2 || rule->major_text[0] == '\0')
            continue;
        snprintf(where, sizeof where, "%s:%d", rule->file, rule->line);
        if (!is_told(out, where))
            tell(scene, out, c, rule, where);
    }
}
