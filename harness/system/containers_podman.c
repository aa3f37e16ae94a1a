/* SPDX-License-Identifier: Apache-2.0 */
/* What Podman keeps of a container as files: config.json, the OCI runtime specification of its last start.
 * Podman writes it anew at each start, from what its database holds since the container was made (the nodes
 * of
 * --device with their numbers, device rules, binds) and from what it looks up then (CDI, --privileged). Only
 * what will be the same at the next start may be judged by it. */
#include "base/json.h"
#include "base/mem.h"
#include "system/containers_parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_ENTRIES = 1024 };

static bool is_true(const js *annotations, const char *key) {
    return strcmp(js_get_string(annotations, key, ""), "TRUE") == 0;
}

/* NVIDIA's hook makes nodes and rules at each start: …/nvidia-container-runtime-hook, …-toolkit. CDI's own
 * (nvidia-ctk, nvidia-cdi-hook) make links only. */
static bool has_hook(const js *spec) {
    static const char *const times[] = {"prestart",       "createRuntime", "createContainer",
                                        "startContainer", "poststart",     "poststop"};
    for (size_t t = 0; t < sizeof times / sizeof *times; t++) {
        const js *hooks = js_get(js_get(spec, "hooks"), times[t]);
        for (size_t i = 0; i < js_length(hooks); i++)
            if (strstr(js_get_string(js_at(hooks, i), "path", ""), "nvidia-container") != NULL)
                return true;
    }
    return false;
}

/* -1: not there; -2: no number of a device. */
static int number_in(const js *object, const char *key) {
    const js *value = js_get(object, key);
    int64_t number = js_int(value, -2);
    if (value == NULL || js_is_null(value) || number == -1)
        return -1;
    return number >= 0 && number <= INT_MAX ? (int)number : -2;
}

/* A node of the driver's; what has other characters than they have is none, and may not stand in a text. */
static bool is_node(const char *path) {
    size_t good = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-");
    return text_starts(path, "/dev/nvidia") && path[good] == '\0' && good < 256;
}

/* Its node in the container is the host's of the same path. */
static void take_binds(const char *file, const js *mounts, struct container *out) {
    for (size_t i = 0; i < js_length(mounts); i++) {
        const char *source = js_get_string(js_at(mounts, i), "source", "");
        if (is_node(source) && container_device(out, source) == NULL && out->n_devices < MAX_ENTRIES)
            container_add_device(out, file, 0, source, source);
    }
}

/* Podman's own --device keeps the whole mode of the node, with its type; CDI's, which are looked up at each
 * start, come with the permission bits or with none. */
static bool is_kept(const js *device) {
    return (number_in(device, "fileMode") & S_IFMT) == S_IFCHR && number_in(device, "fileMode") >= 0;
}

static void take_devices(const char *file, const js *devices, struct container *out) {
    for (size_t i = 0; i < js_length(devices); i++) {
        const js *one = js_at(devices, i);
        const char *path = js_get_string(one, "path", "");
        int major = number_in(one, "major"), minor = number_in(one, "minor");
        if (!is_node(path) || container_device(out, path) != NULL || major < 0 || minor < 0 ||
            out->n_devices >= MAX_ENTRIES)
            continue;
        struct text text = {0};
        text_addf(&text, "%s c %d:%d", path, major, minor);
        struct device_entry *device = container_add_device(out, file, 0, text_string(&text), path);
        device->by_manager = !is_kept(one);
        device->major = major;
        device->minor = minor;
        text_free(&text);
    }
}

/* The rule that came with a node, of whatever kind: not one that somebody wrote. */
static bool is_of_device(const js *devices, int major, int minor) {
    for (size_t i = 0; i < js_length(devices); i++)
        if (number_in(js_at(devices, i), "major") == major && number_in(js_at(devices, i), "minor") == minor)
            return true;
    return false;
}

static void add_number(struct text *text, int number) {
    if (number >= 0)
        text_addf(text, "%d", number);
    else
        text_add(text, "*");
}

