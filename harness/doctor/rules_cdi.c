/* SPDX-License-Identifier: Apache-2.0 */
/* CDI specifications: nodes and libraries written down when the specification was made. */
#include "doctor/doctor.h"
#include "doctor/majors.h"
#include "doctor/shell_word.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <stdio.h>
#include <string.h>

static void remedy(struct finding *f, const struct container *c) {
    char buffer[512];
    finding_remedy(f, "nvidia-ctk cdi generate --output=%s", shell_word(c->file, buffer, sizeof buffer));
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

/* A node that is looked up when the container is made: one that is gone keeps it from being made. */
static void check_nodes(const struct scene *scene, const struct container *c, struct findings *out) {
    struct finding *f = NULL;
    for (size_t i = 0; scene->nodes->known && majors_current(scene, "nvidia") >= 0 && i < c->n_devices; i++) {
        const struct device_entry *d = &c->devices[i];
        if (d->major >= 0 || !text_starts(d->host_path, "/dev/nvidia") ||
            device_nodes_find(scene->nodes, d->host_path) != NULL)
            continue;
        if (f == NULL) {
            f = finding_add(out, "cdi.node-missing", SEVERITY_FAIL,
                            "the CDI specification %s names %s, which is not there", c->file, d->host_path);
            if (text_starts(d->host_path, "/dev/nvidia-uvm"))
                finding_remedy(f, "nvidia-modprobe -u -c 0   (and at each boot, before the engine starts)");
            else if (strcmp(d->host_path, "/dev/nvidia-modeset") == 0)
                finding_remedy(f, "nvidia-modprobe -m   (and at each boot, before the engine starts)");
            remedy(f, c);
        }
        finding_evidence(f, c->file, "path: %s", d->host_path);
        finding_evidence(f, d->host_path, "no such node on the host");
    }
}

/* Engines read /etc/cdi first: a device that /var/run/cdi has too is taken from there. */
static bool is_overridden(const struct scene *scene, const struct container *c) {
    if (c->cdi_kind == NULL || c->cdi_names.count == 0 || !text_starts(c->file, "/etc/cdi/"))
        return false;
    size_t found = 0;
    for (size_t n = 0; n < c->cdi_names.count && found == n; n++)
        for (size_t i = 0; i < scene->containers.count && found == n; i++) {
            const struct container *other = &scene->containers.items[i];
            bool same = other->kind == CONTAINER_CDI && other->cdi_kind != NULL &&
                        strcmp(other->cdi_kind, c->cdi_kind) == 0 && !text_starts(other->file, "/etc/cdi/");
            if (same && strings_contain(&other->cdi_names, c->cdi_names.items[n]))
                found++;
        }
    return found == c->cdi_names.count;
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
            char buffer[512];
            finding_remedy(f, "remove it, or make it anew: nvidia-ctk cdi generate --output=%s",
                           shell_word(c->file, buffer, sizeof buffer));
        } else if (ours && !is_overridden(scene, c)) {
            check_numbers(scene, c, out);
            check_nodes(scene, c, out);
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
    {.id = "cdi.node-missing",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a CDI specification names a node that the host does not have",
     .needs = "/etc/cdi, /var/run/cdi, dev.tsv or /dev",
     .cause =
         "the engine looks the node up when it makes the container, and makes none when one is missing: the "
         "specification was made with another set of GPUs, or the node is not made yet after a boot",
     .remedy = "the missing node, or the specification anew",
     .source = "the CDI specification"},
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
