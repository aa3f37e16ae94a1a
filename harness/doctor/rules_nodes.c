/* SPDX-License-Identifier: Apache-2.0 */
/* Device nodes: there, a device, the right one, and open to whoever asks. */
#include "doctor/access.h"
#include "doctor/lost.h"
#include "doctor/majors.h"
#include "doctor/nodes_optional.h"
#include "doctor/shell_word.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

static const enum access_role roles[] = {ROLE_CTL, ROLE_UVM, ROLE_GPU, ROLE_CAP, ROLE_OPTIONAL};
enum { N_ROLES = sizeof roles / sizeof *roles };

/* Every needed node with a trouble as one finding: title (of the first), evidence of all. NULL: none. */
static struct finding *gather(const struct access *access, enum access_trouble trouble, const char *id,
                              const char *what, struct findings *out) {
    struct finding *finding = NULL;
    size_t count = 0;
    for (size_t r = 0; r < N_ROLES; r++)
        for (const struct access_subject *s = NULL;
             (s = access_next(access, s, roles[r], trouble)) != NULL;) {
            if (!s->needed)
                continue;
            if (finding == NULL)
                finding = finding_add(out, id, SEVERITY_FAIL, "%s %s", s->path, what);
            access_evidence(finding, s);
            count++;
        }
    (void)count;
    return finding;
}

/* ---- hangs, odd types ---- */

static bool was_answered(const struct scene *scene) {
    int code = -1;
    return scene_probe(scene, "cuInit", &code) == PROBE_ANSWERED && code == 0;
}

static void check_hang(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    /* A GPU that nothing keeps awake may take longer to start than a look may take. */
    struct finding *finding = was_answered(scene) ? NULL
                                                  : gather(access, TROUBLE_HANG, "nodes.hang",
                                                           "does not answer: stat or open hangs", out);
    if (finding != NULL) {
        finding_remedy(finding,
                       "look for the process stuck in the driver: ps -eo pid,stat,wchan:32,cmd | grep ' D'");
        finding_remedy(finding, "look for what the driver says: dmesg | grep -E 'NVRM|Xid|blocked for more'");
        finding_remedy(
            finding,
            "a node on a dead file system: see findmnt -T PATH, umount -l it; a stuck driver: reboot");
    }
    for (size_t i = 0; i < scene->nodes->count && finding == NULL; i++) {
        const struct device_node *node = &scene->nodes->items[i];
        if (strcmp(node->open, "timeout") != 0 || (access != NULL && text_starts(node->path, "/dev/nvidia")))
            continue;
        bool all = strcmp(node->path, "/dev") == 0;
        finding = finding_add(out, "nodes.hang", all ? SEVERITY_FAIL : SEVERITY_WARN,
                              "%s does not answer: stat or open hangs", node->path);
        finding_evidence(finding, node->path, "no answer in time");
        finding_remedy(finding, "findmnt -T %s; umount -l what is dead there", node->path);
    }
    access_free(access);
}

static void check_mounts(const struct scene *scene, struct findings *out) {
    const js *dead = js_get(scene->probes, "dead_mounts");
    for (size_t i = 0; i < js_length(dead); i++) {
        const char *point = js_string(js_at(dead, i), "?");
        struct finding *f = finding_add(out, "nodes.mount-dead", SEVERITY_WARN,
                                        "the file system mounted at %s does not answer", point);
        finding_evidence(f, point, "stat does not return");
        char buffer[512];
        finding_remedy(f, "bring its server back, or umount -l %s", shell_word(point, buffer, sizeof buffer));
    }
}

