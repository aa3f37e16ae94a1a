/* SPDX-License-Identifier: Apache-2.0 */
/* The loaded module against the module on the disk and the libraries; and modules that do not fit the GPU. */
#include "doctor/doctor.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

/* ---- versions, three-way ---- */

struct versions {
    const char *loaded, *disk, *cuda, *nvml; /* NULL unknown */
    bool cuda_differs, nvml_differs;         /* and nothing shows that it works all the same */
};

static bool differs(const char *a, const char *b) {
    return a != NULL && b != NULL && strcmp(a, b) != 0;
}

static void read_versions(const struct scene *scene, struct versions *out) {
    *out = (struct versions){.loaded = versions_loaded(scene),
                             .cuda = versions_of_library(scene, "cuda"),
                             .nvml = versions_of_library(scene, "nvml")};
    if (!driver_is_version(out->loaded))
        out->loaded = NULL;
    if (!scene->container && scene->driver.disk != NULL && driver_is_version(scene->driver.disk->version))
        out->disk = scene->driver.disk->version;
    bool compat = versions_is_compat(versions_library(scene, "cuda"));
    out->cuda_differs = differs(out->loaded, out->cuda) && !compat && !versions_cuda_works(scene);
    out->nvml_differs = differs(out->loaded, out->nvml) && !versions_nvml_works(scene);
}

static void remedy_in_container(struct finding *f, const struct scene *scene, const struct versions *v) {
    bool mounted = strcmp(scene->manager, "docker") == 0 || strcmp(scene->manager, "podman") == 0 ||
                   strcmp(scene->manager, "kubernetes") == 0;
    if (mounted) {
        finding_remedy(
            f,
            "take the driver's libraries out of the image (packages libnvidia-compute-*, libcuda1): the "
            "runtime brings the host's, %s",
            v->loaded);
        finding_remedy(
            f, "on the host: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml   (where CDI is used), "
               "then start the container anew");
    } else {
        finding_remedy(
            f,
            "in the container, exactly %s: NVIDIA-Linux-x86_64-%s.run --no-kernel-modules   (older installers: "
            "--no-kernel-module; user space only), or the packages of that version",
            v->loaded, v->loaded);
        finding_remedy(
            f,
            "and hold them there (apt-mark hold), since each driver upgrade of the host needs the same here");
    }
}

static void remedy_on_host(struct finding *f, const struct scene *scene, const struct versions *v) {
    const char *user = v->cuda_differs ? v->cuda : v->nvml;
    bool halves = v->cuda != NULL && v->nvml != NULL && strcmp(v->cuda, v->nvml) != 0;
    if (halves)
        finding_remedy(
            f,
            "libcuda and libnvidia-ml are of two versions: one package was left behind; install both of %s",
            v->disk != NULL ? v->disk : v->loaded);
    if (v->disk != NULL && !differs(v->disk, v->loaded)) {
        remedy_user_space(f, scene, v->loaded);
    } else if (v->disk != NULL && !differs(v->disk, user)) {
        finding_remedy(
            f, "reboot, or stop what uses the GPUs and reload the modules: rmmod nvidia_drm nvidia_modeset "
               "nvidia_uvm nvidia && modprobe nvidia nvidia_uvm");
        remedy_initrd(f, scene);
        finding_remedy(f, "(the initramfs only if %s comes back after the reboot)", v->loaded);
    } else if (v->disk != NULL) {
        finding_remedy(f, "make module and user space one version: install %s for both, then reboot", user);
    } else {
        finding_remedy(f, "modinfo -F version nvidia: where it says %s, reboot", user);
        remedy_user_space(f, scene, v->loaded);
    }
}

static void say_mismatch(const struct scene *scene, const struct versions *v, struct findings *out) {
    struct finding *f = finding_add(
        out, "driver.mismatch", SEVERITY_FAIL, "the loaded module is %s, the user space %s%s", v->loaded,
        v->cuda_differs ? v->cuda : v->nvml, scene->container ? " in this container" : "");
    finding_evidence(f,
                     look_exists(scene->source, "/sys/module/nvidia/version") ? "/sys/module/nvidia/version"
                                                                              : "/proc/driver/nvidia/version",
                     "%s (loaded)", v->loaded);
    if (scene->driver.disk != NULL && v->disk != NULL)
        finding_evidence(f, scene->driver.disk->path, "%s (on the disk)", v->disk);
    if (v->cuda != NULL)
        finding_evidence(f, versions_library(scene, "cuda"), "%s", v->cuda);
    if (v->nvml != NULL)
        finding_evidence(f, versions_library(scene, "nvml"), "%s", v->nvml);
    const struct kernel_event *event = kernel_log_last(&scene->log, EVENT_API_MISMATCH, NULL);
    if (event != NULL)
        finding_evidence(f, "kernel log", "client %s, module %s", event->first, event->second);
    if (scene->container)
        remedy_in_container(f, scene, v);
    else
        remedy_on_host(f, scene, v);
}

