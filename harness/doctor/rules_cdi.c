/* SPDX-License-Identifier: Apache-2.0 */
/* CDI specifications: nodes and libraries written down when the specification was made. */
#include "doctor/doctor.h"
#include "doctor/majors.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void remedy(struct finding *f, const struct container *c) {
    finding_remedy(f, "nvidia-ctk cdi generate --output=%s", c->file);
    finding_remedy(
        f, "for good: systemctl enable --now nvidia-cdi-refresh.service (toolkit 1.18 and later), or a "
           "oneshot unit with that line before docker.service and podman's units");
}

/* The driver's name for a node: what its number must be. */
static const char *driver_of(const char *path) {
    if (text_starts(path, "/dev/nvidia-uvm"))
        return "nvidia-uvm";
    if (text_starts(path, "/dev/nvidia-caps"))
        return "nvidia-caps";
    return text_starts(path, "/dev/nvidia") && !text_starts(path, "/dev/nvidia-") ? "nvidia" : NULL;
}

static void check_numbers(const struct scene *scene, const struct container *c, struct findings *out) {
    for (size_t i = 0; i < c->n_devices; i++) {
        const struct device_entry *d = &c->devices[i];
        const char *driver = driver_of(d->host_path);
        int now = driver == NULL ? -1 : majors_current(scene, driver);
        if (d->major < 0 || now < 0 || d->major == now)
            continue;
        bool needed =
            strcmp(driver, "nvidia-caps") != 0 && strcmp(d->host_path, "/dev/nvidia-uvm-tools") != 0;
        struct finding *f = finding_add(out, "cdi.major-stale", needed ? SEVERITY_FAIL : SEVERITY_INFO,
                                        "the CDI specification %s gives %s major %d; this kernel gave %s %d",
                                        c->file, d->host_path, d->major, driver, now);
        finding_evidence(f, c->file, "%s: major %d", d->host_path, d->major);
        finding_evidence(f, "/proc/devices", "%d %s", now, driver);
        remedy(f, c);
        return;
    }
}

/* A library of another driver: gone from the host (the container does not start), or not this driver's. */
static void check_libraries(const struct scene *scene, const struct container *c, struct findings *out) {
    const char *loaded = versions_loaded(scene);
    for (size_t i = 0; loaded != NULL && i < c->n_mounts; i++) {
        const char *path = c->mounts[i].host_path;
        const char *cuda = strstr(path, "/libcuda.so.");
        const char *version = cuda != NULL ? cuda + strlen("/libcuda.so.") : NULL;
        if (version == NULL || strchr(version, '.') == NULL || strstr(path, "/compat/") != NULL ||
            strcmp(version, loaded) == 0)
            continue;
        struct finding *f = finding_add(out, "cdi.library-stale", SEVERITY_FAIL,
                                        "the CDI specification %s mounts libcuda %s; the loaded driver is %s",
                                        c->file, version, loaded);
        finding_evidence(f, c->file, "hostPath: %s", path);
        finding_evidence(f, "/proc/driver/nvidia/version", "%s", loaded);
        remedy(f, c);
        return;
    }
}

static void check_cdi(const struct scene *scene, struct findings *out) {
    for (size_t i = 0; i < scene->containers.count; i++) {
        const struct container *c = &scene->containers.items[i];
        if (c->kind != CONTAINER_CDI)
            continue;
        bool ours = false;
        for (size_t d = 0; d < c->n_devices; d++)
            ours = ours || text_starts(c->devices[d].host_path, "/dev/nvidia");
        if (c->problem != NULL) {
            struct finding *f = finding_add(out, "cdi.unreadable", SEVERITY_WARN,
                                            "the CDI specification %s cannot be read", c->file);
            finding_evidence(f, c->file, "%s", c->problem);
            finding_remedy(f, "remove it, or make it anew: nvidia-ctk cdi generate --output=%s", c->file);
        } else if (ours) {
            check_numbers(scene, c, out);
            check_libraries(scene, c, out);
        }
    }
}

static const struct rule rules[] = {
    {.id = "cdi.major-stale",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a CDI specification has the number that a device had before",
     .needs = "/etc/cdi, /var/run/cdi, /proc/devices",
     .cause =
         "majors are given out at each boot; the node that is made in the container has no driver behind it "
         "(ENXIO), and cuInit answers 999",
     .remedy = "make the specification anew, at each boot",
     .source = "the CDI specification; measured: a node with a stale major answers ENXIO, cuInit 999",
     .check = check_cdi},
    {.id = "cdi.library-stale",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a CDI specification mounts another driver's libraries",
     .needs = "/etc/cdi, /var/run/cdi, /proc/driver/nvidia/version",
     .cause =
         "the library and the kernel module must have the same version; a file that is gone keeps the container "
         "from starting",
     .remedy = "make the specification anew after each change of the driver",
     .source = "the CDI specification"},
    {.id = "cdi.unreadable",
     .area = AREA_CUDA,
     .severity = SEVERITY_WARN,
     .title = "a CDI specification is no YAML or JSON",
     .needs = "/etc/cdi, /var/run/cdi",
     .cause = "container engines refuse it, and with it the devices that it describes",
     .remedy = "make it anew",
     .source = "the CDI specification"},
    {0},
};

const struct rule_family family_cdi = {"cdi", rules};