static void check_type(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    for (size_t r = 0; r < N_ROLES; r++)
        for (const struct access_subject *s = NULL;
             (s = access_next(access, s, roles[r], TROUBLE_NOT_DEVICE)) != NULL;) {
            const char *kind = s->node->type == 'f'   ? "a regular file"
                               : s->node->type == 'd' ? "a folder (directory)"
                               : s->node->type == 'b' ? "a block device"
                               : s->node->type == 'l' ? "a link that leads nowhere"
                                                      : "no device";
            struct finding *f =
                finding_add(out, "nodes.not-a-device", s->needed ? SEVERITY_FAIL : SEVERITY_INFO,
                            "%s is %s, not the character device that it must be", s->path, kind);
            access_evidence(f, s);
            if (scene->container) {
                finding_remedy(
                    f,
                    "on the host: nvidia-modprobe -u -c 0 (the host's node must exist before the container starts)");
                finding_remedy(
                    f,
                    "stop the container, then remove what stands there in its root file system: rm -r ROOTFS%s",
                    s->path);
                finding_remedy(
                    f,
                    "start the container again; lasting: in an LXC configuration \"create=file\" makes such a "
                    "file whenever the host's node is missing: use dev0: entries (Proxmox VE 8.2 or newer), or make the nodes at boot");
            } else {
                finding_remedy(f, s->node->type == 'd' ? "rmdir %s (rm -r if it holds something)" : "rm %s",
                               s->path);
                finding_remedy(f, "%s",
                               s->role == ROLE_UVM || s->role == ROLE_OPTIONAL ? "nvidia-modprobe -u -c 0"
                               : s->role == ROLE_GPU                           ? "nvidia-modprobe -c MINOR"
                                                                               : "nvidia-modprobe");
            }
        }
    access_free(access);
}

/* ---- missing, wrong numbers: the nodes of major 195 ---- */

static void check_ctl(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    const struct access_subject *s = access_next(access, NULL, ROLE_CTL, TROUBLE_MISSING);
    bool any_gpu = false;
    for (size_t i = 0; access != NULL && i < access->n_subjects; i++)
        any_gpu = any_gpu || (access->subjects[i].role == ROLE_GPU && access->subjects[i].node != NULL);
    if (s != NULL && (any_gpu || s->needed)) {
        /* Root's libraries make it for themselves where the device cgroup lets them; nobody else's do. */
        bool made = was_answered(scene);
        struct finding *f =
            finding_add(out, "nodes.ctl-missing", made ? SEVERITY_INFO : SEVERITY_FAIL,
                        made ? "/dev/nvidiactl is missing; root's CUDA makes it, other users find no GPU"
                             : "/dev/nvidiactl is missing, so that no program finds a GPU");
        access_evidence(f, s);
        if (scene->container)
            finding_remedy(
                f,
                "give the container the host's /dev/nvidiactl (%d:255) and start it again: docker/podman --gpus "
                "or --device /dev/nvidiactl; LXC: dev0: /dev/nvidiactl, or lxc.mount.entry = /dev/nvidiactl "
                "dev/nvidiactl none bind,optional,create=file 0 0",
                s->want_major);
        else
            finding_remedy(f, "nvidia-modprobe (or once: nvidia-smi, as root)");
    }
    access_free(access);
}

static void check_gpu_missing(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    for (const struct access_subject *s = NULL;
         (s = access_next(access, s, ROLE_GPU, TROUBLE_MISSING)) != NULL;) {
        if (s->gpu == NULL)
            continue;
        bool works = was_answered(scene) && s->gpu->in_nvml;
        char words[LOST_SIZE];
        struct finding *f =
            works ? finding_add(out, "nodes.gpu-missing", SEVERITY_INFO,
                                "%s is missing; root's CUDA makes it, other users lose GPU %s", s->path,
                                s->gpu->bdf)
                  : finding_add(out, "nodes.gpu-missing", SEVERITY_FAIL, "%s, of GPU %s, is missing: %s",
                                s->path, s->gpu->bdf, lost_words(scene, words));
        access_evidence(f, s);
        finding_evidence(f, s->gpu->bdf, "asked for: %s", s->gpu->asked_by);
        if (scene->container)
            finding_remedy(
                f,
                "give the container the host's %s (%d:%d) and start it again: docker/podman --device %s; "
                "Proxmox VE: pct set ID --dev0 %s",
                s->path, s->want_major, s->want_minor, s->path, s->path);
        else
            finding_remedy(f, "nvidia-modprobe -c %d", s->want_minor);
    }
    access_free(access);
}

static void major_finding(const struct scene *scene, const struct access_subject *s, struct findings *out) {
    char *owner = s->node->major > 0 ? access_owner(scene, s->node->major) : NULL;
    struct finding *f =
        finding_add(out, "nodes.major-wrong", s->needed ? SEVERITY_FAIL : SEVERITY_INFO,
                    "%s is device %d:%d%s%s%s, but the kernel has this driver at major %d", s->path,
                    s->node->major, s->node->minor, owner != NULL ? ", which is " : "",
                    owner != NULL ? owner : "", owner != NULL ? " now" : "", s->want_major);
    access_evidence(f, s);
    finding_evidence(f, "/proc/devices", "%d", s->want_major);
    if (owner != NULL)
        finding_evidence(f, "security", "whoever may open this node reaches %s", owner);
    finding_remedy(f, "rm %s; mknod -m 666 %s c %d %d", s->path, s->path, s->want_major, s->want_minor);
    free(owner);
}