/* The libraries' own names do not tell: the kernel log does, of a client that fails now. */
static bool say_logged_mismatch(const struct scene *scene, const struct versions *v, struct findings *out) {
    const struct kernel_event *event = kernel_log_last(&scene->log, EVENT_API_MISMATCH, NULL);
    int nvml = -1;
    scene_probe(scene, "nvmlInit", &nvml);
    bool failing = nvml == 18 || versions_cuda_code(scene) == 803;
    if (event == NULL || !failing || v->cuda != NULL || v->nvml != NULL || differs(v->loaded, event->second))
        return false;
    struct versions logged = *v;
    logged.loaded = event->second;
    logged.cuda = event->first;
    logged.cuda_differs = true;
    struct finding *f =
        finding_add(out, "driver.mismatch", SEVERITY_FAIL, "the loaded module is %s, the user space %s",
                    event->second, event->first);
    finding_evidence(f, "kernel log", "%s", event->text);
    if (scene->container)
        remedy_in_container(f, scene, &logged);
    else
        remedy_on_host(f, scene, &logged);
    return true;
}

static void check_versions(const struct scene *scene, struct findings *out) {
    struct versions v;
    read_versions(scene, &v);
    if (v.cuda_differs || v.nvml_differs) {
        say_mismatch(scene, &v, out);
        return;
    }
    if (say_logged_mismatch(scene, &v, out) || !differs(v.loaded, v.disk))
        return;
    struct finding *f =
        finding_add(out, "driver.reload-pending", SEVERITY_WARN,
                    "the next reboot loads module %s, while %s is loaded and in use now", v.disk, v.loaded);
    finding_evidence(f, scene->driver.disk->path, "%s (on the disk)", v.disk);
    finding_evidence(f, "/sys/module/nvidia/version", "%s (loaded)", v.loaded);
    if (v.cuda != NULL)
        finding_evidence(f, versions_library(scene, "cuda"), "%s", v.cuda);
    finding_remedy(f, "have the user space of %s installed before the next reboot", v.disk);
}

/* ---- flavour ---- */

/* GPUs that `wrong` holds for and that NVML does not list: how many, each as evidence of `f` (NULL: only
 * counted). */
static size_t tell_gpus(const struct scene *scene, bool (*wrong)(int device), struct finding *f) {
    const struct pci_facts *gpu;
    size_t count = 0;
    for (size_t i = 0; (gpu = versions_gpu(scene, i)) != NULL; i++) {
        if (gpu->device < 0 || !wrong(gpu->device) || versions_nvml_has(scene, gpu->bdf))
            continue;
        count++;
        if (f != NULL)
            finding_evidence(f, gpu->bdf, "PCI id 10de:%04x", (unsigned)gpu->device);
    }
    return count;
}

static bool is_before_turing(int device) {
    return !versions_has_gsp(device);
}

static void flavour_evidence(const struct scene *scene, struct finding *f) {
    const struct driver_module *disk = scene->driver.disk;
    char *loaded = look_text(scene->source, "/proc/driver/nvidia/version");
    if (loaded != NULL)
        finding_evidence(f, "/proc/driver/nvidia/version", "%.*s", (int)strcspn(loaded, "\n"), loaded);
    if (disk != NULL && disk->license != NULL)
        finding_evidence(f, disk->path, "license %s", disk->license);
    free(loaded);
}

static void check_flavour(const struct scene *scene, struct findings *out) {
    const char *where = scene->container ? "on the host: " : "";
    int open = versions_is_open(scene);
    if (open == 0 && tell_gpus(scene, versions_wants_open, NULL) > 0) {
        const struct kernel_event *event = kernel_log_last(&scene->log, EVENT_OPEN_REQUIRED, NULL);
        struct finding *f =
            finding_add(out, "driver.flavour", SEVERITY_FAIL,
                        "this GPU needs the open kernel modules, and the proprietary flavour is installed");
        tell_gpus(scene, versions_wants_open, f);
        flavour_evidence(scene, f);
        if (event != NULL)
            finding_evidence(f, "kernel log", "%s", event->text);
        finding_remedy(f,
                       "%sinstall the same version's -open packages (nvidia-driver-…-open, nvidia-open, "
                       "kmod-nvidia-open-dkms), or the .run file with -M open; then reboot",
                       where);
        finding_remedy(f, "check: modinfo -F license nvidia says Dual MIT/GPL");
    } else if (open == 1 && tell_gpus(scene, is_before_turing, NULL) > 0 && versions_cuda_fails(scene)) {
        struct finding *f =
            finding_add(out, "driver.flavour", SEVERITY_FAIL,
                        "this GPU is older than Turing: the open kernel modules do not drive it");
        tell_gpus(scene, is_before_turing, f);
        flavour_evidence(scene, f);
        finding_remedy(
            f,
            "%sinstall the proprietary flavour of a driver that still knows this GPU (580 or older), "
            "then reboot",
            where);
    }
}

