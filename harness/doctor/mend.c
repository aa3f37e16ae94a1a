/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/mend.h"

#include "base/mem.h"
#include "doctor/container_needs.h"
#include "doctor/majors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* While the plan grows: the container as it would be. */
struct draft {
    const struct scene *scene;
    struct mend_plan *plan;
    struct container after; /* shares all but the rules with the plan's */
};

const struct container *mend_find(const struct container_list *list, const char *name, const char **near) {
    const char **names = mem_zeroed(list->count + 1, sizeof *names);
    const struct container *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < list->count && found == NULL; i++) {
        const struct container *c = &list->items[i];
        if (c->kind != CONTAINER_PVE && c->kind != CONTAINER_LXC)
            continue;
        names[count++] = c->name;
        if (strcmp(c->name, name) == 0)
            found = c;
    }
    *near = found == NULL ? text_nearest(name, names, count) : NULL;
    free(names);
    return found;
}

static void add_once(struct strings *list, const char *line) {
    if (!strings_contain(list, line))
        strings_add(list, line);
}

static void add_linef(struct strings *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_linef(struct strings *list, const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    add_once(list, line);
}

static bool has_edit(const struct mend_edits *edits, const char *file, int line) {
    for (size_t i = 0; i < edits->count; i++)
        if (edits->items[i].from != NULL && edits->items[i].line == line &&
            strcmp(edits->items[i].file, file) == 0)
            return true;
    return false;
}

/* ---- one rule ---- */

/* In every place where the rule of this line is read: a file may be included twice. */
static void replace(struct draft *d, const struct device_rule *rule, int major, const char *proof) {
    char number[16];
    snprintf(number, sizeof number, "%d", major);
    if (!has_edit(&d->plan->edits, rule->file, rule->line)) {
        mend_edits_add(&d->plan->edits, rule->file, rule->line, rule->major_text, number);
        add_once(&d->plan->files, rule->file);
        add_linef(&d->plan->changes, "%s line %d: %s becomes %d: %s", rule->file, rule->line,
                  rule->major_text, major, proof);
    }
    for (size_t i = 0; i < d->after.n_rules; i++)
        if (d->after.rules[i].line == rule->line && strcmp(d->after.rules[i].file, rule->file) == 0)
            d->after.rules[i].major = major;
}

static void keep(struct draft *d, const struct device_rule *rule, const char *why) {
    add_linef(&d->plan->stays, "%s line %d (%s %s) stays: %s", rule->file, rule->line, rule->key, rule->text,
              why);
}

/* A number that is the driver's name, or the old number in hex: both are what was meant. */
static bool proven_word(const struct scene *scene, const struct device_rule *rule,
                        const struct container_need *need) {
    return strcmp(rule->major_text, need->name) == 0 ||
           is_hex_of(rule->major_text, majors_before(scene, need->name));
}

static void take_rule(struct draft *d, const struct device_rule *rule, const struct container_need *need) {
    char why[512];
    const char *owner = majors_name(d->scene, rule->major);
    enum rule_wrong wrong = judge_device_rule(d->scene, rule, need);
    bool known = wrong == RULE_KNOWN && !majors_common(owner);
    bool whole = rule->type == 'c' && rule->minor != -2;
    if (whole && known) {
        snprintf(why, sizeof why,
                 "%s was %s before (by the baseline, or what was seen last); this kernel gives it %d",
                 rule->major_text, need->name, need->major);
        replace(d, rule, need->major, why);
    } else if (whole && wrong == RULE_HEX) {
        snprintf(why, sizeof why, "it is %d (%s) in hex", need->major, need->name);
        replace(d, rule, need->major, why);
    } else if (whole && wrong == RULE_NOT_DECIMAL && proven_word(d->scene, rule, need)) {
        snprintf(why, sizeof why, "it means %s, but rules take decimal numbers", need->name);
        replace(d, rule, need->major, why);
    } else if (known || ((wrong == RULE_HEX || wrong == RULE_STALE) && !whole)) {
        keep(d, rule, "it is no whole rule (c MAJOR:MINOR rwm)");
    } else if (wrong == RULE_STALE) {
        snprintf(why, sizeof why,
                 "stale, for no driver owns %d now; that it was %s is likely, and a baseline or a capture "
                 "from before would prove it (--baseline)",
                 rule->major, need->name);
        keep(d, rule, why);
    } else if (wrong == RULE_FOREIGN || wrong == RULE_KNOWN) {
        snprintf(why, sizeof why,
                 "%d is %s now, which the container may want; if not, the rule lets it at a device that it "
                 "was not meant to have",
                 rule->major, owner);
        keep(d, rule, why);
    } else if (wrong == RULE_HEX || wrong == RULE_NOT_DECIMAL) {
        snprintf(why, sizeof why, "'%s' is no decimal number, and nothing here proves which driver it meant",
                 rule->major_text);
        keep(d, rule, why);
    } else if (wrong == RULE_OTHER_CGROUP) {
        snprintf(why, sizeof why, "it is for cgroup v%d, which this host ignores", rule->cgroup);
        keep(d, rule, why);
    }
}

/* ---- what is missing ---- */

static const char *rule_key(const struct draft *d) {
    const struct container *c = d->plan->container;
    bool first = majors_cgroup(d->scene) == 0 && c->n_rules > 0 && c->rules[c->n_rules - 1].cgroup == 1;
    return first ? "lxc.cgroup.devices.allow" : lxc_rule_key(d->scene);
}

/* Behind line `after` where the container's own file has that, else at its end. */
static void add_line(struct draft *d, const char *after_file, int after, const char *line) {
    const struct container *c = d->plan->container;
    bool own = after_file != NULL && strcmp(after_file, c->file) == 0;
    mend_edits_add(&d->plan->edits, c->file, own ? after : 0, NULL, line);
    add_once(&d->plan->files, c->file);
}

/* Behind the last rule where the container's own file has that, else at its end: rules count in order. */
static void add_rule(struct draft *d, int major, int minor, const char *name) {
    const struct container *c = d->plan->container;
    const struct device_rule *last = c->n_rules > 0 ? &c->rules[c->n_rules - 1] : NULL;
    const char *key = rule_key(d);
    char minor_text[16] = "*";
    char line[128];
    if (minor >= 0)
        snprintf(minor_text, sizeof minor_text, "%d", minor);
    snprintf(line, sizeof line, "%s%s c %d:%s rwm", key, lxc_separator(c), major, minor_text);
    add_line(d, last != NULL ? last->file : NULL, last != NULL ? last->line : 0, line);
    add_linef(&d->plan->changes, "%s: added for %s, which no rule allows", c->file, name);
    d->after.rules =
        mem_grow(d->after.rules, d->after.n_rules, &d->after.rules_capacity, sizeof *d->after.rules);
    d->after.rules[d->after.n_rules++] = (struct device_rule){.file = c->file,
                                                              .allow = true,
                                                              .type = 'c',
                                                              .major = major,
                                                              .minor = minor,
                                                              .use = true,
                                                              .cgroup = strstr(key, "cgroup2") ? 2 : 1};
}

/* The number of /dev/nvidiaN that goes in as a bind; -1: something else. */
static int bound_gpu(const struct device_entry *entry) {
    int minor = entry->by_manager ? -1 : gpu_node_number(entry->host_path);
    return minor < 255 ? minor : -1;
}

/* Not more than the container takes: nvidiactl, and the GPUs that are bound where any are named. */
static void add_nvidia(struct draft *d, const struct container_need *need) {
    const struct container *c = d->plan->container;
    bool some = false;
    for (size_t i = 0; i < d->after.n_rules; i++)
        some = some || (d->after.rules[i].allow && d->after.rules[i].major == need->major);
    for (size_t i = 0; i < c->n_devices && !some; i++)
        some = bound_gpu(&c->devices[i]) >= 0;
    if (!some) {
        add_rule(d, need->major, -1, need->name);
        return;
    }
    add_rule(d, need->major, need->minor, need->name);
}

/* Somebody wrote down that this very driver is not to be had: that is no mistake of a number. */
static bool denied_by_name(struct draft *d, const struct container_need *need) {
    const struct container *c = d->plan->container;
    bool denied = false;
    for (size_t i = 0; i < c->n_rules; i++)
        if (!c->rules[i].allow && c->rules[i].type == 'c' && c->rules[i].major == need->major) {
            keep(d, &c->rules[i], "it denies what CUDA needs, and may be meant so");
            denied = true;
        }
    return denied;
}

static void meet(struct draft *d, const struct container_need *need) {
    const struct container *c = d->plan->container;
    if (container_need_met(d->scene, &d->after, need) || denied_by_name(d, need))
        return;
    for (size_t i = 0; i < c->n_rules; i++)
        take_rule(d, &c->rules[i], need);
    if (container_need_met(d->scene, &d->after, need))
        return;
    if (need->major == MAJOR_NVIDIA)
        add_nvidia(d, need);
    else
        add_rule(d, need->major, -1, need->name);
}

/* Capabilities are for MIG only: an old number is renewed, a missing one is not missed. */
static void renew_caps(struct draft *d) {
    const struct container *c = d->plan->container;
    struct container_need need = {"nvidia-caps", "", majors_current(d->scene, "nvidia-caps"), 1};
    if (need.major < 0 || container_allows(&d->after, majors_cgroup(d->scene), need.major, need.minor))
        return;
    for (size_t i = 0; i < c->n_rules; i++)
        if (judge_device_rule(d->scene, &c->rules[i], &need) == RULE_KNOWN)
            take_rule(d, &c->rules[i], &need);
}

/* ---- nodes that it takes ---- */

/* A rule that denies this very number is no oversight. */
static bool denied_by_number(struct draft *d, int major, int minor) {
    const struct container *c = d->plan->container;
    bool denied = false;
    for (size_t i = 0; i < c->n_rules; i++) {
        const struct device_rule *rule = &c->rules[i];
        if (rule->allow || rule->type != 'c' || rule->major != major ||
            (rule->minor != minor && rule->minor != -1))
            continue;
        keep(d, rule, "it denies what the container takes, and may be meant so");
        denied = true;
    }
    return denied;
}

/* The rule of one bound node, where it has none; false: it stays denied. */
static bool allow_bound(struct draft *d, int major, int minor, const char *path) {
    int cgroup = majors_cgroup(d->scene);
    if (container_allows(&d->after, cgroup, major, minor) || container_allows_path(&d->after, cgroup, path))
        return true;
    if (denied_by_number(d, major, minor))
        return false;
    add_rule(d, major, minor, path);
    return true;
}

/* Each GPU that is bound, and with MIG each instance: denied, it would be lost without an error. */
static bool allow_all_bound(struct draft *d, const struct container_need *nvidia) {
    const struct container *c = d->plan->container;
    int caps = mig_is_on(d->scene) ? majors_current(d->scene, "nvidia-caps") : -1;
    bool all = true;
    if (!container_need_met(d->scene, &d->after, nvidia))
        return false;
    for (size_t i = 0; i < c->n_devices; i++) {
        const struct device_entry *entry = &c->devices[i];
        int gpu = bound_gpu(entry);
        int cap = entry->by_manager ? -1 : cap_node_number(entry->host_path);
        if (gpu >= 0 && nvidia->major >= 0 && may_be_gpu_node(d->scene, entry->host_path))
            all = allow_bound(d, nvidia->major, gpu, entry->host_path) && all;
        else if (cap >= 0 && caps >= 0)
            all = allow_bound(d, caps, cap, entry->host_path) && all;
    }
    return all;
}

/* What an unprivileged container is allowed, cannot make, and is not given. */
static void give_nodes(struct draft *d, const struct container_need needs[CONTAINER_NEEDS]) {
    const struct container *c = d->plan->container;
    const struct device_entry *last = NULL;
    for (size_t i = 0; i < c->n_devices; i++)
        if (strcmp(c->devices[i].file, c->file) == 0)
            last = &c->devices[i];
    for (size_t i = 0; i < CONTAINER_NEEDS; i++) {
        char line[256];
        if (!container_lacks_node(c, &needs[i]) || !container_need_met(d->scene, &d->after, &needs[i]))
            continue;
        snprintf(line, sizeof line, "lxc.mount.entry%s %s %s none bind,optional,create=file 0 0",
                 lxc_separator(c), needs[i].node, needs[i].node + 1);
        add_line(d, last != NULL ? last->file : NULL, last != NULL ? last->line : 0, line);
        add_linef(&d->plan->changes, "%s: added for %s, which the container may not make itself", c->file,
                  needs[i].node);
    }
}

/* ---- around it ---- */

static void note_sharers(struct draft *d) {
    const struct container_list *all = &d->scene->containers;
    for (size_t i = 0; i < all->count; i++)
        for (size_t r = 0; &all->items[i] != d->plan->container && r < all->items[i].n_rules; r++) {
            const struct container *c = &all->items[i];
            if (strings_contain(&d->plan->files, c->rules[r].file))
                add_linef(&d->plan->notes, "container %s includes %s too", c->name, c->rules[r].file);
        }
}

static void restart(struct mend_plan *plan) {
    const char *name = plan->container->name;
    if (plan->format == MEND_PROXMOX)
        strings_addf(&plan->restart, "pct stop %s && pct start %s", name, name);
    else
        strings_addf(&plan->restart, "lxc-stop -n %s && lxc-start -n %s", name, name);
}

/* The lines that would go: rules of the drivers' numbers, and binds of their nodes. */
static void lasting_lines(struct draft *d, struct text *out) {
    const struct container *c = d->plan->container;
    for (size_t i = 0; i < d->after.n_rules; i++) {
        const struct device_rule *r = &d->after.rules[i];
        const char *owner = r->major >= 0 ? majors_name(d->scene, r->major) : "";
        if (r->line > 0 && r->allow && r->type == 'c' && text_starts(owner, "nvidia"))
            text_addf(out, "%s%s:%d", out->length > 0 ? ", " : "", r->file, r->line);
    }
    for (size_t i = 0; i < c->n_devices && c->kind == CONTAINER_PVE; i++)
        if (!c->devices[i].by_manager && text_starts(c->devices[i].host_path, "/dev/nvidia"))
            text_addf(out, "%s%s:%d", out->length > 0 ? ", " : "", c->devices[i].file, c->devices[i].line);
}

static int next_dev(const struct container *c) {
    int next = 0;
    for (size_t i = 0; i < c->n_devices; i++) {
        int number = -1;
        if (c->devices[i].by_manager && sscanf(c->devices[i].text, "dev%3d:", &number) == 1 && number >= next)
            next = number + 1;
    }
    return next;
}

static void lasting_proxmox(struct draft *d) {
    static const char *const always[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"};
    const struct container *c = d->plan->container;
    struct strings nodes = {0};
    struct text lines = {0};
    int next = next_dev(c);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        strings_add(&nodes, always[i]);
    for (size_t i = 0; i < c->n_devices; i++)
        if (text_starts(c->devices[i].host_path, "/dev/nvidia"))
            add_once(&nodes, c->devices[i].host_path);
    if (nodes.count == sizeof always / sizeof *always)
        strings_add(&nodes, "/dev/nvidia0"); /* rules alone name no GPU */
    lasting_lines(d, &lines);
    strings_addf(&d->plan->lasting,
                 "Proxmox makes node and rule itself at each start, with the number of the "
                 "time, where %s has:",
                 c->file);
    for (size_t i = 0; i < nodes.count; i++) {
        const struct device_entry *entry = container_device(c, nodes.items[i]);
        if (entry == NULL || !entry->by_manager)
            strings_addf(&d->plan->lasting, "    dev%d: %s,mode=0666", next++, nodes.items[i]);
    }
    if (lines.length > 0)
        strings_addf(&d->plan->lasting, "in place of %s", text_string(&lines));
    text_free(&lines);
    strings_free(&nodes);
}

/* A hook alone is not enough: LXC has read the includes when it runs, so that what it writes is for the next
 * start (tried with LXC 5.0). */
static void lasting_plain(struct draft *d) {
    const struct container *c = d->plan->container;
    struct strings *out = &d->plan->lasting;
    struct text lines = {0};
    lasting_lines(d, &lines);
    strings_addf(out, "%s includes a file that a program writes from /proc/devices:", c->file);
    strings_add(out, "    lxc.include = /var/lib/lxc/nvidia-rules.conf");
    strings_add(out, "    lxc.hook.pre-start = /usr/local/sbin/lxc-nvidia-rules");
    if (lines.length > 0)
        strings_addf(out, "in place of %s", text_string(&lines));
    strings_add(out,
                "a oneshot unit with Before=lxc.service runs the program at each boot; as a hook it fails a "
                "start that read an old file, and the next one is right:");
    strings_add(out, "    #!/bin/sh");
    strings_add(out, "    cd /var/lib/lxc && nvidia-modprobe -u -c 0");
    strings_addf(out,
                 "    awk '/^Block/ {exit} $2 ~ /^nvidia/ && !seen[$1]++ {print \"%s = c \" $1 \":* rwm\"}' "
                 "/proc/devices >nvidia-rules.new",
                 rule_key(d));
    strings_add(out, "    cmp -s nvidia-rules.new nvidia-rules.conf && exit 0");
    strings_add(out, "    mv nvidia-rules.new nvidia-rules.conf && [ -z \"$LXC_NAME\" ]");
    text_free(&lines);
}

void mend_plan_make(const struct scene *scene, const struct container *container, struct mend_plan *out) {
    *out = (struct mend_plan){.container = container,
                              .format = container->kind == CONTAINER_PVE ? MEND_PROXMOX : MEND_PLAIN,
                              .wants_gpu = container_wants_gpu(container)};
    struct draft d = {.scene = scene, .plan = out, .after = *container};
    d.after.rules = mem_zeroed(container->n_rules + 1, sizeof *d.after.rules);
    d.after.rules_capacity = container->n_rules + 1;
    if (container->n_rules > 0)
        memcpy(d.after.rules, container->rules, container->n_rules * sizeof *d.after.rules);
    struct container_need needs[CONTAINER_NEEDS];
    container_needs(scene, needs);
    for (size_t i = 0; i < CONTAINER_NEEDS && out->wants_gpu; i++)
        meet(&d, &needs[i]);
    if (out->wants_gpu)
        renew_caps(&d);
    out->enough = !out->wants_gpu || allow_all_bound(&d, &needs[0]);
    if (out->wants_gpu)
        give_nodes(&d, needs);
    for (size_t i = 0; i < CONTAINER_NEEDS; i++)
        out->enough = out->enough && container_need_met(scene, &d.after, &needs[i]);
    note_sharers(&d);
    restart(out);
    if (container->kind == CONTAINER_PVE)
        lasting_proxmox(&d);
    else
        lasting_plain(&d);
    free(d.after.rules);
}

void mend_plan_free(struct mend_plan *plan) {
    mend_edits_free(&plan->edits);
    strings_free(&plan->files);
    strings_free(&plan->changes);
    strings_free(&plan->stays);
    strings_free(&plan->notes);
    strings_free(&plan->lasting);
    strings_free(&plan->restart);
}