static void check_numbers(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    for (size_t r = 0; r < N_ROLES; r++)
        for (const struct access_subject *s = NULL;
             roles[r] != ROLE_UVM && (s = access_next(access, s, roles[r], TROUBLE_MAJOR)) != NULL;)
            major_finding(scene, s, out);
    for (size_t r = 0; r < N_ROLES; r++)
        for (const struct access_subject *s = NULL;
             roles[r] != ROLE_UVM && (s = access_next(access, s, roles[r], TROUBLE_MINOR)) != NULL;) {
            bool known = false;
            for (size_t i = 0; i < access->n_gpus; i++)
                known = known || access->gpus[i].minor == s->node->minor;
            bool gpu = s->role == ROLE_GPU;
            struct finding *f =
                finding_add(out, gpu && !known ? "nodes.minor-unknown" : "nodes.minor-wrong",
                            s->needed ? SEVERITY_FAIL : SEVERITY_INFO,
                            gpu && !known ? "%s is %d:%d: the driver has no GPU with minor %d%s%s"
                                          : "%s is %d:%d: minor %d belongs to another node%s%s",
                            s->path, s->node->major, s->node->minor, s->node->minor,
                            s->gpu != NULL ? "; lost is GPU " : "", s->gpu != NULL ? s->gpu->bdf : "");
            access_evidence(f, s);
            finding_remedy(f, "rm %s; mknod -m 666 %s c %d %d%s", s->path, s->path, s->want_major,
                           s->want_minor,
                           scene->container ? " (on the host, and start the container again)" : "");
        }
    access_free(access);
}

/* ---- closed ---- */

static void check_nodev(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    struct finding *f = gather(access, TROUBLE_NODEV, "nodes.nodev",
                               "cannot be opened: it lies on a file system mounted nodev (EACCES)", out);
    if (f != NULL) {
        char *line = NULL;
        access_nodev(scene, f->evidence[0].path, &line);
        finding_evidence(f, "/proc/self/mountinfo", "%s", line == NULL ? "" : line);
        free(line);
        finding_remedy(
            f,
            "mount -o remount,dev $(findmnt -no TARGET -T %s), or take nodev out of its line in /etc/fstab, of the "
            "container's mount entry, or of the tmpfs option",
            f->evidence[0].path);
    }
    access_free(access);
}

static void check_unmapped(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    struct finding *f = gather(
        access, TROUBLE_UNMAPPED, "nodes.id-unmapped",
        "belongs to an id that is not mapped into this user namespace (nobody:nogroup), and its mode shuts others out",
        out);
    if (f != NULL) {
        char *first = f->evidence[0].path;
        finding_evidence(f, "/proc/self/uid_map, /proc/self/gid_map",
                         "the host's owner or group (65534 here) is not in the map");
        if (strcmp(scene->manager, "podman") == 0)
            finding_remedy(
                f,
                "podman run --group-add keep-groups … (with crun), where the user outside is in the node's group");
        if (strcmp(scene->manager, "docker") == 0)
            finding_remedy(
                f, "docker run --userns=host … for this container alone; its price: without the map of "
                   "userns-remap its root is the host's");
        if (strcmp(scene->manager, "lxc") == 0) {
            finding_remedy(
                f,
                "Proxmox VE: pct set ID --dev0 %s,mode=0666 (or gid=GID, the group's number inside), for each node",
                first);
            finding_remedy(
                f,
                "plain LXC: map the group: lxc.idmap = g GID_INSIDE GID_HOST 1 (and root:GID_HOST:1 in /etc/subgid)");
        }
        finding_remedy(
            f,
            "or on the host, for everybody: chmod 0666 /dev/nvidia*; lasting: options nvidia NVreg_DeviceFileMode=0666 "
            "in /etc/modprobe.d/nvidia.conf");
    }
    access_free(access);
}

