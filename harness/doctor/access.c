/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/access.h"

#include "base/mem.h"
#include "system/cgroup.h"
#include "system/gpus.h"
#include "system/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- who asks ---- */

static void take_groups(struct access_caller *caller, const char *text) {
    struct strings words = {0};
    strings_split(&words, text, ' ');
    caller->groups_known = true;
    for (size_t i = 0; i < words.count && caller->n_groups < 256; i++) {
        int64_t group;
        if (text_to_int(text_trim(words.items[i]), &group))
            caller->groups[caller->n_groups++] = group;
    }
    strings_free(&words);
}

/* The effective id of a "Uid:" line. */
static int64_t effective(const char *status, const char *name) {
    char *line = look_field(status, name);
    long long real, id = -1;
    if (line != NULL && sscanf(line, "%lld %lld", &real, &id) != 2)
        id = -1;
    free(line);
    return id;
}

static void read_caller(const struct scene *scene, struct access_caller *out) {
    struct text status = {0};
    *out = (struct access_caller){.uid = js_get_int(scene->probes, "uid", -1),
                                  .gid = js_get_int(scene->probes, "gid", -1)};
    if (look_bytes(scene->source, "/proc/self/status", LOOK_LARGE, &status)) {
        out->uid = out->uid >= 0 ? out->uid : effective(text_string(&status), "Uid");
        out->gid = out->gid >= 0 ? out->gid : effective(text_string(&status), "Gid");
        char *groups = look_field(text_string(&status), "Groups");
        if (groups != NULL)
            take_groups(out, groups);
        free(groups);
    }
    text_free(&status);
    char *map = look_text(scene->source, "/proc/self/uid_map");
    long long inside, outside, count;
    if (map != NULL && sscanf(map, "%lld %lld %lld", &inside, &outside, &count) == 3)
        out->user_namespace = inside != 0 || outside != 0 || count < 4294967295LL;
    free(map);
}

/* Owner, group or others: the first that fits decides, as in the kernel without its privileges. False where
 * it cannot be known. */
static bool mode_refuses(const struct access_caller *caller, const struct device_node *node) {
    if (node->mode < 0 || caller->uid < 0)
        return false;
    int bits = node->mode & 07;
    bool in_group = caller->gid == node->gid;
    for (size_t i = 0; i < caller->n_groups; i++)
        in_group = in_group || caller->groups[i] == node->gid;
    if (caller->uid == node->uid)
        bits = node->mode >> 6 & 07;
    else if (in_group)
        bits = node->mode >> 3 & 07;
    return (bits & 06) != 06;
}

/* ---- the GPUs ---- */

static struct access_gpu *gpu_at(struct access *a, const char *bdf) {
    char lower[20];
    size_t n = 0;
    for (; bdf[n] != '\0' && n < sizeof lower - 1; n++)
        lower[n] = (char)(bdf[n] >= 'A' && bdf[n] <= 'F' ? bdf[n] + 32 : bdf[n]);
    lower[n] = '\0';
    for (size_t i = 0; i < a->n_gpus; i++)
        if (strcmp(a->gpus[i].bdf, lower) == 0)
            return &a->gpus[i];
    if (a->n_gpus == ACCESS_MAX_GPUS)
        return NULL;
    struct access_gpu *gpu = &a->gpus[a->n_gpus++];
    *gpu = (struct access_gpu){.minor = -1};
    memcpy(gpu->bdf, lower, sizeof lower);
    return gpu;
}

static void take_information(struct access *a, const char *bdf) {
    struct text path = {0}, text = {0};
    struct access_gpu *gpu = gpu_at(a, bdf);
    text_addf(&path, "/proc/driver/nvidia/gpus/%s/information", bdf);
    if (gpu != NULL && look_bytes(a->scene->source, text_string(&path), LOOK_LARGE, &text)) {
        char *minor = look_field(text_string(&text), "Device Minor");
        char *uuid = look_field(text_string(&text), "GPU UUID");
        int64_t number;
        gpu->in_proc = true;
        if (minor != NULL && text_to_int(minor, &number) && number >= 0 && number < 256)
            gpu->minor = (int)number;
        snprintf(gpu->uuid, sizeof gpu->uuid, "%.63s", uuid == NULL ? "" : uuid);
        free(minor);
        free(uuid);
    }
    text_free(&text);
    text_free(&path);
}

static int by_bdf(const void *first, const void *second) {
    return strcmp(((const struct access_gpu *)first)->bdf, ((const struct access_gpu *)second)->bdf);
}