static void take_rules(const char *file, const js *os, struct container *out) {
    const js *rules = js_get(js_get(os, "resources"), "devices");
    for (size_t i = 0; i < js_length(rules) && out->n_rules < MAX_ENTRIES; i++) {
        const js *one = js_at(rules, i);
        int major = number_in(one, "major"), minor = number_in(one, "minor");
        const char *type = js_get_string(one, "type", "a");
        type = type[0] == 'a' && major >= 0 ? "c" : type; /* of both kinds */
        const char *access = js_get_string(one, "access", "rwm");
        struct text text = {0};
        if (major == -2 || minor == -2 || strlen(type) != 1 || strchr("abcu", type[0]) == NULL ||
            access[strspn(access, "rwm")] != '\0' || !js_is_object(one))
            continue;
        text_addf(&text, "%s ", type);
        add_number(&text, major);
        text_add(&text, ":");
        add_number(&text, minor);
        text_addf(&text, " %.8s", access);
        bool with_node = is_of_device(js_get(os, "devices"), major, minor);
        container_fill_rule(
            container_add_rule(out, file, 0, with_node ? PODMAN_NODE_RULE : PODMAN_RULE, text_string(&text)),
            js_get_bool(one, "allow", false));
        text_free(&text);
    }
}

/* --privileged gives what is there at each start; with --cgroups=disabled nothing is denied. */
static bool allows_all(const struct container *c, const js *os) {
    if (js_get_string(os, "cgroupsPath", "")[0] == '\0')
        return true;
    for (size_t i = 0; i < c->n_rules; i++)
        if (c->rules[i].type == 'a' && c->rules[i].allow)
            return true;
    return false;
}

void container_parse_podman(const char *file, const char *text, size_t length, struct container *out) {
    struct error err = {0};
    js *spec = js_parse(text, length, &err);
    const js *annotations = js_get(spec, "annotations"), *os = js_get(spec, "linux");
    /* CRI-O keeps the like in the same folders; its containers, and those of --rm, are not started twice. */
    bool ours = strcmp(js_get_string(annotations, "io.container.manager", ""), "libpod") == 0 &&
                !is_true(annotations, "io.podman.annotations.autoremove") &&
                !is_true(annotations, "io.podman.annotations.privileged");
    out->denies_first = true;
    if (spec == NULL)
        out->problem = mem_copy_string(err.text);
    if (ours) {
        take_binds(file, js_get(spec, "mounts"), out);
        take_devices(file, js_get(os, "devices"), out);
        take_rules(file, os, out);
        out->by_hook = has_hook(spec);
    }
    if (allows_all(out, os))
        container_forget_devices(out);
    js_free(spec);
}

/* ---- where they are ---- */

/* The value of `graphroot = "/srv/storage"`, wherever it stands: no other table of storage.conf has the key.
 */
char *container_podman_graphroot(const char *conf) {
    static const char key[] = "graphroot";
    while (*conf != '\0') {
        size_t length = strcspn(conf, "\n");
        char *line = mem_copy_bytes(conf, length);
        const char *s = text_trim(line);
        const char *value = text_starts(s, key) ? s + strlen(key) : "";
        value += strspn(value, " \t");
        value += *value == '=' ? 1 + strspn(value + 1, " \t") : strlen(value);
        char quote = *value;
        const char *end = quote == '"' || quote == '\'' ? strchr(value + 1, quote) : NULL;
        char *root = end != NULL && value[1] == '/' && end - value < 400
                         ? mem_copy_bytes(value + 1, (size_t)(end - value - 1))
                         : NULL;
        free(line);
        if (root != NULL)
            return root;
        conf += length + (conf[length] == '\n');
    }
    return NULL;
}

/* As Podman lets people name containers; anything else may not stand in a command. */
static bool is_name(const char *s) {
    size_t good = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    return s[good] == '\0' && good > 0 && good < 128 && s[0] != '-' && s[0] != '.';
}

const char *container_podman_name(const js *list, const char *id) {
    for (size_t i = 0; i < js_length(list); i++) {
        const char *name = js_string(js_at(js_get(js_at(list, i), "names"), 0), "");
        if (strcmp(js_get_string(js_at(list, i), "id", ""), id) == 0)
            return is_name(name) ? name : NULL;
    }
    return NULL;
}