static char *group_name(const struct scene *scene, int64_t gid) {
    struct text text = {0};
    struct strings lines = {0};
    char *found = NULL;
    if (look_bytes(scene->source, "/etc/group", LOOK_LARGE, &text))
        strings_split(&lines, text_string(&text), '\n');
    for (size_t i = 0; i < lines.count && found == NULL; i++) {
        struct strings cells = {0};
        int64_t number;
        strings_split(&cells, lines.items[i], ':');
        if (cells.count >= 3 && text_to_int(cells.items[2], &number) && number == gid)
            found = text_printable(cells.items[0]);
        strings_free(&cells);
    }
    strings_free(&lines);
    text_free(&text);
    return found;
}

/* 0666 written as decimal 666 is octal 1232. */
static bool is_decimal_mistake(int mode) {
    return mode == 666 || mode == 660 || mode == 777;
}

/* Groups inside are given from outside, when the container is made. */
static bool by_engine(const struct scene *scene) {
    return scene->container &&
           (strcmp(scene->manager, "docker") == 0 || strcmp(scene->manager, "podman") == 0);
}

static void mode_remedies(const struct scene *scene, const struct access_subject *s, struct finding *f) {
    bool in_group = (s->node->mode >> 3 & 06) == 06;
    char *group = group_name(scene, s->node->gid);
    if (is_decimal_mistake(s->node->mode))
        finding_remedy(
            f,
            "chmod 0666 %s: mode %04o is decimal %d read as octal; where it was set (NVreg_DeviceFileMode, a udev rule, "
            "lxc or dev0: mode=) write 0666, in octal",
            s->path, (unsigned)s->node->mode, s->node->mode);
    if (scene->container && in_group && s->node->gid == 0)
        finding_remedy(
            f,
            "give the node a group that the user inside is in: Proxmox VE: pct set ID --dev0 %s,gid=GID (GID: its "
            "number inside the container); LXD: gpu device with gid=GID; docker: --group-add",
            s->path);
    else if (in_group && s->node->gid > 0 && strcmp(scene->manager, "kubernetes") == 0)
        finding_remedy(f, "in the pod: securityContext: supplementalGroups: [%lld]%s%s%s",
                       (long long)s->node->gid, group != NULL ? "   (" : "", group != NULL ? group : "",
                       group != NULL ? ")" : "");
    else if (in_group && s->node->gid > 0 && by_engine(scene))
        finding_remedy(f, "%s run --group-add %lld …%s%s%s", scene->manager, (long long)s->node->gid,
                       group != NULL ? "   (" : "", group != NULL ? group : "", group != NULL ? ")" : "");
    else if (in_group && s->node->gid > 0)
        finding_remedy(f, "usermod -aG %s USER, and log in again (a service: SupplementaryGroups=%s)",
                       group != NULL ? group : "GROUP", group != NULL ? group : "GROUP");
    finding_remedy(
        f,
        "or for everybody%s: chmod 0666 /dev/nvidia*; lasting: options nvidia NVreg_DeviceFileMode=0666 "
        "in /etc/modprobe.d/nvidia.conf",
        scene->container ? ", on the host" : "");
    free(group);
}

static const struct access_subject *first_needed(const struct access *access, enum access_trouble trouble) {
    for (size_t i = 0; access != NULL && i < access->n_subjects; i++)
        if (access->subjects[i].needed && access->subjects[i].trouble == trouble)
            return &access->subjects[i];
    return NULL;
}

static void check_mode(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    const struct access_subject *first = first_needed(access, TROUBLE_MODE);
    struct finding *f = first == NULL ? NULL
                                      : gather(access, TROUBLE_MODE, "nodes.mode",
                                               "is closed to this user by its mode (EACCES)", out);
    if (f != NULL) {
        char *group = group_name(scene, first->node->gid);
        finding_cause(
            f,
            "mode %04o, owner %lld, group %lld%s%s%s do not let uid %lld read and write it; open() needs both",
            (unsigned)first->node->mode, (long long)first->node->uid, (long long)first->node->gid,
            group != NULL ? " (" : "", group != NULL ? group : "", group != NULL ? ")" : "",
            (long long)access->caller.uid);
        free(group);
        mode_remedies(scene, first, f);
    }
    access_free(access);
}

