/* SPDX-License-Identifier: Apache-2.0 */
/* 802: a system that is not ready, which is the NVLink fabric's manager or confidential computing. */
#include "base/mem.h"
#include "doctor/doctor.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUDA_NOT_READY = 802, CLASS_BRIDGE_OTHER = 0x0680 };

/* ---- is there a fabric ---- */

static size_t count_switch_nodes(const struct scene *scene) {
    size_t count = 0;
    for (size_t i = 0; i < scene->nodes->count; i++) {
        const char *path = scene->nodes->items[i].path;
        count += text_starts(path, "/dev/nvidia-nvswitch") && strcmp(path, "/dev/nvidia-nvswitchctl") != 0;
    }
    return count;
}

static size_t count_switches(const struct scene *scene) {
    struct strings names = {0};
    size_t count = 0;
    look_list(scene->source, "/sys/bus/pci/devices", &names);
    for (size_t i = 0; i < names.count; i++) {
        struct fact vendor = look_fact(scene->source, "/sys/bus/pci/devices/%s/vendor", names.items[i]);
        if (vendor.value != NULL && strtol(vendor.value, NULL, 16) == VENDOR_NVIDIA) {
            struct fact kind = look_fact(scene->source, "/sys/bus/pci/devices/%s/class", names.items[i]);
            count += kind.value != NULL && strtol(kind.value, NULL, 16) >> 8 == CLASS_BRIDGE_OTHER;
            free(kind.value);
        }
        free(vendor.value);
    }
    strings_free(&names);
    size_t nodes = count_switch_nodes(scene);
    return nodes > count ? nodes : count;
}

/* The first GPU whose fabric is not ready, in NVML's words; NULL: none, or not known. */
static const char *unready_state(const struct scene *scene) {
    const js *gpus = js_get(scene->probes, "gpus");
    for (size_t i = 0; i < js_length(gpus); i++) {
        const char *state = js_get_string(js_at(gpus, i), "fabric_state", NULL);
        bool none =
            state == NULL || strcmp(state, "not_supported") == 0 || strcmp(state, "not supported") == 0;
        if (!none && strcmp(state, "completed") != 0)
            return state;
    }
    return NULL;
}

/* ---- its manager ---- */

/* Of the installed package or program, or "Fabric Manager version is : 580.95.05" of a capture's command.
 * Release with free. */
static char *manager_version(const struct scene *scene) {
    const char *installed = js_get_string(js_get(scene->probes, "fabric_manager"), "version", NULL);
    if (driver_is_version(installed))
        return mem_copy_string(installed);
    const js *command = js_get(js_get(scene->probes, "commands"), "nv-fabricmanager --version");
    const char *s = js_get_string(command, "stdout", "");
    s += strcspn(s, "0123456789");
    char *version = mem_copy_bytes(s, strspn(s, "0123456789."));
    if (!driver_is_version(version)) {
        free(version);
        return NULL;
    }
    return version;
}

/* Its process file, or what systemd said of it: 1, 0; -1 not known. */
static int manager_runs(const struct scene *scene) {
    const js *active = js_get(js_get(scene->probes, "commands"), "systemctl is-active nvidia-fabricmanager");
    const char *said = js_get_string(active, "stdout", NULL);
    if (said != NULL)
        return text_starts(said, "active");
    if (look_exists(scene->source, "/run/nvidia-fabricmanager/nv-fabricmanager.pid") ||
        look_exists(scene->source, "/var/run/nvidia-fabricmanager/nv-fabricmanager.pid"))
        return 1;
    return source_is_whole(scene->source) && !scene->container ? 0 : -1;
}

/* Since Blackwell the switches are reached through InfiniBand's kernel modules, and NVLSM manages them. */
static bool lacks_infiniband(const struct scene *scene) {
    const struct pci_facts *gpu = versions_gpu(scene, 0);
    return gpu != NULL && gpu->device >= 0x2900 && count_switch_nodes(scene) == 0 &&
           (driver_state_loaded(&scene->driver, "ib_umad") == 0 ||
            driver_state_loaded(&scene->driver, "mlx5_ib") == 0);
}