static void read_gpus(struct access *a) {
    const struct scene *scene = a->scene;
    for (size_t i = 0; i < scene->facts->n_pci; i++) {
        const struct pci_facts *pci = &scene->facts->pci[i];
        struct access_gpu *gpu = pci->gpu ? gpu_at(a, pci->bdf) : NULL;
        if (gpu == NULL)
            continue;
        gpu->bound = pci->driver.value != NULL && strcmp(pci->driver.value, "nvidia") == 0;
        gpu->of_vm = pci->driver.value != NULL && !gpu->bound;
    }
    struct strings names = {0};
    look_list(scene->source, "/proc/driver/nvidia/gpus", &names);
    for (size_t i = 0; i < names.count; i++)
        take_information(a, names.items[i]);
    strings_free(&names);
    const js *list = js_get(scene->probes, "gpus");
    for (size_t i = 0; i < js_length(list); i++) {
        const js *one = js_at(list, i);
        char bdf[16];
        struct access_gpu *gpu = gpu_bdf(js_get_string(one, "bdf", ""), bdf) ? gpu_at(a, bdf) : NULL;
        a->mig = a->mig || js_get_bool(one, "mig", false);
        if (gpu == NULL)
            continue;
        gpu->in_nvml = js_get_string(one, "unusable", NULL) == NULL;
        if (gpu->minor < 0)
            gpu->minor = (int)js_get_int(one, "minor", -1);
        if (gpu->uuid[0] == '\0')
            snprintf(gpu->uuid, sizeof gpu->uuid, "%.63s", js_get_string(one, "uuid", ""));
    }
    qsort(a->gpus, a->n_gpus, sizeof *a->gpus, by_bdf);
}

/* ---- which are asked for ---- */

/* The number at the end of "/dev/nvidia0"; -1: none. */
static int number_after(const char *path, const char *prefix) {
    int64_t number;
    bool good = text_starts(path, prefix) && path[strlen(prefix)] >= '0' && path[strlen(prefix)] <= '9' &&
                text_to_int(path + strlen(prefix), &number);
    return good && number < 1 << 20 ? (int)number : -1;
}

static const struct device_node *gpu_node(const struct access *a, int minor) {
    char path[32];
    snprintf(path, sizeof path, "/dev/nvidia%d", minor);
    return minor < 0 ? NULL : device_nodes_find(a->scene->nodes, path);
}

static const char *variable(const struct scene *scene, const char *name) {
    return js_get_string(js_get(scene->probes, "env"), name, NULL);
}

/* One word of NVIDIA_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES: a UUID (or how one begins), or an index. CDI's
 * name of a GPU has it after the kind: "nvidia.com/gpu=1". */
static void ask_by_word(struct access *a, const char *word, const char *by, bool indices) {
    const char *equals = indices && strchr(word, '/') != NULL ? strchr(word, '=') : NULL;
    word = equals != NULL ? equals + 1 : word;
    int64_t index;
    bool is_index = text_to_int(word, &index);
    for (size_t i = 0; i < a->n_gpus; i++) {
        struct access_gpu *gpu = &a->gpus[i];
        bool named = strlen(word) > 4 && text_starts(word, "GPU-") && text_starts(gpu->uuid, word);
        named = named || strcmp(word, gpu->bdf) == 0 || (indices && is_index && index == (int64_t)i);
        if ((named || strcmp(word, "all") == 0) && gpu->asked_by == NULL && !gpu->of_vm)
            gpu->asked_by = by;
    }
}

static void ask_by_variable(struct access *a, const char *name, const char *by, bool indices) {
    struct strings words = {0};
    const char *value = variable(a->scene, name);
    strings_split(&words, value == NULL ? "" : value, ',');
    for (size_t i = 0; i < words.count; i++)
        ask_by_word(a, text_trim(words.items[i]), by, indices);
    strings_free(&words);
}

/* CUDA counts what it sees. An index beyond the nodes that are here was meant as the host's, and the first
 * GPU of the list that has no node here is the one at which CUDA stops. */