static void check_lsm(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    struct finding *f =
        gather(access, TROUBLE_LSM, "nodes.lsm",
               "is refused though mode, owner and mount allow it (EACCES): a security module", out);
    if (f != NULL) {
        char *label = access_label(scene);
        finding_evidence(f, "/proc/self/attr/current", "%s", label == NULL ? "not known" : label);
        if (label != NULL && strchr(label, ':') != NULL)
            finding_remedy(
                f,
                "SELinux: setsebool -P container_use_devices on, or run with --security-opt label=disable; see ausearch -m avc -ts recent");
        else
            finding_remedy(
                f,
                "AppArmor: let the profile read and write /dev/nvidia*, or lxc.apparmor.profile = unconfined / "
                "--security-opt apparmor=unconfined; see dmesg | grep DENIED");
        free(label);
    }
    access_free(access);
}

/* The driver's own answer. EIO is what nvidia_open says of a GPU that it cannot start or that is gone. */
static void driver_refuses(const struct scene *scene, const struct access_subject *s, struct finding *f) {
    bool gpu = s->role == ROLE_GPU;
    const char *bdf = s->gpu != NULL && s->gpu->bdf[0] != '\0' ? s->gpu->bdf : NULL;
    if (strcmp(s->node->open, "EIO") == 0)
        finding_cause(f, gpu ? "an I/O error of the driver: it could not start this GPU, or the GPU has "
                               "fallen off the bus (Xid 79); no device cgroup and no mode answers EIO"
                             : "an I/O error of the driver: the module did not start as a whole; no device "
                               "cgroup and no mode answers EIO");
    finding_remedy(f, "the driver itself %s: dmesg | grep -E 'NVRM|Xid'%s",
                   strcmp(s->node->open, "EIO") == 0 ? "answers an I/O error" : "refuses",
                   gpu ? "; then reset or re-seat this GPU, or reload the driver" : "");
    if (gpu && scene->container)
        finding_remedy(
            f,
            "until it is mended, recreate this container without %s (no --privileged, no \"all\": name the "
            "good GPUs); where a bad one is in it CUDA may not start at all",
            s->path);
    if (gpu && bdf != NULL)
        finding_remedy(f, "lspci -s %s: \"rev ff\" there says that it does not answer on the bus any more",
                       bdf);
}

static void check_error(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    for (size_t r = 0; r < N_ROLES; r++)
        for (const struct access_subject *s = NULL;
             (s = access_next(access, s, roles[r], TROUBLE_ERROR)) != NULL;) {
            /* Where /proc/devices is known and has this number, it is no stale one. */
            bool unowned =
                strcmp(s->node->open, "ENXIO") == 0 && majors_name(scene, s->node->major)[0] == '\0';
            struct finding *f =
                finding_add(out, "nodes.open-error", s->needed ? SEVERITY_FAIL : SEVERITY_INFO,
                            unowned ? "no driver is behind the number of %s: open() answers %s"
                                    : "%s has the right numbers, but open() answers %s",
                            s->path, s->node->open);
            access_evidence(f, s);
            if (unowned) {
                finding_cause(f, "the major %d of the node is stale: the kernel gives the driver another now",
                              s->node->major);
                finding_remedy(f, "grep nvidia /proc/devices; then make the node anew with the number that "
                                  "stands there: nvidia-modprobe -u -c 0 on the host, and give it to the "
                                  "container by dev0:, --device or CDI");
                continue;
            }
            driver_refuses(scene, s, f);
        }
    access_free(access);
}

static const char needs_nodes[] = "dev.tsv, /proc/devices";
static const char matrix[] = "measured: each fault injected on a machine with H200 GPUs, driver 580.159.04";

