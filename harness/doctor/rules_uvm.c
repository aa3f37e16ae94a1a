/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-uvm: the one node that CUDA needs and nvidia-smi does not, and whose major moves with every kernel.
 */
#include "doctor/access.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

/* What makes the node at boot, before any container starts. */
static void boot_remedy(const struct scene *scene, struct finding *f, bool loaded) {
    const char *where = scene->container ? "on the host: " : "";
    finding_remedy(f, "%snvidia-modprobe -u -c 0", where);
    finding_remedy(
        f,
        "%slasting, in a unit that runs at boot: ExecStart=/usr/bin/nvidia-modprobe -u -c 0, After=systemd-modules-load.service, "
        "Before=pve-guests.service lxc.service docker.service%s",
        where, loaded ? "" : "; and the word nvidia_uvm in /etc/modules-load.d/nvidia.conf");
    if (scene->container)
        finding_remedy(
            f,
            "then start the container again (its configuration must name /dev/nvidia-uvm and allow its major)");
}

/* Containers on this host may need what the host itself would make on demand. */
static bool has_containers(const struct scene *scene) {
    static const char *const places[] = {
        "/etc/pve/lxc",   "/var/lib/lxc", "/etc/docker", "/var/lib/docker", "/var/lib/containers/storage",
        "/etc/kubernetes"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (look_exists(scene->source, places[i]))
            return true;
    return false;
}

/* Root's driver library makes what is missing, and so does a setuid nvidia-modprobe for everybody: then
 * cuInit was fine, or was not asked lest it change what is to be judged. */
static bool made_on_demand(const struct scene *scene) {
    int code = -1;
    if (scene_probe(scene, "cuInit", &code) != PROBE_UNKNOWN)
        return code == 0;
    const char *modprobe = js_get_string(scene->probes, "nvidia_modprobe", NULL);
    bool root = js_get_int(scene->probes, "uid", -1) == 0;
    return !scene->container && modprobe != NULL && (root || strcmp(modprobe, "setuid") == 0);
}

static enum severity missing_severity(const struct scene *scene) {
    if (!made_on_demand(scene))
        return SEVERITY_FAIL;
    return !scene->container && has_containers(scene) ? SEVERITY_WARN : SEVERITY_INFO;
}

static void check_loaded(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    const struct access_subject *s = access_next(access, NULL, ROLE_UVM, TROUBLE_UNREGISTERED);
    if (s != NULL && s->needed) {
        enum severity severity = missing_severity(scene);
        struct finding *f =
            severity == SEVERITY_FAIL
                ? finding_add(
                      out, "uvm.module-not-loaded", severity,
                      "the kernel has no nvidia-uvm: the module nvidia_uvm is not loaded, so that CUDA cannot start")
                : finding_add(
                      out, "uvm.module-not-loaded", severity,
                      "nvidia_uvm is not loaded yet: the first CUDA program of the host has it loaded; containers that start "
                      "before have no /dev/nvidia-uvm");
        finding_evidence(f, "/proc/devices", "nvidia, but no nvidia-uvm");
        access_evidence(f, s);
        boot_remedy(scene, f, false);
    }
    access_free(access);
}

static void check_missing(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    const struct access_subject *s = access_next(access, NULL, ROLE_UVM, TROUBLE_MISSING);
    if (s != NULL && s->needed) {
        enum severity severity = missing_severity(scene);
        struct finding *f =
            severity == SEVERITY_FAIL
                ? finding_add(out, "uvm.node-missing", severity,
                              "/dev/nvidia-uvm is missing, though the driver has registered nvidia-uvm as %d",
                              s->want_major)
                : finding_add(
                      out, "uvm.node-missing", severity,
                      "/dev/nvidia-uvm is missing until the first CUDA program makes it: %s do not have it",
                      scene->container ? "users other than root" : "containers that start before");
        access_evidence(f, s);
        finding_evidence(f, "/proc/devices", "%d nvidia-uvm", s->want_major);
        boot_remedy(scene, f, true);
    }
    access_free(access);
}

/* Why its number is called wrong: who says that it is not, or was once, the driver's. */
static void tell_number(const struct scene *scene, const struct access_subject *s, struct finding *f) {
    access_evidence(f, s);
    finding_evidence(f, "/proc/devices", "%d nvidia-uvm", s->want_major);
    if (js_get_int(scene->baseline, "chrdev.nvidia-uvm", -1) == s->node->major)
        finding_evidence(f, "baseline: chrdev.nvidia-uvm", "%d: the number that it had then", s->node->major);
}

static void number_remedy(const struct scene *scene, const struct access_subject *s, struct finding *f) {
    if (scene->container) {
        finding_remedy(f,
                       "on the host: nvidia-modprobe -u -c 0, and see that ls -l /dev/nvidia-uvm shows %d, 0",
                       s->want_major);
        finding_remedy(
            f,
            "start the container again with the host's node (dev0: /dev/nvidia-uvm on Proxmox VE, --device or CDI "
            "with docker and podman), not with one made by mknod inside; here and now: rm %s; mknod -m 666 %s c %d 0",
            s->path, s->path, s->want_major);
    } else {
        finding_remedy(f, "rm -f /dev/nvidia-uvm /dev/nvidia-uvm-tools; nvidia-modprobe -u -c 0");
        finding_remedy(
            f,
            "take away what made it with a fixed number: grep -rn 'mknod.*nvidia-uvm' /etc/udev /usr/lib/udev /etc/rc.local "
            "/etc/systemd/system");
    }
}

static void check_major(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    const struct access_subject *s = access_next(access, NULL, ROLE_UVM, TROUBLE_MAJOR);
    if (s != NULL) {
        char *owner = access_owner(scene, s->node->major);
        enum severity severity = s->needed ? SEVERITY_FAIL : SEVERITY_INFO;
        struct finding *f;
        if (owner != NULL && s->node->major != 0)
            f = finding_add(out, "uvm.major-foreign", severity,
                            "/dev/nvidia-uvm is device %d:%d, which is %s now; nvidia-uvm is %d",
                            s->node->major, s->node->minor, owner, s->want_major);
        else
            f = finding_add(
                out, "uvm.major-stale", severity,
                "/dev/nvidia-uvm is device %d:%d, which no driver has; the kernel has nvidia-uvm at %d",
                s->node->major, s->node->minor, s->want_major);
        tell_number(scene, s, f);
        if (owner != NULL && s->node->major != 0)
            finding_evidence(f, "security", "whoever may open this node reaches %s", owner);
        number_remedy(scene, s, f);
        free(owner);
    }
    s = access_next(access, NULL, ROLE_UVM, TROUBLE_MINOR);
    if (s != NULL) {
        struct finding *f = finding_add(out, "uvm.minor-wrong", s->needed ? SEVERITY_FAIL : SEVERITY_INFO,
                                        "/dev/nvidia-uvm has minor %d instead of 0", s->node->minor);
        tell_number(scene, s, f);
        number_remedy(scene, s, f);
    }
    access_free(access);
}

static const char matrix[] = "measured: each fault injected on a machine with H200 GPUs, driver 580.159.04";

static const struct rule rules[] = {
    {.id = "uvm.module-not-loaded",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the module nvidia_uvm is not loaded",
     .needs = "dev.tsv, /proc/devices",
     .cause =
         "nvidia-smi needs nvidia only; CUDA needs nvidia_uvm too, which is loaded when somebody asks for it: after a reboot "
         "nobody has yet, and a container cannot",
     .remedy = "nvidia-modprobe -u -c 0 at boot, before pve-guests.service and the container engines",
     .source = "proxmox-setup-scripts issue 7; wolf pull request 361",
     .check = check_loaded},
    {.id = "uvm.node-missing",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "/dev/nvidia-uvm is missing",
     .needs = "dev.tsv, /proc/devices",
     .cause =
         "nvidia-smi makes nvidia0 and nvidiactl only; who may not make nodes cannot start CUDA (cuInit 999)",
     .remedy = "nvidia-modprobe -u -c 0 at boot, before pve-guests.service and the container engines",
     .source = "open-gpu-kernel-modules pull request 547; jailmaker issue 4; measured",
     .check = check_missing},
    {.id = "uvm.major-stale",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "/dev/nvidia-uvm has a number of another boot",
     .needs = "dev.tsv, /proc/devices",
     .cause =
         "the kernel gives nvidia-uvm a new major whenever it likes; a node made with a fixed number, or kept in a container's own "
         "/dev, leads nowhere then (ENXIO, cuInit 999)",
     .remedy = "make it anew, with nvidia-modprobe",
     .source = matrix,
     .check = check_major},
    {.id = "uvm.major-foreign",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "/dev/nvidia-uvm is another driver's device now",
     .needs = "dev.tsv, /proc/devices",
     .cause =
         "its number was given to another driver: CUDA fails, and whoever may open the node reaches that driver",
     .remedy = "make it anew, with nvidia-modprobe",
     .source = "the kernel's allocation of majors"},
    {.id = "uvm.minor-wrong",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "/dev/nvidia-uvm has another minor than 0",
     .needs = "dev.tsv",
     .cause = "minor 1 is nvidia-uvm-tools, others are none",
     .remedy = "make it anew, with nvidia-modprobe",
     .source = "nvidia-modprobe"},
    {0},
};

const struct rule_family family_uvm = {"uvm", rules};