/* ---- a GPU that this driver does not know ---- */

static void check_unsupported(const struct scene *scene, struct findings *out) {
    const struct kernel_event *event = kernel_log_last(&scene->log, EVENT_UNSUPPORTED, NULL);
    if (event == NULL || findings_has(out, "driver.flavour", SEVERITY_FAIL) ||
        versions_nvml_has(scene, event->bdf))
        return;
    const struct pci_facts *gpu;
    for (size_t i = 0; (gpu = versions_gpu(scene, i)) != NULL; i++) {
        if (strcmp(gpu->bdf, event->bdf) != 0)
            continue;
        struct finding *f = finding_add(out, "driver.unsupported-gpu", SEVERITY_FAIL,
                                        "this driver does not support the GPU %s", event->bdf);
        finding_evidence(f, "kernel log", "%s", event->text);
        finding_remedy(
            f,
            "install the driver branch that the message names; a GPU newer than the driver wants a newer one");
    }
}

/* ---- firmware ---- */

static const char *firmware_of(const struct scene *scene, const char *version) {
    static const char *const folders[] = {"/lib/firmware/nvidia/", "/lib/firmware/updates/nvidia/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct text prefix = {0};
        size_t count = 0;
        text_addf(&prefix, "%s%s/gsp", folders[i], version);
        const struct listed_file *file = file_list_below(&scene->driver.files, text_string(&prefix), &count);
        text_free(&prefix);
        if (file != NULL)
            return file->path;
    }
    return NULL;
}

/* The GSP's firmware is wanted: open modules always, else Turing and later unless it is switched off. */
static bool wants_firmware(const struct scene *scene) {
    char *params = look_text(scene->source, "/proc/driver/nvidia/params");
    char *setting = params == NULL ? NULL : look_field(params, "EnableGpuFirmware");
    bool off = setting != NULL && strcmp(setting, "0") == 0 && versions_is_open(scene) != 1;
    const struct pci_facts *gpu;
    bool any = false;
    for (size_t i = 0; (gpu = versions_gpu(scene, i)) != NULL; i++)
        any =
            any || (gpu->device >= 0 && versions_has_gsp(gpu->device) && !versions_nvml_has(scene, gpu->bdf));
    free(params);
    free(setting);
    return any && !off;
}

static void check_firmware(const struct scene *scene, struct findings *out) {
    const char *version = versions_loaded(scene);
    const struct kernel_event *event = kernel_log_last(&scene->log, EVENT_NO_FIRMWARE, NULL);
    bool logged = event != NULL &&
                  (event->first[0] == '\0' || version == NULL || strstr(event->first, version) != NULL);
    bool missing = !scene->container && scene->driver.files.known && driver_is_version(version) &&
                   firmware_of(scene, version) == NULL;
    char *custom = look_text(scene->source, "/sys/module/firmware_class/parameters/path");
    bool elsewhere = custom != NULL && custom[0] != '\0' && custom[0] != '(';
    free(custom);
    if (versions_cuda_works(scene) || !wants_firmware(scene) ||
        !(logged || (missing && !elsewhere && versions_cuda_fails(scene) && versions_nvml_count(scene) <= 0)))
        return;
    bool interrupted = logged && event->code == 4;
    struct finding *f = finding_add(out, "driver.firmware", SEVERITY_FAIL,
                                    interrupted ? "loading the GSP's firmware was interrupted"
                                                : "the GSP's firmware of driver %s is missing",
                                    version != NULL ? version : "(unknown)");
    struct text path = {0};
    text_addf(&path, "/lib/firmware/%s", logged && event->first[0] != '\0' ? event->first : "nvidia/");
    if (!logged || event->first[0] == '\0')
        text_addf(&path, "%s/gsp_*.bin", version != NULL ? version : "VERSION");
    finding_evidence(f, text_string(&path), "%s",
                     missing       ? "not there"
                     : interrupted ? "error -4, interrupted"
                                   : "not found when the module asked for it");
    if (logged)
        finding_evidence(f, "kernel log", "%s", event->text);
    if (interrupted)
        finding_remedy(
            f,
            "nothing is missing: load the module anew, outside of a service that is killed meanwhile (nvidia-persistenced keeps it loaded)");
    else
        finding_remedy(
            f,
            "install the driver's firmware package of exactly %s (firmware-nvidia-gsp, nvidia-firmware-*, linux-firmware's does not do), so that %s is there",
            version != NULL ? version : "this version", text_string(&path));
    finding_remedy(f, "the module is loaded early? then the initramfs must hold the file too:");
    remedy_initrd(f, scene);
    finding_remedy(f, "(a kernel without CONFIG_FW_LOADER can load none)");
    tell_gpus(scene, versions_has_gsp, f);
    text_free(&path);
}

