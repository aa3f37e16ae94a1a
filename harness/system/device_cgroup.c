/* SPDX-License-Identifier: Apache-2.0 */
#include "system/device_cgroup.h"

#include "base/bounded.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/mem.h"
#include "system/cgroup.h"
#include "system/device_try.h"
#include "system/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t all_ns = 1500 * NS_PER_MS;
enum { MAX_CONTAINERS = 64, MAX_PIDS = 32768 };

/* ---- what is tried ---- */

static int major_of(const struct facts *facts, const char *const *names) {
    for (; *names != NULL; names++)
        for (size_t i = 0; i < facts->n_chrdevs; i++)
            if (strcmp(facts->chrdevs[i].name, *names) == 0)
                return facts->chrdevs[i].major;
    return -1;
}

static void wish(struct device_wishes *out, const char *path, int major, int minor) {
    if (major < 0 || out->count == DEVICE_MAX_WISHES)
        return;
    struct device_wish *one = &out->items[out->count++];
    snprintf(one->path, sizeof one->path, "%s", path);
    one->major = major;
    one->minor = minor;
}

static int gpu_minor(const struct source *source, const char *bdf) {
    struct text path = {0}, text = {0};
    int64_t minor = -1;
    text_addf(&path, "/proc/driver/nvidia/gpus/%s/information", bdf);
    if (look_bytes(source, text_string(&path), LOOK_SMALL, &text)) {
        char *value = look_field(text_string(&text), "Device Minor");
        if (value == NULL || !text_to_int(value, &minor) || minor < 0 || minor > 255)
            minor = -1;
        free(value);
    }
    text_free(&text);
    text_free(&path);
    return (int)minor;
}

/* The numbers that the kernel has now, whatever the nodes say. */
static void make_wishes(const struct source *source, const struct facts *facts,
                        const struct device_nodes *nodes, struct device_wishes *out) {
    static const char *const ctl[] = {"nvidiactl", "nvidia-frontend", "nvidia", NULL};
    static const char *const gpu[] = {"nvidia", "nvidia-frontend", NULL};
    static const char *const uvm[] = {"nvidia-uvm", NULL};
    struct strings names = {0};
    wish(out, "/dev/nvidiactl", major_of(facts, ctl), 255);
    wish(out, "/dev/nvidia-uvm", major_of(facts, uvm), 0);
    look_list(source, "/proc/driver/nvidia/gpus", &names);
    for (size_t i = 0; i < names.count; i++) {
        char path[32];
        int minor = gpu_minor(source, names.items[i]);
        snprintf(path, sizeof path, "/dev/nvidia%d", minor);
        if (minor >= 0)
            wish(out, path, major_of(facts, gpu), minor);
    }
    strings_free(&names);
    for (size_t i = 0; i < nodes->count; i++) {
        const struct device_node *node = &nodes->items[i];
        bool other =
            text_starts(node->path, "/dev/nvidia-caps/") || strcmp(node->path, "/dev/nvidia-modeset") == 0;
        if (other && node->type == 'c')
            wish(out, node->path, node->major, node->minor);
    }
}

/* ---- the answers ---- */

static js *tried_json(const struct device_wishes *wishes, const struct device_verdict *verdicts,
                      const struct strings *levels) {
    js *out = js_new_array();
    for (size_t i = 0; i < wishes->count; i++) {
        const struct device_verdict *v = &verdicts[i];
        const char *name = v->error == 0 ? "ok" : strerrorname_np(v->error);
        if (v->error < 0)
            continue;
        js *one = js_new_object();
        js_set_string(one, "path", wishes->items[i].path);
        js_set_int(one, "major", wishes->items[i].major);
        js_set_int(one, "minor", wishes->items[i].minor);
        js_set_string(one, "open", name == NULL ? "unknown" : name);
        if (v->denied_at >= 0)
            js_set_string(one, "denied_at", levels->items[v->denied_at]);
        js_append(out, one);
    }
    return out;
}

/* "/", "/a", "/a/b". */
static void list_levels(const char *path, struct strings *out) {
    strings_add(out, "/");
    for (const char *slash = path; *slash != '\0'; slash++)
        if (slash > path && *slash == '/')
            strings_addf(out, "%.*s", (int)(slash - path), path);
    if (path[0] != '\0' && strcmp(path, "/") != 0)
        strings_add(out, path);
}

struct job {
    const struct source *source;
    const struct device_wishes *wishes;
    struct cgroup_place place;
    bool v2;         /* there is a cgroup v2 to try in */
    bool containers; /* look for those */
    pid_t pid;       /* of gpuvet */
};

static js *try_group(const struct job *job, int folder, const char *path, bool own) {
    struct device_verdict verdicts[DEVICE_MAX_WISHES];
    struct strings levels = {0};
    list_levels(path, &levels);
    device_try(folder, job->wishes, job->v2 ? job->place.mount : NULL, &levels, own, job->pid, verdicts);
    js *tried = tried_json(job->wishes, verdicts, &levels);
    strings_free(&levels);
    return tried;
}

/* ---- running containers ---- */

