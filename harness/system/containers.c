/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the configurations, and asking what they allow. The parsers are in containers_lxc.c, _docker.c,
 * _podman.c, _cdi.c, _unit.c. */
#include "system/containers_parts.h"

#include "base/json.h"
#include "base/mem.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CONTAINERS = 100000 };

static struct container *add(struct container_list *list, enum container_kind kind, const char *name,
                             const char *file) {
    list->items = mem_grow(list->items, list->count, &list->capacity, sizeof *list->items);
    struct container *container = &list->items[list->count++];
    *container =
        (struct container){.kind = kind, .name = mem_copy_string(name), .file = mem_copy_string(file)};
    return container;
}

static void free_container(struct container *c);

static void read_lxc(const struct source *source, enum container_kind kind, const char *name,
                     const char *file, struct container_list *out) {
    struct text text = {0};
    if (out->count < MAX_CONTAINERS && look_bytes(source, file, LOOK_LARGE, &text)) {
        struct container *container = add(out, kind, name, file);
        container->denies_first = kind == CONTAINER_PVE; /* its defaults begin with devices.deny: a */
        container_parse_lxc(source, file, text_string(&text), container);
    }
    text_free(&text);
}

static void read_pve(const struct source *source, struct container_list *out) {
    struct strings names = {0};
    look_list(source, "/etc/pve/lxc", &names);
    for (size_t i = 0; i < names.count; i++) {
        size_t digits = strspn(names.items[i], "0123456789"); /* others are somebody's copies */
        if (digits == 0 || strcmp(names.items[i] + digits, ".conf") != 0)
            continue;
        struct text file = {0};
        char *name = mem_copy_bytes(names.items[i], digits);
        text_addf(&file, "/etc/pve/lxc/%s", names.items[i]);
        read_lxc(source, CONTAINER_PVE, name, text_string(&file), out);
        text_free(&file);
        free(name);
    }
    strings_free(&names);
}

/* Proxmox writes /var/lib/lxc/129/config itself at each start, from /etc/pve/lxc/129.conf. */
static void read_plain(const struct source *source, struct container_list *out) {
    struct strings names = {0};
    look_list(source, "/var/lib/lxc", &names);
    for (size_t i = 0; i < names.count; i++) {
        struct text file = {0};
        text_addf(&file, "/etc/pve/lxc/%s.conf", names.items[i]);
        bool made = look_exists(source, text_string(&file));
        text_clear(&file);
        text_addf(&file, "/var/lib/lxc/%s/config", names.items[i]);
        if (!made)
            read_lxc(source, CONTAINER_LXC, names.items[i], text_string(&file), out);
        text_free(&file);
    }
    strings_free(&names);
}

/* Where Docker keeps its containers: daemon.json may have moved it. */
static char *docker_folder(const struct source *source) {
    struct text text = {0}, folder = {0};
    struct error err = {0};
    js *daemon = NULL;
    if (look_bytes(source, "/etc/docker/daemon.json", LOOK_LARGE, &text))
        daemon = js_parse(text_string(&text), text.length, &err);
    const char *root = js_get_string(daemon, "data-root", "");
    text_addf(&folder, "%.400s/containers", root[0] == '/' ? root : "/var/lib/docker");
    js_free(daemon);
    text_free(&text);
    return text_take(&folder);
}

/* The last of those that say nothing about a GPU's devices is dropped. */
static void keep_if_of_gpu(struct container_list *out) {
    struct container *c = &out->items[out->count - 1];
    if (c->n_devices > 0 || c->n_rules > 0)
        return;
    free_container(c);
    out->count--;
}

/* Those that say something about a GPU's devices; an id is 64 hexadecimal digits, and 12 are shown. */
static void read_docker(const struct source *source, struct container_list *out) {
    char *folder = docker_folder(source);
    struct strings ids = {0};
    look_list(source, folder, &ids);
    for (size_t i = 0; i < ids.count && out->count < MAX_CONTAINERS; i++) {
        struct text file = {0}, text = {0};
        text_addf(&file, "%s/%s/hostconfig.json", folder, ids.items[i]);
        if (strspn(ids.items[i], "0123456789abcdef") >= 12 &&
            look_bytes(source, text_string(&file), LOOK_LARGE, &text)) {
            char *name = mem_copy_bytes(ids.items[i], 12);
            struct container *c = add(out, CONTAINER_DOCKER, name, text_string(&file));
            container_parse_docker(text_string(&file), text_string(&text), text.length, c);
            keep_if_of_gpu(out);
            free(name);
        }
        text_free(&text);
        text_free(&file);
    }
    strings_free(&ids);
    free(folder);
}

