/* SPDX-License-Identifier: Apache-2.0 */
/* LXC's configuration, plain (key = value, includes) and Proxmox's (key: value, a snapshot in each
 * [section]). */
#include "base/mem.h"
#include "system/containers_parts.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

/* How deep, and how many in all: files may include each other. */
enum { MAX_INCLUDES = 8, MAX_INCLUDED = 64, MAX_LINES = 20000 };

struct parse {
    const struct source *source;
    struct container *out;
    int depth, included;
    int lines;
};

struct device_rule *container_add_rule(struct container *out, const char *file, int line, const char *key,
                                       const char *text) {
    out->rules = mem_grow(out->rules, out->n_rules, &out->rules_capacity, sizeof *out->rules);
    struct device_rule *rule = &out->rules[out->n_rules++];
    *rule = (struct device_rule){.file = mem_copy_string(file),
                                 .line = line,
                                 .key = mem_copy_string(key),
                                 .text = mem_copy_string(text),
                                 .type = '?',
                                 .major = -2,
                                 .minor = -2,
                                 .cgroup = 2};
    return rule;
}

struct device_entry *container_add_device(struct container *out, const char *file, int line, const char *text,
                                          const char *host_path) {
    out->devices = mem_grow(out->devices, out->n_devices, &out->devices_capacity, sizeof *out->devices);
    struct device_entry *device = &out->devices[out->n_devices++];
    *device = (struct device_entry){.file = mem_copy_string(file),
                                    .line = line,
                                    .text = mem_copy_string(text),
                                    .host_path = mem_copy_string(host_path),
                                    .major = -1,
                                    .minor = -1};
    return device;
}

/* "*" any, decimal digits a number, anything else -2. */
static int device_number(const char *s) {
    int64_t value = 0;
    if (strcmp(s, "*") == 0)
        return -1;
    bool decimal = s[0] != '\0' && s[strspn(s, "0123456789")] == '\0';
    return decimal && text_to_int(s, &value) && value <= 0xfffff ? (int)value : -2;
}

/* Splits at blanks and tabs; several count as one. */
static void split_words(const char *s, struct strings *out) {
    while (*s != '\0') {
        s += strspn(s, " \t");
        size_t length = strcspn(s, " \t");
        if (length > 0)
            strings_addf(out, "%.*s", (int)length, s);
        s += length;
    }
}

void container_fill_rule(struct device_rule *rule, bool allow) {
    struct strings words = {0};
    split_words(rule->text, &words);
    rule->allow = allow;
    if (words.count > 0 && words.items[0][1] == '\0' && strchr("acb", words.items[0][0]) != NULL)
        rule->type = words.items[0][0];
    /* LXC 4.0.6 and newer: "/dev/nvidia-uvm rw", whose number is looked up at each start. */
    bool by_path = words.count > 0 && words.items[0][0] == '/';
    rule->type = by_path ? '/' : rule->type;
    if (words.count > 1 && !by_path) {
        char *colon = strchr(words.items[1], ':');
        if (colon != NULL) {
            *colon = '\0';
            rule->minor = device_number(colon + 1);
        }
        rule->major = device_number(words.items[1]);
        rule->major_text = mem_copy_string(words.items[1]);
    }
    if (rule->type == 'a' && words.count <= 1)
        rule->major = rule->minor = -1;
    const char *access = by_path && words.count > 1 ? words.items[1]
                         : words.count > 2          ? words.items[2]
                         : rule->type == 'a'        ? "rwm"
                                                    : "";
    rule->use = strchr(access, 'r') != NULL && strchr(access, 'w') != NULL;
    if (rule->major_text == NULL)
        rule->major_text = mem_copy_string("");
    strings_free(&words);
}

/* "SOURCE TARGET TYPE OPTIONS dump pass" of nodes below /dev. */
static void take_mount(struct parse *p, const char *file, int line, const char *key, const char *value) {
    struct strings words = {0};
    struct text text = {0};
    split_words(value, &words);
    if (words.count >= 2 && text_starts(words.items[0], "/dev/")) {
        text_addf(&text, "%s: %s", key, value);
        struct device_entry *device =
            container_add_device(p->out, file, line, text_string(&text), words.items[0]);
        device->creates_file = words.count > 3 && strstr(words.items[3], "create=file") != NULL;
    }
    text_free(&text);
    strings_free(&words);
}