/* ---- the driver gave the GPU up ---- */

static void check_adapter(const struct scene *scene, struct findings *out) {
    const struct pci_facts *gpu;
    const char *cause = findings_has(out, "driver.flavour", SEVERITY_FAIL)    ? "driver.flavour"
                        : findings_has(out, "driver.firmware", SEVERITY_FAIL) ? "driver.firmware"
                        : findings_has(out, "driver.mismatch", SEVERITY_FAIL) ? "driver.mismatch"
                                                                              : NULL;
    for (size_t i = 0; (gpu = versions_gpu(scene, i)) != NULL; i++) {
        const struct kernel_event *event = kernel_log_last(&scene->log, EVENT_INIT_FAILED, gpu->bdf);
        if (event == NULL || versions_nvml_has(scene, gpu->bdf) || versions_cuda_works(scene) ||
            versions_nvml_count(scene) < 0)
            continue;
        struct finding *f = finding_add(out, "driver.adapter-init", SEVERITY_FAIL,
                                        "the driver could not start the GPU %s", gpu->bdf);
        finding_evidence(f, "kernel log", "%s", event->text);
        if (cause != NULL)
            finding_follows(f, cause);
        finding_remedy(
            f,
            cause != NULL
                ? "mend the finding that it follows from"
                : "power the machine off fully for 30 s, not a warm reboot; if it comes back: the lines before it in dmesg, another slot, another driver version");
    }
}

static const struct rule rules[] = {
    {.id = "driver.mismatch",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "module and user space are of two versions",
     .needs = "/proc/driver/nvidia/version, probes.json: libs, modinfo",
     .cause =
         "the driver's libraries talk only to the kernel module of exactly their own version, to the last number",
     .remedy =
         "loaded differs from disk and libraries: reboot or reload; libraries differ: install the module's version of them; in a container: user space of the host's version, no module",
     .source = "public threads: unattended upgrades, LXC, Driver/library version mismatch",
     .check = check_versions},
    {.id = "driver.reload-pending",
     .area = AREA_CUDA,
     .severity = SEVERITY_WARN,
     .title = "another module lies on the disk than is loaded",
     .needs = "/sys/module/nvidia/version, modinfo",
     .cause =
         "what runs now keeps running; at the next start the module on the disk is loaded, and the libraries must be of its version",
     .remedy = "user space of the same version before the next reboot",
     .source = "public threads: unattended upgrades"},
    {.id = "driver.flavour",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the module's flavour does not fit the GPU",
     .needs = "/sys/bus/pci/devices, /proc/driver/nvidia/version or modinfo license",
     .cause =
         "Blackwell and Grace Hopper are driven by the open kernel modules only, GPUs before Turing by the proprietary ones only",
     .remedy = "install the other flavour of the same version",
     .source = "public threads on RTX 5090 and GB10; NVIDIA's notes on open kernel modules",
     .check = check_flavour},
    {.id = "driver.unsupported-gpu",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the driver does not know the GPU",
     .needs = "kernel log",
     .cause = "the GPU is newer than the driver, or too old for this branch",
     .remedy = "the branch that the message names",
     .source = "messages of the kernel module",
     .check = check_unsupported},
    {.id = "driver.firmware",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the GSP's firmware is missing",
     .needs = "files.tsv: /lib/firmware, /sys/module/nvidia/version, kernel log",
     .cause =
         "the GPU's own processor gets its program from a file of exactly the module's version; without it no GPU starts",
     .remedy = "install the firmware of this version, in the initramfs too if the module is loaded there",
     .source = "public threads: Direct firmware load for nvidia/…/gsp_ga10x.bin failed with error -2",
     .check = check_firmware},
    {.id = "driver.adapter-init",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the driver could not start a GPU",
     .needs = "kernel log, probes.json: gpus",
     .cause =
         "RmInitAdapter failed: wrong flavour, no firmware, a GPU left in a bad state by a warm reboot, or hardware",
     .remedy = "a full power cycle, then the lines before it in the kernel log",
     .source = "public threads: RmInitAdapter failed",
     .check = check_adapter},
    {0},
};

const struct rule_family family_driver = {"driver", rules};