/* Podman's graphroot: the system's own storage.conf, then the distribution's, then what is built in. */
static char *podman_root(const struct source *source) {
    static const char *const files[] = {"/etc/containers/storage.conf", "/usr/share/containers/storage.conf"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct text text = {0};
        char *root = look_bytes(source, files[i], LOOK_LARGE, &text)
                         ? container_podman_graphroot(text_string(&text))
                         : NULL;
        text_free(&text);
        if (root != NULL)
            return root;
    }
    return mem_copy_string("/var/lib/containers/storage");
}

/* One folder of a storage driver: ID/userdata/config.json, and the names in containers.json beside. */
static void read_podman_in(const struct source *source, const char *folder, struct container_list *out) {
    struct strings ids = {0};
    struct text list = {0}, path = {0};
    struct error err = {0};
    text_addf(&path, "%s/containers.json", folder);
    bool some = look_list(source, folder, &ids) && ids.count > 0;
    js *names = some && look_bytes(source, text_string(&path), LOOK_LARGE, &list)
                    ? js_parse(text_string(&list), list.length, &err)
                    : NULL;
    for (size_t i = 0; i < ids.count && out->count < MAX_CONTAINERS; i++) {
        struct text text = {0};
        text_clear(&path);
        text_addf(&path, "%s/%s/userdata/config.json", folder, ids.items[i]);
        if (strspn(ids.items[i], "0123456789abcdef") >= 12 &&
            look_bytes(source, text_string(&path), LOOK_LARGE, &text)) {
            char *name = mem_copy_bytes(ids.items[i], 12);
            const char *called = container_podman_name(names, ids.items[i]);
            struct container *c = add(out, CONTAINER_PODMAN, name, text_string(&path));
            c->called = called != NULL ? mem_copy_string(called) : NULL;
            container_parse_podman(text_string(&path), text_string(&text), text.length, c);
            keep_if_of_gpu(out);
            free(name);
        }
        text_free(&text);
    }
    js_free(names);
    text_free(&list);
    text_free(&path);
    strings_free(&ids);
}

static void read_podman(const struct source *source, struct container_list *out) {
    static const char *const drivers[] = {"overlay", "vfs", "btrfs", "zfs"};
    char *root = podman_root(source);
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
        struct text folder = {0};
        text_addf(&folder, "%s/%s-containers", root, drivers[i]);
        read_podman_in(source, text_string(&folder), out);
        text_free(&folder);
    }
    free(root);
}

static void read_cdi(const struct source *source, const char *folder, struct container_list *out) {
    struct strings names = {0};
    look_list(source, folder, &names);
    for (size_t i = 0; i < names.count && out->count < MAX_CONTAINERS; i++) {
        const char *name = names.items[i];
        struct text file = {0};
        struct text text = {0};
        text_addf(&file, "%s/%s", folder, name);
        bool wanted = text_ends(name, ".yaml") || text_ends(name, ".yml") || text_ends(name, ".json");
        if (wanted && look_bytes(source, text_string(&file), LOOK_LARGE, &text))
            container_parse_cdi(text_string(&file), text_string(&text), text.length,
                                add(out, CONTAINER_CDI, name, text_string(&file)));
        text_free(&text);
        text_free(&file);
    }
    strings_free(&names);
}

