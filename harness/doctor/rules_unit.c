/* SPDX-License-Identifier: Apache-2.0 */
/* systemd units that list the devices they may have: DeviceAllow=char-NAME means every device of the driver
 * that /proc/devices calls NAME, and the driver changed its names (nvidia-frontend became nvidia and
 * nvidiactl). */
#include "doctor/doctor.h"
#include "doctor/majors.h"
#include "doctor/shell_word.h"

#include <stdio.h>

/* Whether a class, which may be a pattern ("nvidia*"), is a driver's name here; `major` -1: any driver's. */
static bool class_has(const struct scene *scene, const char *name, int major) {
    for (size_t i = 0; i < scene->facts->n_chrdevs; i++)
        if ((major < 0 || scene->facts->chrdevs[i].major == major) &&
            text_matches(name, scene->facts->chrdevs[i].name))
            return true;
    return false;
}

static bool allows_major(const struct scene *scene, const struct container *unit, int major,
                         const char *prefix) {
    for (size_t i = 0; i < unit->n_rules; i++)
        if (unit->rules[i].class_name != NULL && unit->rules[i].use &&
            class_has(scene, unit->rules[i].class_name, major))
            return true;
    for (size_t i = 0; i < unit->n_devices; i++)
        if (text_starts(unit->devices[i].host_path, prefix))
            return true;
    return false;
}

/* The first class name that no driver has here; NULL: none. */
static const struct device_rule *unknown_class(const struct scene *scene, const struct container *unit) {
    for (size_t i = 0; i < unit->n_rules; i++) {
        const char *name = unit->rules[i].class_name;
        if (name != NULL && text_starts(name, "nvidia") && !class_has(scene, name, -1))
            return &unit->rules[i];
    }
    return NULL;
}

static void check_unit(const struct scene *scene, const struct container *unit, struct findings *out) {
    static const struct {
        const char *name, *prefix;
    } needs[] = {{"nvidia", "/dev/nvidiactl"}, {"nvidia-uvm", "/dev/nvidia-uvm"}};
    const struct device_rule *unknown = unknown_class(scene, unit);
    char where[512];
    for (size_t i = 0; i < 2; i++) {
        int major = majors_current(scene, needs[i].name);
        if (major < 0 || allows_major(scene, unit, major, needs[i].prefix))
            continue;
        const char *right = majors_name(scene, major);
        struct finding *f =
            unknown != NULL ? finding_add(out, "unit.class-unknown", SEVERITY_FAIL,
                                          "%s allows char-%s, which no driver is called here; major %d is %s",
                                          unit->name, unknown->class_name, major, right)
                            : finding_add(out, "unit.class-missing", SEVERITY_FAIL,
                                          "%s does not allow char-%s (major %d)", unit->name, right, major);
        if (unknown != NULL) {
            snprintf(where, sizeof where, "%s:%d", unknown->file, unknown->line);
            finding_evidence(f, where, "DeviceAllow=%s", unknown->text);
        } else {
            finding_evidence(f, unit->file, "no DeviceAllow=char-%s", right);
        }
        finding_evidence(f, "/proc/devices", "%d %s", major, right);
        char buffer[512];
        const char *word = shell_word(unit->name, buffer, sizeof buffer);
        finding_remedy(f, "systemctl edit %s, and add: [Service] DeviceAllow=char-%s rw", word, right);
        finding_remedy(f, "systemctl daemon-reload && systemctl restart %s", word);
        return;
    }
    if (unknown == NULL)
        return;
    struct finding *f = finding_add(out, "unit.class-unknown", SEVERITY_INFO,
                                    "%s allows char-%s, which no driver is called here: a dead line",
                                    unit->name, unknown->class_name);
    snprintf(where, sizeof where, "%s:%d", unknown->file, unknown->line);
    finding_evidence(f, where, "DeviceAllow=%s", unknown->text);
}

static void check_units(const struct scene *scene, struct findings *out) {
    for (size_t i = 0; i < scene->containers.count; i++)
        if (scene->containers.items[i].kind == CONTAINER_UNIT && scene->containers.items[i].denies_first)
            check_unit(scene, &scene->containers.items[i], out);
}

static const struct rule rules[] = {
    {.id = "unit.class-unknown",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a service allows a class of devices that this driver does not have",
     .needs = "units of systemd, /proc/devices",
     .cause =
         "systemd looks the name up in /proc/devices and leaves out what it does not find; the service may then "
         "not open the GPU (EPERM)",
     .remedy = "the name that /proc/devices has now",
     .source = "public thread: a hardened service after the driver renamed nvidia-frontend (550.40)",
     .check = check_units},
    {.id = "unit.class-missing",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a service that takes a GPU does not allow a device that CUDA needs",
     .needs = "units of systemd, /proc/devices",
     .cause = "DeviceAllow closes everything that it does not list; without nvidia-uvm cuInit answers 999",
     .remedy = "the missing line",
     .source = "systemd.resource-control(5)"},
    {0},
};

const struct rule_family family_unit = {"unit", rules};
