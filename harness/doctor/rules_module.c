/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel module is not there, and why: another driver has the GPU, nothing is installed, nothing was
 * built for this kernel, the kernel refuses it, modprobe is told not to. One of these, the deepest. */
#include "doctor/doctor.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

/* ---- another driver ---- */

static const char *rival(const struct scene *scene, const struct pci_facts **held) {
    static const char *const names[] = {"nouveau", "nova_core", "nova"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct pci_facts *gpu;
        for (size_t g = 0; (gpu = versions_gpu(scene, g)) != NULL; g++)
            if (gpu->driver.value != NULL && strcmp(gpu->driver.value, names[i]) == 0) {
                *held = gpu;
                return names[i];
            }
    }
    return versions_is_loaded(scene) != 1 && driver_state_loaded(&scene->driver, "nouveau") == 1 ? "nouveau"
                                                                                                 : NULL;
}

/* The first line that keeps a module away, in modprobe.d or on the command line. */
static const struct modprobe_line *keeps_away(const struct scene *scene, const char *module, bool cmdline) {
    for (size_t i = 0; i < scene->driver.n_lines; i++) {
        const struct modprobe_line *line = &scene->driver.lines[i];
        bool there = strcmp(line->file, "/proc/cmdline") == 0;
        bool away = strcmp(line->command, "blacklist") == 0 ||
                    (strcmp(line->command, "install") == 0 &&
                     (strstr(line->rest, "/false") || strstr(line->rest, "/true"))) ||
                    (strcmp(line->command, "options") == 0 && strstr(line->rest, "modeset=0") != NULL);
        if (there == cmdline && away && strcmp(line->module, module) == 0)
            return line;
    }
    return NULL;
}

/* Of the running kernel, by the names that distributions give it. */
static const struct listed_file *initrd_of(const struct scene *scene) {
    static const char *const forms[] = {"/boot/initrd.img-%s", "/boot/initramfs-%s.img", "/boot/initrd-%s"};
    const struct listed_file *found = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && found == NULL && scene->driver.release != NULL;
         i++) {
        struct text path = {0};
        const char *mark = strstr(forms[i], "%s");
        text_add_bytes(&path, forms[i], (size_t)(mark - forms[i]));
        text_addf(&path, "%s%s", scene->driver.release, mark + 2);
        found = file_list_find(&scene->driver.files, text_string(&path));
        text_free(&path);
    }
    return found != NULL ? found : file_list_find(&scene->driver.files, "/boot/initramfs-linux.img");
}

static bool is_stale(const struct scene *scene, const struct modprobe_line *line,
                     const struct listed_file *initrd) {
    const struct listed_file *file = line == NULL ? NULL : file_list_find(&scene->driver.files, line->file);
    return file != NULL && initrd != NULL && initrd->mtime >= 0 && initrd->mtime < file->mtime;
}

/* Somebody wrote that it is to stay away, be it where that does not help: rd.driver.blacklist=nouveau. */
static bool is_unwanted(const struct scene *scene, const char *name) {
    static const char *const keys[] = {
        "rd.driver.blacklist=", "rdblacklist=", "modprobe.blacklist=", "module_blacklist="};
    if (keeps_away(scene, name, false) != NULL || keeps_away(scene, name, true) != NULL)
        return true;
    char *cmdline = look_text(scene->source, "/proc/cmdline");
    struct strings words = {0};
    bool found = false;
    strings_split(&words, cmdline == NULL ? "" : cmdline, ' ');
    for (size_t w = 0; w < words.count; w++)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            struct strings modules = {0};
            if (text_starts(words.items[w], keys[k]))
                strings_split(&modules, words.items[w] + strlen(keys[k]), ',');
            found = found || strings_contain(&modules, name);
            strings_free(&modules);
        }
    strings_free(&words);
    free(cmdline);
    return found;
}