static void say_manager(const struct scene *scene, size_t switches, const char *state, struct findings *out) {
    const char *loaded = versions_loaded(scene);
    const char *where = scene->container ? "on the host: " : "";
    const struct kernel_event *event = kernel_log_last(&scene->log, EVENT_FABRIC_VERSION, NULL);
    char *asked = manager_version(scene);
    const char *manager = asked != NULL ? asked
                          : event != NULL && (loaded == NULL || strcmp(event->second, loaded) == 0)
                              ? event->first
                              : NULL;
    const char *driver = loaded != NULL ? loaded : event != NULL ? event->second : NULL;
    bool other = manager != NULL && driver != NULL && strcmp(manager, driver) != 0;
    int runs = manager_runs(scene);
    struct finding *f;
    if (other)
        f = finding_add(out, "fabric.manager-version", SEVERITY_FAIL,
                        "the fabric manager is %s, the driver %s", manager, driver);
    else
        f = finding_add(out, "fabric.not-ready", SEVERITY_FAIL, "the NVLink fabric is not ready: %s",
                        runs == 1   ? "its fabric manager has not finished"
                        : runs == 0 ? "the fabric manager does not run"
                                    : "the fabric manager does not run, or has not finished");
    finding_evidence(f, "cuInit", "802");
    if (switches > 0)
        finding_evidence(f, "NVSwitches", "%zu", switches);
    if (state != NULL)
        finding_evidence(f, "fabric state by NVML", "%s", state);
    if (event != NULL && other)
        finding_evidence(f, "log", "%s", event->text);
    const char *from = js_get_string(js_get(scene->probes, "fabric_manager"), "from", NULL);
    if (other && from != NULL)
        finding_evidence(f, from, "%s", manager);
    if (other) {
        finding_remedy(
            f, "%sinstall nvidia-fabricmanager of exactly %s, then: systemctl restart nvidia-fabricmanager",
            where, driver);
    } else {
        if (lacks_infiniband(scene)) {
            finding_evidence(f, "/proc/modules", "mlx5_ib or ib_umad is not loaded");
            finding_remedy(
                f,
                "%smodprobe mlx5_ib ib_umad, and NVLSM (package nvlsm): on this generation the switches are reached through them",
                where);
        }
        finding_remedy(f, "%ssystemctl enable --now nvidia-fabricmanager   (of exactly version %s)", where,
                       driver != NULL ? driver : "the driver's");
        finding_remedy(
            f, "%sjournalctl -u nvidia-fabricmanager; nvidia-smi -q | grep -A2 Fabric must say Completed",
            where);
    }
    free(asked);
}

/* ---- confidential computing ---- */

static bool waits_for_attestation(const struct scene *scene) {
    const js *gpus = js_get(scene->probes, "gpus");
    for (size_t i = 0; i < js_length(gpus); i++) {
        const js *mode = js_get(js_at(gpus, i), "conf_compute");
        if (js_get_bool(mode, "enabled", false) && !js_get_bool(mode, "ready", true))
            return true;
    }
    return false;
}

static void check(const struct scene *scene, struct findings *out) {
    if (versions_cuda_code(scene) != CUDA_NOT_READY)
        return;
    size_t switches = count_switches(scene);
    const char *state = unready_state(scene);
    if (waits_for_attestation(scene)) {
        struct finding *f = finding_add(out, "fabric.conf-compute", SEVERITY_FAIL,
                                        "confidential computing is on, and the GPUs are not set ready");
        finding_evidence(f, "cuInit", "802");
        finding_evidence(f, "conf_compute by NVML", "enabled, not ready");
        finding_remedy(f, "after attestation: nvidia-smi conf-compute -srs 1");
    } else if (switches > 0 || state != NULL) {
        say_manager(scene, switches, state, out);
    }
}

static const struct rule rules[] = {
    {.id = "fabric.manager-version",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the fabric manager is of another version than the driver",
     .needs =
         "probes.json: cuInit, gpus, fabric_manager, commands; the log; NVSwitches on the PCI bus or in /dev",
     .cause =
         "the manager refuses to start with another driver; until it has set up the NVSwitches cuInit answers 802",
     .remedy = "the driver's version of the fabric manager",
     .source = "public threads: don't match with driver version",
     .check = check},
    {.id = "fabric.not-ready",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the NVLink fabric is not ready",
     .needs = "probes.json: cuInit, gpus; NVSwitches on the PCI bus or in /dev",
     .cause =
         "on machines with NVSwitches cuInit answers 802 until the fabric manager (on newer ones with NVLSM) is done",
     .remedy = "start it, and read its journal",
     .source = "public threads: fabric state In Progress"},
    {.id = "fabric.conf-compute",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "confidential computing waits for its ready state",
     .needs = "probes.json: cuInit, gpus.conf_compute",
     .cause =
         "with confidential computing on, a GPU takes no work until the guest sets it ready after attestation",
     .remedy = "nvidia-smi conf-compute -srs 1",
     .source = "NVIDIA's deployment guide for confidential computing"},
    {0},
};

const struct rule_family family_fabric = {"fabric", rules};