/* Which container a group belongs to, as the managers name groups. */
static bool name_container(const char *path, char *name, size_t size, const char **manager) {
    static const struct {
        const char *mark, *manager;
    } marks[] = {{"/lxc.payload.", "lxc"}, {"/lxc/", "lxc"},
                 {"/docker-", "docker"},   {"/docker/", "docker"},
                 {"/libpod-", "podman"},   {"/cri-containerd-", "kubernetes"},
                 {"/crio-", "kubernetes"}, {"/libpod_parent/", "podman"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *at = strstr(path, marks[i].mark);
        if (at == NULL || text_starts(at, "/libpod-conmon-") || text_starts(at, "/crio-conmon-"))
            continue;
        at += strlen(marks[i].mark);
        size_t length = strcspn(at, "/.");
        if (strcmp(marks[i].manager, "lxc") == 0)
            length = strcspn(at, "/");
        else if (length > 12)
            length = 12; /* as the engines show it */
        if (length == 0 || length >= size)
            continue;
        snprintf(name, size, "%.*s", (int)length, at);
        *manager = marks[i].manager;
        return true;
    }
    return false;
}

/* The driver's nodes in a process's /dev. */
static js *nodes_of(const struct source *source, int64_t pid) {
    char folder[48];
    struct strings names = {0};
    js *out = NULL;
    snprintf(folder, sizeof folder, "/proc/%lld/root/dev", (long long)pid);
    look_list(source, folder, &names);
    for (size_t i = 0; i < names.count; i++) {
        if (!text_starts(names.items[i], "nvidia"))
            continue;
        struct text path = {0};
        text_addf(&path, "/dev/%s", names.items[i]);
        out = out != NULL ? out : js_new_array();
        js_append_string(out, text_string(&path));
        text_free(&path);
    }
    strings_free(&names);
    return out;
}

/* The group of a process in the hierarchy of one controller ("" is v2); NULL: none. */
static char *group_in(const char *text, const char *controller) {
    struct strings lines = {0};
    char *found = NULL;
    strings_split(&lines, text, '\n');
    for (size_t i = 0; i < lines.count && found == NULL; i++) {
        const char *list = strchr(lines.items[i], ':');
        const char *path = list == NULL ? NULL : strchr(list + 1, ':');
        size_t length = path == NULL ? 0 : (size_t)(path - list - 1);
        if (path != NULL && length == strlen(controller) && strncmp(list + 1, controller, length) == 0)
            found = mem_copy_string(path + 1);
    }
    strings_free(&lines);
    return found;
}

static void take_container(const struct job *job, int folder, int64_t pid, js *out) {
    char path[48], name[80];
    const char *manager;
    struct text text = {0};
    snprintf(path, sizeof path, "/proc/%lld/cgroup", (long long)pid);
    bool read = look_bytes(job->source, path, LOOK_SMALL, &text);
    char *v2 = group_in(text_string(&text), "");
    char *v1 = group_in(text_string(&text), "devices");
    const char *named = v1 != NULL && name_container(v1, name, sizeof name, &manager)   ? v1
                        : v2 != NULL && name_container(v2, name, sizeof name, &manager) ? v2
                                                                                        : NULL;
    bool known = named == NULL || !read;
    for (size_t i = 0; !known && i < js_length(out); i++)
        known = strcmp(js_get_string(js_at(out, i), "name", ""), name) == 0;
    js *nodes = known ? NULL : nodes_of(job->source, pid);
    if (nodes != NULL) {
        js *one = js_new_object();
        js_set_string(one, "name", name);
        js_set_string(one, "manager", manager);
        js_set_string(one, "group", named);
        js_set_int(one, "pid", pid);
        js_set(one, "nodes", nodes);
        struct cgroup_place place;
        if (v1 != NULL && cgroup_find(job->source, "devices", &place)) {
            free(place.path);
            place.path = mem_copy_string(strcmp(v1, "/") == 0 ? "" : v1);
            char *list = place.v2 ? NULL : cgroup_text(job->source, &place, "devices.list");
            if (list != NULL)
                js_set_string(one, "devices_list", list);
            free(list);
            cgroup_place_free(&place);
        }
        if (v2 != NULL && strcmp(v2, "/") != 0)
            js_set(one, "tried", try_group(job, folder, v2, false));
        js_append(out, one);
    }
    free(v1);
    free(v2);
    text_free(&text);
}

static js *try_containers(const struct job *job, int folder) {
    struct strings names = {0};
    js *out = js_new_array();
    look_list(job->source, "/proc", &names);
    for (size_t i = 0; i < names.count && i < MAX_PIDS && js_length(out) < MAX_CONTAINERS; i++) {
        int64_t pid;
        if (text_to_int(names.items[i], &pid) && pid > 1)
            take_container(job, folder, pid, out);
    }
    strings_free(&names);
    return out;
}

/* ---- all of it, in a child ---- */

static void body(void *argument, int fd) {
    const struct job *job = argument;
    int folder = device_folder();
    js *out = js_new_object();
    js_set_string(out, "group", job->v2 ? (job->place.path[0] == '\0' ? "/" : job->place.path) : NULL);
    js_set(out, "tried", try_group(job, folder, job->v2 ? job->place.path : "", true));
    if (job->containers)
        js_set(out, "containers", try_containers(job, folder));
    char *text = js_text(out);
    struct error err = {0};
    fd_write_all(fd, text, strlen(text), &err);
    _exit(0);
}

/* cgroup_find prefers v1; the v2 hierarchy beside it is wanted here. */
static bool find_v2(const struct source *source, struct cgroup_place *out) {
    return cgroup_find(source, "no such controller", out) && out->v2;
}

js *device_cgroup_probe(const struct source *source, const struct facts *facts,
                        const struct device_nodes *nodes, bool containers) {
    struct device_wishes wishes = {0};
    make_wishes(source, facts, nodes, &wishes);
    if (geteuid() != 0 || wishes.count == 0)
        return NULL;
    struct job job = {.source = source, .wishes = &wishes, .containers = containers, .pid = getpid()};
    job.v2 = find_v2(source, &job.place);
    struct text said = {0};
    struct error err = {0};
    bounded_ask(body, &job, all_ns, all_ns, BOUNDED_MOST, &said);
    js *out = said.length > 0 ? js_parse(said.data, said.length, &err) : NULL;
    text_free(&said);
    cgroup_place_free(&job.place);
    return out;
}