static void say_rival(const struct scene *scene, const char *name, const struct pci_facts *held,
                      struct findings *out) {
    const struct modprobe_line *file = keeps_away(scene, name, false);
    const struct modprobe_line *cmdline = keeps_away(scene, name, true);
    const struct listed_file *initrd = initrd_of(scene);
    bool stale = is_stale(scene, file, initrd);
    /* Beside GPUs that nvidia has and CUDA uses, somebody may have meant it so, unless it is written
     * otherwise. */
    bool beside = versions_cuda_works(scene);
    bool meant = beside && !is_unwanted(scene, name);
    struct finding *f = finding_add(out, "module.nouveau", meant ? SEVERITY_WARN : SEVERITY_FAIL,
                                    beside ? "%s has a GPU, which CUDA does not see"
                                           : "%s has the GPU, so that nvidia cannot take it",
                                    name);
    if (held != NULL)
        finding_evidence(f, held->bdf, "bound to %s", name);
    if (driver_state_loaded(&scene->driver, name) == 1)
        finding_evidence(f, "/proc/modules", "%s is loaded", name);
    const struct kernel_event *event = kernel_log_last(&scene->log, EVENT_NOUVEAU, NULL);
    if (event != NULL)
        finding_evidence(f, "kernel log", "%s", event->text);
    finding_evidence(f, file != NULL ? file->file : "modprobe.d", "%s",
                     file != NULL ? "keeps it away, once it is read" : "no line that blacklists it");
    finding_evidence(f, "/proc/cmdline", "%s",
                     cmdline != NULL ? "keeps it away" : "no modprobe.blacklist for it");
    if (stale)
        finding_evidence(f, initrd->path, "older than %s: it was not rebuilt", file->file);
    if (file == NULL)
        finding_remedy(f,
                       "printf 'blacklist %s\\noptions %s modeset=0\\n' > /etc/modprobe.d/blacklist-%s.conf",
                       name, name, name);
    remedy_initrd(f, scene);
    if (cmdline == NULL)
        finding_remedy(
            f,
            "or on the kernel's command line: modprobe.blacklist=%s   (rd.driver.blacklist holds in the initramfs only)",
            name);
    finding_remedy(f, "reboot");
}

/* ---- nothing for this kernel ---- */

static bool tells_of(const char *text, const char *release) {
    size_t length = strlen(release);
    for (const char *s = strstr(text, release); s != NULL; s = strstr(s + 1, release))
        if (strchr(" \t\n/'\")(:,", s[length]) != NULL) /* includes the end */
            return true;
    return false;
}

/* The build log of a package that did not build for this kernel: DKMS's and akmods'. */
static const struct listed_file *build_log(const struct scene *scene, char **line) {
    const char *release = scene->driver.release;
    size_t count = 0;
    const struct listed_file *files = file_list_below(&scene->driver.files, "/var/", &count);
    *line = NULL;
    for (size_t i = 0; i < count; i++) {
        const char *path = files[i].path;
        struct text text = {0};
        bool dkms = text_matches("/var/lib/dkms/nvidia*/make.log", path);
        bool akmods =
            text_matches("/var/cache/akmods/nvidia*failed.log", path) && strstr(path, release) != NULL;
        bool read = (dkms || akmods) && look_bytes(scene->source, path, LOOK_LARGE, &text);
        bool mine = akmods || (read && tells_of(text_string(&text), release));
        const char *error = read && mine ? strcasestr(text_string(&text), "error") : NULL;
        if (mine && (error != NULL || akmods)) {
            if (error != NULL) {
                while (error > text_string(&text) && error[-1] != '\n')
                    error--;
                struct text one = {0};
                size_t length = strcspn(error, "\n");
                text_add_bytes(&one, error, length < 300 ? length : 300);
                *line = text_take(&one);
            }
            text_free(&text);
            return &files[i];
        }
        text_free(&text);
    }
    return NULL;
}

static const struct driver_module *newest_elsewhere(const struct scene *scene) {
    const struct driver_module *best = NULL;
    for (size_t i = 0; i < scene->driver.n_modules; i++) {
        const struct driver_module *module = &scene->driver.modules[i];
        if (driver_state_module(&scene->driver, module->kernel, "nvidia") == module &&
            (best == NULL || driver_release_compare(module->kernel, best->kernel) > 0))
            best = module;
    }
    return best;
}

/* The folder that a module is built in is gone, or was never there. */
static bool lacks_headers(const struct scene *scene) {
    struct text build = {0};
    text_addf(&build, "/lib/modules/%s/build", scene->driver.release);
    bool known =
        source_is_whole(scene->source) || file_list_find(&scene->driver.files, text_string(&build)) != NULL;
    text_add(&build, "/Makefile");
    bool lacks = known && !look_exists(scene->source, text_string(&build));
    text_free(&build);
    return lacks;
}

