/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/versions.h"

#include "base/text.h"
#include "doctor/majors.h"
#include "system/look.h"

#include <string.h>

/* ---- the module ---- */

const char *versions_loaded(const struct scene *scene) {
    for (size_t i = 0; i < scene->facts->n_modules; i++)
        if (strcmp(scene->facts->modules[i].name, "nvidia") == 0)
            return scene->facts->modules[i].version.value;
    return NULL;
}

int versions_is_loaded(const struct scene *scene) {
    if (versions_loaded(scene) != NULL || majors_current(scene, "nvidia") >= 0)
        return 1;
    return driver_state_loaded(&scene->driver, "nvidia");
}

int versions_is_open(const struct scene *scene) {
    struct text text = {0};
    int out = -1;
    if (look_bytes(scene->source, "/proc/driver/nvidia/version", LOOK_SMALL, &text) && text.length > 0)
        out = strstr(text_string(&text), "Open Kernel Module") != NULL;
    text_free(&text);
    const struct driver_module *disk = scene->driver.disk;
    if (out < 0 && disk != NULL && disk->license != NULL)
        out = strcmp(disk->license, "NVIDIA") != 0;
    return out;
}

/* ---- libraries ---- */

static const struct library_facts *library(const struct scene *scene, const char *name) {
    for (size_t i = 0; i < N_LIBRARIES; i++)
        if (scene->facts->libraries[i].name != NULL && strcmp(scene->facts->libraries[i].name, name) == 0)
            return &scene->facts->libraries[i];
    return NULL;
}

const char *versions_library(const struct scene *scene, const char *name) {
    const struct library_facts *found = library(scene, name);
    return found == NULL ? NULL : found->path.value;
}

/* The link-time library and an empty file have no version, whatever their names say. */
const char *versions_of_library(const struct scene *scene, const char *name) {
    const struct library_facts *found = library(scene, name);
    if (found == NULL || found->path.value == NULL || strstr(found->path.value, "/stubs/") != NULL ||
        file_list_size(scene->source, &scene->driver.files, found->path.value) == 0)
        return NULL;
    return driver_is_version(found->version.value) ? found->version.value : NULL;
}

bool versions_libraries_known(const struct scene *scene) {
    return scene->source->live || js_is_object(js_get(scene->probes, "libs"));
}

bool versions_is_compat(const char *path) {
    return path != NULL && (strstr(path, "/compat/") != NULL || strstr(path, "cuda-compat") != NULL);
}

/* ---- GPUs ---- */

const struct pci_facts *versions_gpu(const struct scene *scene, size_t index) {
    for (size_t i = 0; i < scene->facts->n_pci; i++) {
        const struct pci_facts *gpu = &scene->facts->pci[i];
        const char *driver = gpu->driver.value;
        bool passed =
            driver != NULL && (text_starts(driver, "vfio") || strcmp(driver, "pci-stub") == 0 ||
                               strcmp(driver, "xen-pciback") == 0 || strcmp(driver, "pciback") == 0);
        if (gpu->gpu && gpu->vendor == VENDOR_NVIDIA && !passed && index-- == 0)
            return gpu;
    }
    return NULL;
}

/* TU102 is 0x1e02; before it GV100 ends at 0x1dff. */
bool versions_has_gsp(int device) {
    return device >= 0x1e00;
}

/* AD107 ends at 0x28ff, GB100 begins at 0x2900; GH200 is 0x2342 and 0x2348. */
bool versions_wants_open(int device) {
    return device >= 0x2900 || device == 0x2342 || device == 0x2348;
}

bool versions_is_consumer(const struct scene *scene) {
    const js *gpus = js_get(scene->probes, "gpus");
    bool any = false;
    for (size_t i = 0; i < js_length(gpus); i++) {
        const char *name = js_get_string(js_at(gpus, i), "name", "");
        any = any || strstr(name, "GeForce") != NULL || strstr(name, "TITAN") != NULL ||
              strstr(name, "Quadro M") != NULL || strstr(name, "Quadro P") != NULL;
    }
    return any;
}

/* ---- probes ---- */

int versions_cuda_code(const struct scene *scene) {
    int code = -1;
    scene_probe(scene, "cuInit", &code);
    return code;
}

bool versions_cuda_works(const struct scene *scene) {
    return versions_cuda_code(scene) == 0;
}

bool versions_cuda_fails(const struct scene *scene) {
    int code = -1;
    return scene_probe(scene, "cuInit", &code) != PROBE_UNKNOWN && code != 0;
}

bool versions_nvml_works(const struct scene *scene) {
    int code = -1;
    return scene_probe(scene, "nvmlInit", &code) == PROBE_ANSWERED && code == 0;
}