static void ask_by_count(struct access *a) {
    struct strings words = {0};
    const char *value = variable(a->scene, "CUDA_VISIBLE_DEVICES");
    size_t here = 0;
    bool beyond = false;
    struct access_gpu *missing = NULL;
    for (size_t i = 0; i < a->n_gpus; i++)
        here += gpu_node(a, a->gpus[i].minor) != NULL;
    strings_split(&words, value == NULL ? "" : value, ',');
    for (size_t i = 0; i < words.count; i++) {
        int64_t index;
        if (!text_to_int(text_trim(words.items[i]), &index) || index < 0)
            break;
        if (index >= (int64_t)a->n_gpus) { /* no GPU of the host's either: it counts something else */
            beyond = false;
            break;
        }
        struct access_gpu *gpu = &a->gpus[index];
        beyond = beyond || index >= (int64_t)here;
        if (missing == NULL && gpu->asked_by == NULL && gpu->minor >= 0 && gpu_node(a, gpu->minor) == NULL)
            missing = gpu;
    }
    strings_free(&words);
    if (here > 0 && beyond && missing != NULL)
        missing->asked_by = ACCESS_COUNTED;
}

static void find_asked(struct access *a) {
    const struct scene *scene = a->scene;
    for (size_t i = 0; i < a->n_gpus; i++) {
        struct access_gpu *gpu = &a->gpus[i];
        if (!scene->container && (gpu->bound || (gpu->in_proc && !gpu->of_vm)))
            gpu->asked_by = "it is bound to the nvidia driver";
        else if (scene->container && gpu_node(a, gpu->minor) != NULL)
            gpu->asked_by = "its node is here";
    }
    if (scene->container) {
        ask_by_variable(a, "NVIDIA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES names it", true);
        ask_by_variable(a, "CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES names it", false);
        ask_by_count(a);
    }
    a->wanted = device_nodes_find(scene->nodes, "/dev/nvidiactl") != NULL;
    for (size_t i = 0; i < a->n_gpus; i++)
        a->wanted = a->wanted || a->gpus[i].asked_by != NULL;
    for (size_t i = 0; i < scene->nodes->count; i++)
        a->wanted = a->wanted || number_after(scene->nodes->items[i].path, "/dev/nvidia") >= 0;
}

/* ---- the nodes ---- */

static const char *const ctl_names[] = {"nvidiactl", "nvidia-frontend", "nvidia", NULL};
static const char *const gpu_names[] = {"nvidia", "nvidia-frontend", NULL};
static const char *const uvm_names[] = {"nvidia-uvm", NULL};
static const char *const modeset_names[] = {"nvidia-modeset", "nvidia-frontend", "nvidia", NULL};
static const char *const caps_names[] = {"nvidia-caps", NULL};

static void add_subject(struct access *a, enum access_role role, const char *path, const char *const *names,
                        int minor, bool needed) {
    if (a->n_subjects == ACCESS_MAX_SUBJECTS)
        return;
    a->subjects = mem_grow(a->subjects, a->n_subjects, &a->room_for_subjects, sizeof *a->subjects);
    struct access_subject *subject = &a->subjects[a->n_subjects++];
    *subject = (struct access_subject){.role = role, .want_minor = minor, .needed = needed};
    snprintf(subject->path, sizeof subject->path, "%s", path);
    subject->node = device_nodes_find(a->scene->nodes, path);
    if (subject->node != NULL && subject->node->made_by_probe)
        subject->node = NULL;
    subject->want_major = access_major(a->scene, names);
    if (!a->numbers && subject->node != NULL && subject->node->minor == minor)
        subject->want_major = subject->node->major;
    for (size_t i = 0; role == ROLE_GPU && i < a->n_gpus; i++)
        if (a->gpus[i].minor == minor)
            subject->gpu = &a->gpus[i];
}

static void list_subjects(struct access *a) {
    add_subject(a, ROLE_CTL, "/dev/nvidiactl", ctl_names, 255, a->wanted);
    add_subject(a, ROLE_UVM, "/dev/nvidia-uvm", uvm_names, 0, a->wanted);
    for (size_t i = 0; i < a->n_gpus; i++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", a->gpus[i].minor);
        if (a->gpus[i].minor >= 0 && a->gpus[i].asked_by != NULL)
            add_subject(a, ROLE_GPU, path, gpu_names, a->gpus[i].minor, true);
    }
    for (size_t i = 0; i < a->scene->nodes->count; i++) {
        const char *path = a->scene->nodes->items[i].path;
        int minor = number_after(path, "/dev/nvidia");
        int cap = number_after(path, "/dev/nvidia-caps/nvidia-cap");
        bool known = false;
        for (size_t k = 0; minor >= 0 && k < a->n_gpus; k++)
            known = known || a->gpus[k].minor == minor;
        if (minor >= 0 && !known) /* nothing says which GPU it is */
            add_subject(a, ROLE_GPU, path, gpu_names, minor, a->scene->container);
        else if (cap >= 0)
            add_subject(a, ROLE_CAP, path, caps_names, cap, false);
    }
    add_subject(a, ROLE_OPTIONAL, "/dev/nvidia-uvm-tools", uvm_names, 1, false);
    add_subject(a, ROLE_OPTIONAL, "/dev/nvidia-modeset", modeset_names, 254, false);
}