static void say_build(const struct scene *scene, struct finding *f, const struct listed_file *log,
                      const char *line, const struct driver_module *other) {
    finding_evidence(f, log->path, "%s", line != NULL ? line : "the build for this kernel failed");
    finding_cause(
        f,
        "the module did not build for kernel %s: the driver is older than this kernel, or a tool to build it is missing",
        scene->driver.release);
    finding_remedy(
        f, "read %s to its first error; missing compiler or headers: install them, then dkms autoinstall",
        log->path);
    finding_remedy(f, "code errors: a newer driver, whose release notes name this kernel");
    if (other != NULL)
        finding_remedy(f, "until then: boot kernel %s, which has its module", other->kernel);
}

static void say_none(const struct scene *scene, struct findings *out) {
    const char *release = scene->driver.release;
    const struct driver_module *other = newest_elsewhere(scene);
    char *line = NULL;
    const struct listed_file *log = build_log(scene, &line);
    bool installed = other != NULL || log != NULL || versions_library(scene, "cuda") != NULL ||
                     versions_library(scene, "nvml") != NULL;
    bool newer = other != NULL && driver_release_compare(other->kernel, release) > 0;
    struct finding *f =
        !installed ? finding_add(out, "module.not-installed", SEVERITY_FAIL, "no NVIDIA driver is installed")
        : other == NULL ? finding_add(out, "module.none-for-kernel", SEVERITY_FAIL,
                                      "no nvidia module for the running kernel %s", release)
                        : finding_add(out, "module.none-for-kernel", SEVERITY_FAIL,
                                      "no nvidia module for the running kernel %s; there is one for %s",
                                      release, other->kernel);
    const struct pci_facts *gpu = versions_gpu(scene, 0);
    finding_evidence(f, gpu->bdf, "NVIDIA GPU, PCI id 10de:%04x, driver %s", (unsigned)gpu->device & 0xffff,
                     gpu->driver.value != NULL ? gpu->driver.value : "none");
    struct text folder = {0};
    text_addf(&folder, "/lib/modules/%s", release);
    finding_evidence(f, text_string(&folder), "no nvidia.ko");
    text_free(&folder);
    if (other != NULL)
        finding_evidence(f, other->path, "%s", other->version != NULL ? other->version : "another kernel's");
    if (!installed) {
        finding_remedy(f, "install the NVIDIA driver (of the distribution, or NVIDIA's), then reboot%s",
                       versions_wants_open(gpu->device)
                           ? "; this GPU wants the open kernel modules (package -open)"
                           : "");
    } else if (newer) {
        finding_cause(
            f, "a newer kernel was installed and its module built, but the machine still runs the old one");
        finding_remedy(f, "reboot into %s", other->kernel);
    } else if (log != NULL && !lacks_headers(scene)) {
        say_build(scene, f, log, line, other);
    } else if (lacks_headers(scene)) {
        finding_evidence(f, "kernel headers", "/lib/modules/%s/build leads nowhere", release);
        finding_cause(f,
                      "the module is built on this machine, and without this kernel's headers it cannot be");
        remedy_headers(f, scene);
    } else {
        finding_remedy(
            f,
            "dkms status; dkms autoinstall -k %s && modprobe nvidia   (or the distribution's module package for this kernel)",
            release);
        if (other != NULL)
            finding_remedy(f, "until then: boot kernel %s, which has its module", other->kernel);
    }
    free(line);
}

/* ---- it is there, and is not loaded ---- */

static void say_secure_boot(const struct scene *scene, const struct kernel_event *event,
                            struct findings *out) {
    const struct driver_module *disk = scene->driver.disk;
    bool unsigned_module = disk->signer != NULL && disk->signer[0] == '\0';
    struct finding *f =
        finding_add(out, "module.secure-boot", SEVERITY_FAIL,
                    scene->driver.secure_boot == 1
                        ? "Secure Boot refuses the module: it is not signed by an enrolled key"
                        : "the kernel refuses the module: it is not signed by a key that it trusts");
    finding_evidence(f, "SecureBoot", "%s",
                     scene->driver.secure_boot == 1   ? "1 (on)"
                     : scene->driver.secure_boot == 0 ? "0 (off: module.sig_enforce or lockdown asks for it)"
                                                      : "not known");
    finding_evidence(f, disk->path, "%s%s", unsigned_module ? "no signature" : "signed by ",
                     unsigned_module                                   ? ""
                     : disk->signer != NULL && disk->signer[0] != '\0' ? disk->signer
                                                                       : "(not known)");
    if (event != NULL)
        finding_evidence(f, "kernel log", "%s", event->text);
    if (unsigned_module)
        finding_remedy(
            f,
            "sign it anew: dkms autoinstall --force -k %s   (signs with /var/lib/dkms/mok.key), or the distribution's signed module package",
            scene->driver.release);
    finding_remedy(
        f,
        "mokutil --import /var/lib/dkms/mok.pub, reboot, and confirm \"Enroll MOK\" on the console   (check: mokutil --list-enrolled)");
    finding_remedy(
        f, "or switch Secure Boot off in the firmware; the price: any kernel module can then be loaded");
}