int versions_nvml_count(const struct scene *scene) {
    const js *gpus = js_get(scene->probes, "gpus");
    int64_t count = js_get_int(js_get(scene->probes, "nvmlInit"), "count", -1);
    if (js_is_array(gpus) && js_length(gpus) > 0)
        return (int)(js_length(gpus) < 4096 ? js_length(gpus) : 4096);
    return count >= 0 && count <= 4096 ? (int)count : -1;
}

bool versions_nvml_has(const struct scene *scene, const char *bdf) {
    const js *gpus = js_get(scene->probes, "gpus");
    for (size_t i = 0; i < js_length(gpus); i++)
        if (strcasecmp(js_get_string(js_at(gpus, i), "bdf", ""), bdf) == 0)
            return true;
    return false;
}

const char *versions_variable(const struct scene *scene, const char *name) {
    const js *env = js_get(scene->probes, "env");
    if (js_is_object(env))
        return js_get_string(env, name, NULL);
    for (size_t i = 0; i < scene->facts->variables.count; i++)
        if (strcmp(scene->facts->variables.items[i].key, name) == 0)
            return scene->facts->variables.items[i].value.value;
    return NULL;
}

bool versions_container_wants(const struct scene *scene) {
    const char *devices = versions_variable(scene, "NVIDIA_VISIBLE_DEVICES");
    bool asked =
        devices != NULL && devices[0] != '\0' && strcmp(devices, "void") != 0 && strcmp(devices, "none") != 0;
    return asked || versions_library(scene, "cuda") != NULL ||
           (scene->nodes->known && device_nodes_find(scene->nodes, "/dev/nvidiactl") != NULL);
}

/* ---- remedies ---- */

static bool is_one_of(const char *s, const char *const *list) {
    for (; *list != NULL; list++)
        if (strcmp(s, *list) == 0)
            return true;
    return false;
}

static const char *const fedora[] = {"fedora", "rhel", "centos", "rocky", "almalinux", "ol", "amzn", NULL};
static const char *const arch[] = {"arch", "cachyos", "manjaro", "endeavouros", NULL};
static const char *const suse[] = {"sles", "opensuse-leap", "opensuse-tumbleweed", NULL};
static const char *const debian[] = {"debian", "ubuntu", "proxmox", "pop", "linuxmint", NULL};

static const char *release_of(const struct scene *scene) {
    return scene->driver.release != NULL ? scene->driver.release : "$(uname -r)";
}

void remedy_headers(struct finding *finding, const struct scene *scene) {
    const char *distribution = scene->driver.distribution;
    const char *release = release_of(scene);
    if (strstr(release, "-pve") != NULL)
        finding_remedy(finding, "apt install proxmox-headers-%s   (pve-headers-%s before Proxmox 8)", release,
                       release);
    else if (is_one_of(distribution, fedora))
        finding_remedy(finding, "dnf install kernel-devel-%s   (the kernel's headers)", release);
    else if (is_one_of(distribution, arch) || strstr(release, "-arch") != NULL)
        finding_remedy(
            finding, "pacman -Syu linux-headers   (of the same version as the running kernel; then reboot)");
    else if (is_one_of(distribution, suse))
        finding_remedy(finding, "zypper install kernel-default-devel   (headers of %s)", release);
    else
        finding_remedy(finding, "apt install linux-headers-%s", release);
    finding_remedy(finding, "dkms autoinstall -k %s && modprobe nvidia", release);
}

void remedy_initrd(struct finding *finding, const struct scene *scene) {
    const char *distribution = scene->driver.distribution;
    const char *release = release_of(scene);
    if (is_one_of(distribution, fedora) || is_one_of(distribution, suse))
        finding_remedy(finding, "dracut --force --kver %s   (rebuilds the initramfs)", release);
    else if (is_one_of(distribution, arch) || strstr(release, "-arch") != NULL)
        finding_remedy(finding, "mkinitcpio -P   (rebuilds the initramfs)");
    else
        finding_remedy(finding, "update-initramfs -u -k %s%s", release,
                       strstr(release, "-pve") != NULL ? " && proxmox-boot-tool refresh" : "");
}

void remedy_user_space(struct finding *finding, const struct scene *scene, const char *version) {
    if (is_one_of(scene->driver.distribution, debian))
        finding_remedy(
            finding,
            "apt list -a libnvidia-compute-* libcuda1; install the packages of exactly %s   (or the .run "
            "file of %s with --no-kernel-modules; older ones: --no-kernel-module)",
            version, version);
    else
        finding_remedy(finding,
                       "install the driver's user space of exactly %s   (a .run file: --no-kernel-modules; "
                       "older ones: --no-kernel-module)",
                       version);
}