/* The last is the one before it on most systems; then its units are known already. */
static const char *const unit_folders[] = {"/etc/systemd/system", "/run/systemd/system",
                                           "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                           "/lib/systemd/system"};
enum { N_UNIT_FOLDERS = sizeof unit_folders / sizeof *unit_folders };

static void parse_unit_file(const struct source *source, const char *file, struct container *out) {
    struct text text = {0};
    if (look_bytes(source, file, LOOK_LARGE, &text))
        container_parse_unit(file, text_string(&text), out);
    text_free(&text);
}

/* NAME.service.d/…conf of every folder. */
static void read_drop_ins(const struct source *source, const char *name, struct container *out) {
    for (int f = 0; f < N_UNIT_FOLDERS; f++) {
        struct strings names = {0};
        struct text folder = {0};
        text_addf(&folder, "%s/%s.d", unit_folders[f], name);
        look_list(source, text_string(&folder), &names);
        for (size_t i = 0; i < names.count; i++) {
            struct text file = {0};
            text_addf(&file, "%s/%s", text_string(&folder), names.items[i]);
            if (text_ends(names.items[i], ".conf"))
                parse_unit_file(source, text_string(&file), out);
            text_free(&file);
        }
        text_free(&folder);
        strings_free(&names);
    }
}

static bool wants_gpu(const struct container *unit) {
    for (size_t i = 0; i < unit->n_devices; i++)
        if (text_starts(unit->devices[i].host_path, "/dev/nvidia"))
            return true;
    for (size_t i = 0; i < unit->n_rules; i++)
        if (unit->rules[i].class_name != NULL && text_starts(unit->rules[i].class_name, "nvidia"))
            return true;
    return false;
}

void container_forget_devices(struct container *c) {
    for (size_t i = 0; i < c->n_rules; i++) {
        free(c->rules[i].file);
        free(c->rules[i].key);
        free(c->rules[i].text);
        free(c->rules[i].major_text);
        free(c->rules[i].class_name);
    }
    for (size_t i = 0; i < c->n_devices; i++) {
        free(c->devices[i].file);
        free(c->devices[i].text);
        free(c->devices[i].host_path);
    }
    c->n_rules = c->n_devices = 0;
}

static void free_container(struct container *c) {
    container_forget_devices(c);
    for (size_t i = 0; i < c->n_mounts; i++)
        free(c->mounts[i].host_path);
    free(c->rules);
    free(c->devices);
    free(c->mounts);
    free(c->name);
    free(c->called);
    free(c->file);
    free(c->problem);
    free(c->cdi_kind);
    strings_free(&c->comments);
    strings_free(&c->cdi_names);
}

/* A file, or a link as masking makes it, in an earlier folder hides this one, whatever it says. */
static bool is_hidden(const struct source *source, int folder, const char *name) {
    bool hidden = false;
    for (int f = 0; f < folder && !hidden; f++) {
        struct text file = {0};
        text_addf(&file, "%s/%s", unit_folders[f], name);
        char *link = look_link(source, text_string(&file));
        hidden = link != NULL || look_exists(source, text_string(&file));
        free(link);
        text_free(&file);
    }
    return hidden;
}

/* Units that say something about a GPU's devices; the same name in an earlier folder wins, as systemd has it.
 */
static void read_units(const struct source *source, struct container_list *out) {
    for (int f = 0; f < N_UNIT_FOLDERS; f++) {
        struct strings names = {0};
        look_list(source, unit_folders[f], &names);
        for (size_t i = 0; i < names.count && out->count < MAX_CONTAINERS; i++) {
            const char *name = names.items[i];
            struct text file = {0};
            if (!text_ends(name, ".service") || is_hidden(source, f, name))
                continue;
            text_addf(&file, "%s/%s", unit_folders[f], name);
            struct container *unit = add(out, CONTAINER_UNIT, name, text_string(&file));
            parse_unit_file(source, text_string(&file), unit);
            read_drop_ins(source, name, unit);
            if (!wants_gpu(unit)) {
                free_container(unit);
                out->count--;
            }
            text_free(&file);
        }
        strings_free(&names);
    }
}

void containers_read(const struct source *source, struct container_list *out) {
    *out = (struct container_list){0};
    read_pve(source, out);
    read_plain(source, out);
    read_docker(source, out);
    read_podman(source, out);
    read_cdi(source, "/etc/cdi", out);
    read_cdi(source, look_exists(source, "/var/run/cdi") ? "/var/run/cdi" : "/run/cdi", out);
    read_units(source, out);
}

void containers_free(struct container_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free_container(&list->items[i]);
    free(list->items);
    *list = (struct container_list){0};
}

static bool rule_covers(const struct device_rule *rule, int major, int minor) {
    if (rule->type == 'a')
        return true;
    return rule->type == 'c' && (rule->major == -1 || rule->major == major) &&
           (rule->minor == -1 || rule->minor == minor);
}

bool container_allows(const struct container *container, int cgroup, int major, int minor) {
    bool allowed = !container->denies_first;
    for (size_t i = 0; i < container->n_rules; i++) {
        const struct device_rule *rule = &container->rules[i];
        bool counts = cgroup == 0 || rule->cgroup == cgroup;
        if (counts && (rule->use || rule->type == 'a') && rule_covers(rule, major, minor))
            allowed = rule->allow;
    }
    return allowed;
}

bool container_allows_path(const struct container *container, int cgroup, const char *path) {
    size_t length = strlen(path);
    bool allowed = false;
    for (size_t i = 0; cgroup != 1 && i < container->n_rules; i++) {
        const struct device_rule *rule = &container->rules[i];
        bool named = rule->type == '/' && rule->use && rule->cgroup == 2 &&
                     strncmp(rule->text, path, length) == 0 &&
                     (rule->text[length] == ' ' || rule->text[length] == '\t');
        allowed = named ? rule->allow : allowed;
    }
    return allowed;
}

const struct device_entry *container_device(const struct container *container, const char *host_path) {
    for (size_t i = 0; i < container->n_devices; i++)
        if (strcmp(container->devices[i].host_path, host_path) == 0)
            return &container->devices[i];
    return NULL;
}