static bool is_misfit(const struct driver_module *disk, const char *release) {
    size_t length = release == NULL ? 0 : strlen(release);
    return length > 0 && disk->vermagic != NULL && strstr(disk->path, "/weak-updates/") == NULL &&
           (strncmp(disk->vermagic, release, length) != 0 ||
            (disk->vermagic[length] != ' ' && disk->vermagic[length] != '\0'));
}

static void say_misfit(const struct scene *scene, const struct kernel_event *event, struct findings *out) {
    const struct driver_module *disk = scene->driver.disk;
    struct finding *f =
        finding_add(out, "module.misfit", SEVERITY_FAIL,
                    "the module was built for another kernel than the running %s", scene->driver.release);
    finding_evidence(f, disk->path, "vermagic %s", disk->vermagic != NULL ? disk->vermagic : "not known");
    if (event != NULL)
        finding_evidence(f, "kernel log", "%s", event->text);
    finding_remedy(f, "dkms autoinstall --force -k %s && modprobe nvidia", scene->driver.release);
}

static void say_kept_away(const struct scene *scene, const struct modprobe_line *line, struct findings *out) {
    struct finding *f =
        finding_add(out, "module.blacklisted", SEVERITY_FAIL, "modprobe is told not to load nvidia");
    char where[600];
    if (line->line > 0)
        snprintf(where, sizeof where, "%.500s:%d", line->file, line->line);
    else
        snprintf(where, sizeof where, "%.500s", line->file);
    finding_evidence(f, where, "%s %s %s", line->command, line->module, line->rest);
    finding_remedy(f, "take this out of %s   (written by prime-select? then: prime-select nvidia)", where);
    remedy_initrd(f, scene);
    finding_remedy(f, "modprobe nvidia");
}

static void say_not_loaded(const struct scene *scene, struct findings *out) {
    struct finding *f =
        finding_add(out, "module.not-loaded", SEVERITY_FAIL, "the kernel module nvidia is not loaded%s",
                    scene->container ? " on the host" : "");
    const struct pci_facts *gpu = versions_gpu(scene, 0);
    finding_evidence(f, "/proc/modules", "no nvidia");
    finding_evidence(f, gpu->bdf, "NVIDIA GPU, driver %s",
                     gpu->driver.value != NULL ? gpu->driver.value : "none");
    if (scene->driver.disk != NULL)
        finding_evidence(f, scene->driver.disk->path, "%s",
                         scene->driver.disk->version != NULL ? scene->driver.disk->version : "is there");
    if (scene->driver.secure_boot == 1)
        finding_evidence(f, "SecureBoot", "1 (on)");
    finding_remedy(f,
                   "%smodprobe nvidia; what it says and the last lines of dmesg tell why it was not loaded",
                   scene->container ? "on the host: " : "");
    if (!scene->container)
        finding_remedy(f, "at each boot: systemctl enable --now nvidia-persistenced");
}

static bool keeps_nvidia_away(const struct scene *scene, const struct modprobe_line **line) {
    *line = keeps_away(scene, "nvidia", false);
    if (*line != NULL && strcmp((*line)->command, "options") == 0)
        *line = NULL;
    if (*line == NULL)
        *line = keeps_away(scene, "nvidia", true);
    return *line != NULL && strcmp((*line)->command, "options") != 0;
}

static void say_why_not(const struct scene *scene, struct findings *out) {
    const struct driver_state *driver = &scene->driver;
    const struct modprobe_line *line;
    const struct kernel_event *rejected = kernel_log_last(&scene->log, EVENT_MODULE_REJECTED, NULL);
    const struct kernel_event *misfit = kernel_log_last(&scene->log, EVENT_MODULE_MISFIT, NULL);
    bool signature = driver->disk->signer != NULL && driver->disk->signer[0] == '\0';
    if (is_misfit(driver->disk, driver->release) || misfit != NULL)
        say_misfit(scene, misfit, out);
    else if (rejected != NULL || (driver->secure_boot == 1 && signature))
        say_secure_boot(scene, rejected, out);
    else if (keeps_nvidia_away(scene, &line))
        say_kept_away(scene, line, out);
    else if (driver->secure_boot == 1 && !scene->log.known)
        say_secure_boot(scene, NULL, out);
    else
        say_not_loaded(scene, out);
}