/* ---- what is wrong with one ---- */

static enum access_trouble refused(const struct access *a, const struct access_subject *s) {
    char *line = NULL;
    bool nodev = access_nodev(a->scene, s->path, &line);
    free(line);
    if (nodev)
        return TROUBLE_NODEV;
    if (!mode_refuses(&a->caller, s->node) && s->node->mode >= 0 && a->caller.uid >= 0)
        return TROUBLE_LSM;
    enum { OVERFLOW_ID = 65534 };
    bool unmapped = a->caller.user_namespace && (s->node->uid == OVERFLOW_ID || s->node->gid == OVERFLOW_ID);
    return unmapped ? TROUBLE_UNMAPPED : TROUBLE_MODE;
}

static enum access_trouble judge_open(const struct access *a, const struct access_subject *s) {
    const char *open = s->node->open;
    if (strcmp(open, "ok") == 0)
        return TROUBLE_NONE;
    if (open[0] == '\0') { /* not tried: what the bits say, as far as they say it */
        bool root = a->caller.uid == 0 && !a->caller.user_namespace;
        return !root && a->caller.groups_known && mode_refuses(&a->caller, s->node) ? refused(a, s)
                                                                                    : TROUBLE_UNKNOWN;
    }
    if (strcmp(open, "EPERM") == 0)
        return TROUBLE_CGROUP;
    /* Our own limit of open files, which the limits' rules tell; nothing was learned of the node. */
    if (strcmp(open, "EMFILE") == 0 || strcmp(open, "ENFILE") == 0)
        return TROUBLE_NONE;
    if (strcmp(open, "EACCES") == 0)
        return refused(a, s);
    if (strcmp(open, "ENOENT") == 0)
        return TROUBLE_MISSING;
    return TROUBLE_ERROR;
}

static enum access_trouble judge(const struct access *a, const struct access_subject *s) {
    const struct device_node *node = s->node;
    if (!a->numbers && node == NULL)
        return TROUBLE_UNKNOWN;
    if (a->numbers && s->want_major < 0 && a->driver)
        return s->role == ROLE_UVM || node != NULL ? TROUBLE_UNREGISTERED : TROUBLE_NONE;
    if (node == NULL)
        return TROUBLE_MISSING;
    if (strcmp(node->open, "timeout") == 0)
        return TROUBLE_HANG;
    if (node->type != 'c' && node->type != '?' && !(node->type == 'l' && strcmp(node->open, "ok") == 0))
        return TROUBLE_NOT_DEVICE;
    if (node->major >= 0 && s->want_major >= 0 && node->major != s->want_major)
        return TROUBLE_MAJOR;
    if (node->minor >= 0 && node->minor != s->want_minor)
        return TROUBLE_MINOR;
    return judge_open(a, s);
}

/* A node that does not exist, has a wrong number, or is shut by its mode (which the kernel asks first), tells
 * nothing of the group's rules: what was found by trying, or what the v1 list says. */
static bool is_denied(const struct access *a, const struct access_subject *s) {
    const char *open = s->node == NULL ? "" : s->node->open;
    bool right = s->node != NULL && s->node->major == s->want_major && s->node->minor == s->want_minor;
    if (right && open[0] != '\0' && strcmp(open, "EACCES") != 0)
        return strcmp(open, "EPERM") == 0;
    if (s->want_major < 0)
        return false;
    if (a->v1_list != NULL && !access_v1_allows(a->v1_list, s->want_major, s->want_minor))
        return true;
    const js *tried = js_get(js_get(a->scene->probes, "device_cgroup"), "tried");
    for (size_t i = 0; i < js_length(tried); i++) {
        const js *one = js_at(tried, i);
        if (js_get_int(one, "major", -1) == s->want_major && js_get_int(one, "minor", -1) == s->want_minor)
            return strcmp(js_get_string(one, "open", ""), "EPERM") == 0;
    }
    return false;
}