static const struct rule rules[] = {
    {.id = "nodes.hang",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a device node does not answer",
     .needs = needs_nodes,
     .cause =
         "whoever touches the node waits for ever: the file system that it lies on is dead, or the driver is stuck",
     .remedy = "find the mount or the driver's stuck process, and end it",
     .source = "the kernel's behaviour",
     .check = check_hang},
    {.id = "nodes.mount-dead",
     .area = AREA_CUDA,
     .severity = SEVERITY_WARN,
     .title = "a mounted file system does not answer",
     .needs = "probes.json: dead_mounts",
     .cause =
         "whoever looks below it waits for ever: a program that loads a library or reads its data from there, too",
     .remedy = "bring its server back, or unmount it lazily",
     .source = "the kernel's behaviour",
     .check = check_mounts},
    {.id = "nodes.not-a-device",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "something else stands where a device node must be",
     .needs = needs_nodes,
     .cause =
         "a file or folder can be opened, so that only its type shows the fault; it is left where a bind mount with create=file "
         "found no node on the host, or where a volume was given as a path that did not exist",
     .remedy = "remove it, make the node on the host, start the container again",
     .source = matrix,
     .check = check_type},
    {.id = "nodes.ctl-missing",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "/dev/nvidiactl is missing",
     .needs = needs_nodes,
     .cause = "NVML and CUDA ask everything through this node: without it NVML answers 9 and cuInit 100",
     .remedy = "nvidia-modprobe on the host; give it to the container",
     .source = matrix,
     .check = check_ctl},
    {.id = "nodes.gpu-missing",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the node of a GPU that was asked for is missing",
     .needs = "dev.tsv, /proc/driver/nvidia/gpus",
     .cause =
         "CUDA and NVML leave a GPU whose node they cannot open out of the count, and say nothing as long as "
         "another is left; with none left cuInit answers 100",
     .remedy = "nvidia-modprobe -c MINOR; give it to the container",
     .source = matrix,
     .check = check_gpu_missing},
    {.id = "nodes.major-wrong",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a node has another major than the kernel gives its driver",
     .needs = needs_nodes,
     .cause =
         "the number of a node is fixed when it is made; the kernel gives numbers when the module is loaded",
     .remedy = "make it anew with the number of /proc/devices",
     .source = matrix,
     .check = check_numbers},
    {.id = "nodes.minor-unknown",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a GPU's node has a minor that no GPU has",
     .needs = "dev.tsv, /proc/driver/nvidia/gpus",
     .cause = "open() answers ENODEV, and the GPU is left out, without an error as long as another is left",
     .remedy = "make it anew with the minor of /proc/driver/nvidia/gpus/*/information",
     .source = matrix},
    {.id = "nodes.minor-wrong",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a node carries the minor of another one",
     .needs = needs_nodes,
     .cause =
         "it opens without an error, but it is another device than its name says, and the GPU of that name is lost",
     .remedy = "make it anew with the minor that its name says",
     .source = matrix},
    {.id = "nodes.nodev",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a node lies on a file system that is mounted nodev",
     .needs = "dev.tsv, /proc/self/mountinfo",
     .cause = "on such a mount no device can be opened, whatever its mode: EACCES",
     .remedy = "remount with dev",
     .source = "mount(8)",
     .check = check_nodev},
    {.id = "nodes.id-unmapped",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a node's owner or group is not mapped into this container",
     .needs = "dev.tsv, /proc/self/uid_map, the caller's ids",
     .cause =
         "an id without a map is nobody:nogroup here, which nobody can be or join; root of the container is not root of the host",
     .remedy =
         "map the group, give the node another group or mode for this container, or open it to everybody",
     .source = "nvidia-container-toolkit issue 210; lxd issue 11236",
     .check = check_unmapped},
    {.id = "nodes.mode",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a node's mode shuts this user out",
     .needs = "dev.tsv, the caller's ids",
     .cause = "open() needs reading and writing; EACCES is the mode, EPERM would be the device cgroup",
     .remedy = "join the group, or open the node to everybody",
     .source = matrix,
     .check = check_mode},
    {.id = "nodes.lsm",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a security module refuses a node",
     .needs = "dev.tsv, /proc/self/mountinfo, /proc/self/attr/current",
     .cause = "EACCES with a mode, an owner and a mount that allow it: AppArmor or SELinux decides",
     .remedy = "let its profile have /dev/nvidia*",
     .source = "apparmor(7), container-selinux",
     .check = check_lsm},
    {.id = "nodes.open-error",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the driver itself refuses to open a node",
     .needs = needs_nodes,
     .cause =
         "the numbers are right and the kernel lets it through: EIO, ENODEV and the like come from the driver, which could not "
         "start the GPU",
     .remedy = "see the kernel log",
     .source = "nvidia driver, nvidia_open",
     .check = check_error},
    {.id = "nodes.optional-missing",
     .area = AREA_CUDA,
     .severity = SEVERITY_INFO,
     .title = "a node is missing that CUDA does not need",
     .needs = needs_nodes,
     .cause =
         "each node is made by a flag of nvidia-modprobe of its own; -u, -l and -s do not go together in one call",
     .remedy =
         "nvidia-modprobe -m (modeset), -u -c 0 (uvm), -l (nvlink), -s -c 255 -c 0 (nvswitch), before the containers start",
     .source = "nvidia-modprobe's source; wolf pull request 361",
     .check = nodes_optional_check},
    {0},
};

const struct rule_family family_nodes = {"nodes", rules};