static void check(const struct scene *scene, struct findings *out) {
    const struct driver_state *driver = &scene->driver;
    const struct pci_facts *held = NULL;
    const char *other = rival(scene, &held);
    if (held != NULL && !scene->container && versions_cuda_works(scene))
        say_rival(scene, other, held, out);
    if (versions_gpu(scene, 0) == NULL || versions_cuda_works(scene))
        return;
    if (scene->container) {
        if (versions_is_loaded(scene) == 0 && versions_container_wants(scene))
            say_not_loaded(scene, out);
        return;
    }
    bool files = driver->files.known && driver->release != NULL;
    bool installed = !files || driver->n_modules > 0 || versions_library(scene, "cuda") != NULL;
    if (other != NULL && installed)
        say_rival(scene, other, held, out);
    else if (versions_is_loaded(scene) != 0)
        return;
    else if (files && driver->disk == NULL)
        say_none(scene, out);
    else if (driver->disk != NULL)
        say_why_not(scene, out);
    else
        say_not_loaded(scene, out);
}

static const struct rule rules[] = {
    {.id = "module.nouveau",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "nouveau has the GPU",
     .needs = "/sys/bus/pci/devices, /proc/modules, /proc/cmdline, modprobe.d, files.tsv: /boot",
     .cause = "a device has one driver: while nouveau holds the GPU, nvidia's probe finds none",
     .remedy =
         "a blacklist line in modprobe.d, an initramfs that was rebuilt after it, modprobe.blacklist=nouveau on the command line; reboot",
     .source = "public threads: rd.driver.blacklist alone; a blacklist file without a rebuilt initramfs",
     .check = check},
    {.id = "module.not-installed",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a GPU, and no driver",
     .needs = "/sys/bus/pci/devices, files.tsv: /lib/modules, probes.json: libs",
     .cause = "neither a kernel module nor the driver's libraries are there",
     .remedy = "install the driver",
     .source = "NVIDIA's driver installation guide"},
    {.id = "module.none-for-kernel",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "no module for the running kernel",
     .needs = "files.tsv: /lib/modules, /var/lib/dkms; uname",
     .cause =
         "modules are built for one kernel each; after a kernel upgrade the build failed, lacked headers, or was for a kernel that does not run yet",
     .remedy =
         "headers and dkms autoinstall; a driver that knows this kernel; or a reboot into the kernel that has its module",
     .source = "public threads: DKMS after kernel upgrades on Arch, Proxmox and others"},
    {.id = "module.secure-boot",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the kernel refuses the module's signature",
     .needs = "efivars SecureBoot, modinfo signer, kernel log",
     .cause =
         "with Secure Boot on the kernel loads only modules signed by a key that it trusts; a DKMS module after a kernel upgrade may be unsigned, or its key not enrolled",
     .remedy = "enrol the key with mokutil, sign the module, or switch Secure Boot off",
     .source = "public threads: Key was rejected by service, after a kernel upgrade"},
    {.id = "module.misfit",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the module is another kernel's",
     .needs = "modinfo vermagic, uname, kernel log",
     .cause = "the kernel refuses a module whose version magic or symbols are not its own",
     .remedy = "build it anew for this kernel",
     .source = "Linux kernel documentation, kbuild modules"},
    {.id = "module.blacklisted",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "modprobe is told not to load nvidia",
     .needs = "modprobe.d, /proc/cmdline",
     .cause =
         "a blacklist or install line, often left by a tool that switches GPUs off, or for passing them to a virtual machine",
     .remedy = "take the line away",
     .source = "modprobe.d(5)"},
    {.id = "module.not-loaded",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the module is not loaded",
     .needs = "/proc/modules, /sys/bus/pci/devices",
     .cause =
         "the module is on the disk and nobody loaded it, or its loading failed for a reason that is not known here",
     .remedy = "modprobe nvidia, and what it says",
     .source = "public threads: nvidia-smi couldn't communicate with the NVIDIA driver"},
    {0},
};

const struct rule_family family_module = {"module", rules};