static void read_v1(struct access *a) {
    static const char usual[] = "/sys/fs/cgroup/devices/devices.list";
    struct cgroup_place place;
    if (cgroup_find(a->scene->source, "devices", &place)) {
        struct text file = {0};
        text_addf(&file, "%s%s/devices.list", place.mount, place.path);
        a->v1_list = place.v2 ? NULL : cgroup_text(a->scene->source, &place, "devices.list");
        a->v1_file = text_take(&file);
        cgroup_place_free(&place);
    }
    if (a->v1_list == NULL) {
        free(a->v1_file);
        a->v1_list = look_text(a->scene->source, usual);
        a->v1_file = mem_copy_string(usual);
    }
}

static struct access *work_out(const struct scene *scene) {
    struct access *a = mem_zeroed(1, sizeof *a);
    a->scene = scene;
    a->room_for_subjects = 16;
    a->subjects =
        mem_zeroed(a->room_for_subjects, sizeof *a->subjects); /* never NULL: it is walked by pointers */
    a->numbers = look_exists(scene->source, "/proc/devices");
    read_caller(scene, &a->caller);
    read_gpus(a);
    find_asked(a);
    a->driver = a->numbers ? access_major(scene, ctl_names) >= 0 : a->wanted;
    read_v1(a);
    if (a->driver)
        list_subjects(a);
    for (size_t i = 0; i < a->n_subjects; i++) {
        a->subjects[i].trouble = judge(a, &a->subjects[i]);
        a->subjects[i].denied = is_denied(a, &a->subjects[i]);
        if (a->subjects[i].denied && a->subjects[i].trouble == TROUBLE_UNKNOWN)
            a->subjects[i].trouble = TROUBLE_CGROUP;
    }
    return a;
}

struct access *access_read(const struct scene *scene) {
    if (!scene->nodes->known)
        return NULL;
    struct access *a = scene->access != NULL && *scene->access != NULL ? *scene->access : work_out(scene);
    a->scene = scene;
    a->kept = scene->access != NULL;
    if (a->kept)
        *scene->access = a;
    return a;
}

static void release(struct access *a) {
    free(a->subjects);
    free(a->v1_list);
    free(a->v1_file);
    free(a);
}

void access_free(struct access *a) {
    if (a != NULL && !a->kept)
        release(a);
}

void access_forget(const struct scene *scene) {
    if (scene->access != NULL && *scene->access != NULL) {
        release(*scene->access);
        *scene->access = NULL;
    }
}

const struct access_subject *access_next(const struct access *a, const struct access_subject *previous,
                                         enum access_role role, enum access_trouble trouble) {
    if (a == NULL)
        return NULL;
    for (const struct access_subject *s = previous == NULL ? a->subjects : previous + 1;
         s < a->subjects + a->n_subjects; s++)
        if (s->role == role && s->trouble == trouble)
            return s;
    return NULL;
}

static const char *type_word(char type) {
    switch (type) {
    case 'c':
        return "character device";
    case 'b':
        return "block device";
    case 'f':
        return "regular file";
    case 'd':
        return "folder (directory)";
    case 'l':
        return "link that leads nowhere";
    case 's':
        return "socket";
    case 'p':
        return "pipe";
    default:
        return "unknown type";
    }
}

void access_evidence(struct finding *finding, const struct access_subject *s) {
    const struct device_node *node = s->node;
    if (node == NULL) {
        finding_evidence(finding, s->path, "no such node (ENOENT)%s%s%s", s->gpu != NULL ? ", GPU " : "",
                         s->gpu != NULL ? s->gpu->bdf : "",
                         s->denied ? "; the device cgroup denies it too" : "");
        return;
    }
    struct text text = {0};
    text_add(&text, type_word(node->type));
    if (node->major >= 0)
        text_addf(&text, " %d:%d", node->major, node->minor);
    if (node->mode >= 0)
        text_addf(&text, ", mode %04o", (unsigned)node->mode);
    if (node->uid >= 0)
        text_addf(&text, ", owner %lld:%lld", (long long)node->uid, (long long)node->gid);
    if (node->open[0] != '\0')
        text_addf(&text, ", open() answers %s", node->open);
    if (s->gpu != NULL && s->gpu->bdf[0] != '\0')
        text_addf(&text, ", for GPU %s", s->gpu->bdf);
    finding_evidence(finding, s->path, "%s", text_string(&text));
    text_free(&text);
}