/* Proxmox: "dev0: /dev/nvidia0,gid=44" or "dev0: path=/dev/nvidia0,mode=0666". */
static void take_entry(struct parse *p, const char *file, int line, const char *key, const char *value) {
    struct strings parts = {0};
    struct text text = {0};
    strings_split(&parts, value, ',');
    text_addf(&text, "%s: %s", key, value);
    struct device_entry *device = NULL;
    bool denies_write = false;
    for (size_t i = 0; i < parts.count; i++) {
        const char *part = text_trim(parts.items[i]);
        const char *path = text_starts(part, "path=") ? part + 5 : i == 0 ? part : "";
        if (text_starts(path, "/dev/") && device == NULL)
            device = container_add_device(p->out, file, line, text_string(&text), path);
        denies_write = denies_write || strcmp(part, "deny-write=1") == 0;
    }
    if (device != NULL) {
        device->by_manager = true;
        device->denies_write = denies_write;
    }
    text_free(&text);
    strings_free(&parts);
}

static bool is_dev_entry(const char *key) {
    return text_starts(key, "dev") && key[3] != '\0' && key[3 + strspn(key + 3, "0123456789")] == '\0';
}

static void parse_text(struct parse *p, const char *file, const char *text);

/* A file, or a folder whose *.conf are read. */
static void include(struct parse *p, const char *path) {
    struct strings names = {0};
    struct text text = {0};
    if (path[0] != '/' || p->depth >= MAX_INCLUDES || p->included++ >= MAX_INCLUDED)
        return;
    p->depth++;
    if (look_list(p->source, path, &names)) {
        for (size_t i = 0; i < names.count; i++)
            if (text_ends(names.items[i], ".conf")) {
                struct text file = {0};
                text_addf(&file, "%s/%s", path, names.items[i]);
                text_clear(&text);
                if (look_bytes(p->source, text_string(&file), LOOK_LARGE, &text))
                    parse_text(p, text_string(&file), text_string(&text));
                text_free(&file);
            }
    } else if (look_bytes(p->source, path, LOOK_LARGE, &text)) {
        parse_text(p, path, text_string(&text));
    }
    p->depth--;
    text_free(&text);
    strings_free(&names);
}

static void take_pair(struct parse *p, const char *file, int line, const char *key, const char *value) {
    bool v1 = text_starts(key, "lxc.cgroup.devices.");
    bool v2 = text_starts(key, "lxc.cgroup2.devices.");
    if (v1 || v2) {
        bool allow = text_ends(key, ".allow");
        if (!allow && !text_ends(key, ".deny"))
            return;
        struct device_rule *rule = container_add_rule(p->out, file, line, key, value);
        rule->cgroup = v1 ? 1 : 2;
        container_fill_rule(rule, allow);
    } else if (strcmp(key, "lxc.mount.entry") == 0) {
        take_mount(p, file, line, key, value);
    } else if (p->out->kind == CONTAINER_PVE && is_dev_entry(key)) {
        take_entry(p, file, line, key, value);
    } else if (strcmp(key, "lxc.include") == 0) {
        include(p, value);
    } else if (strcmp(key, "unprivileged") == 0) {
        p->out->unprivileged = strcmp(value, "1") == 0;
    } else if (strcmp(key, "lxc.idmap") == 0) {
        p->out->unprivileged = p->out->maps_ids = true;
    }
}

/* False at the line that ends what counts: a [section] of Proxmox's is a snapshot or a pending change. */
static bool take_line(struct parse *p, const char *file, int number, char *line) {
    char *s = text_trim(line);
    if (s[0] == '[' && p->out->kind == CONTAINER_PVE)
        return false;
    if (s[0] == '#') {
        strings_add(&p->out->comments, s);
        return true;
    }
    size_t at = strcspn(s, p->out->kind == CONTAINER_PVE ? ":=" : "=");
    if (s[at] == '\0')
        return true;
    s[at] = '\0';
    take_pair(p, file, number, text_trim(s), text_trim(s + at + 1));
    return true;
}

static void parse_text(struct parse *p, const char *file, const char *text) {
    for (int number = 1; *text != '\0' && p->lines < MAX_LINES; number++, p->lines++) {
        size_t length = strcspn(text, "\n");
        char *line = mem_copy_bytes(text, length);
        bool more = take_line(p, file, number, line);
        free(line);
        if (!more)
            return;
        text += length + (text[length] == '\n');
    }
}

void container_parse_lxc(const struct source *source, const char *file, const char *text,
                         struct container *out) {
    struct parse parse = {.source = source, .out = out};
    parse_text(&parse, file, text);
}
