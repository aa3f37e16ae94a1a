/* SPDX-License-Identifier: Apache-2.0 */
#include "system/capture_clean.h"

#include "base/json.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LEFT_OUT "left-out"

static bool any_starts(const char *s, const char *const *list) {
    for (; *list != NULL; list++)
        if (text_starts(s, *list))
            return true;
    return false;
}

/* ---- secrets anywhere ---- */

static size_t secret_word(const char *s) {
    static const char *const words[] = {"password", "passwd",  "passphrase", "secret",     "token",
                                        "api_key",  "api-key", "apikey",     "credential", "private_key"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncasecmp(s, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

/* How far `s`, right behind a secret's name, goes until its value; 0: no value follows. */
static size_t until_value(const char *s) {
    size_t at = 0;
    while (isalnum((unsigned char)s[at]) || s[at] == '_' || s[at] == '-')
        at++;
    at += s[at] == '"' || s[at] == '\'';
    at += strspn(s + at, " \t");
    if (s[at] != '=' && s[at] != ':')
        return 0;
    at++;
    return at + strspn(s + at, " \t");
}

static size_t value_length(const char *s) {
    if (s[0] == '"' || s[0] == '\'') {
        const char ends[] = {s[0], '\n', '\0'};
        return 1 + strcspn(s + 1, ends);
    }
    size_t length = s[0] == '{' || s[0] == '[' ? 0 : strcspn(s, " \t\n,;");
    while (length > 0 && strchr("]})\"'", s[length - 1]) != NULL)
        length--; /* what closes a list around it stays, or the file could no longer be read */
    return length;
}

/* "://user:password@" */
static size_t url_user(const char *s) {
    if (!text_starts(s, "://"))
        return 0;
    size_t length = strcspn(s + 3, "@/ \t\n\"'");
    return s[3 + length] == '@' && length > 0 ? 3 + length : 0;
}

static void add_without_secrets(const char *s, struct text *out) {
    while (*s != '\0') {
        size_t word = secret_word(s);
        size_t gap = word > 0 ? until_value(s + word) : 0;
        size_t user = url_user(s);
        if (gap > 0) {
            const char *value = s + word + gap;
            size_t length = value_length(value);
            bool quoted = length > 0 && (value[0] == '"' || value[0] == '\'');
            text_add_bytes(out, s, word + gap + quoted);
            if (length > quoted)
                text_add(out, LEFT_OUT);
            s = value + length;
        } else if (user > 0) {
            text_add(out, "://" LEFT_OUT);
            s += user;
        } else {
            text_add_bytes(out, s++, 1);
        }
    }
}

/* ---- files by kind ---- */

static void add_lines(const char *text, void (*one)(char *line, struct text *out), struct text *out) {
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        char *line = mem_copy_bytes(text, length);
        one(line, out);
        free(line);
        if (text[length] == '\n')
            text_add(out, "\n");
        text += length + (text[length] == '\n');
    }
}

static const char *const variables[] = {"container=",       "CUDA_",       "NCCL_", "NVIDIA_",
                                        "LD_LIBRARY_PATH=", "LD_PRELOAD=", NULL};

/* Assignments end in NUL. */
static void add_environ(const char *bytes, size_t length, struct text *out) {
    for (size_t at = 0; at < length; at += strlen(bytes + at) + 1)
        if (any_starts(bytes + at, variables))
            text_add_bytes(out, bytes + at, strlen(bytes + at) + 1);
}

/* Of a container's configuration the keys about devices and rights; its names, networks, disks and notes are
 * nobody's business. */
static void lxc_line(char *line, struct text *out) {
    static const char *const kept[] = {
        "lxc.cgroup",  "lxc.mount",   "lxc.include", "lxc.idmap",    "lxc.apparmor",
        "lxc.cap",     "lxc.seccomp", "lxc.hook",    "lxc.autodev",  "lxc.arch",
        "lxc.prlimit", "lxc.sysctl",  "lxc.selinux", "unprivileged", "features",
        "arch",        "ostype",      "memory",      "swap",         "cores",
        "cpu",         "onboot",      "startup",     "template",     "[",
        NULL};
    size_t blank = strspn(line, " \t");
    const char *s = line + blank;
    size_t key = strcspn(s, ":=");
    bool dev = text_starts(s, "dev") && isdigit((unsigned char)s[3]);
    bool note = s[0] == '#' && (strstr(s, "lxc.") != NULL || strstr(s, "nvidia") != NULL);
    if (s[0] == '\0' || dev || note || any_starts(s, kept))
        add_without_secrets(line, out);
    else if (s[0] == '#')
        text_add(out, "#");
    else
        text_addf(out, "%.*s%s", (int)key, s,
                  s[key] == '\0'  ? ""
                  : s[key] == ':' ? ": " LEFT_OUT
                                  : "=" LEFT_OUT);
}

/* Variables by allow-list; of commands the program, unless it is about the GPU. */
static void unit_line(char *line, struct text *out) {
    const char *s = line + strspn(line, " \t");
    const char *equals = strchr(s, '=');
    const char *value = equals == NULL ? "" : equals + 1 + strspn(equals + 1, " \t\"'");
    bool about = strstr(value, "nvidia") != NULL || strstr(value, "modprobe") != NULL;
    if (text_starts(s, "Environment=") && !any_starts(value, variables))
        text_add(out, "Environment=");
    else if (text_starts(s, "Exec") && equals != NULL && !about)
        text_addf(out, "%.*s%.*s", (int)(equals + 1 - s), s, (int)strcspn(value, " \t"), value);
    else if (text_starts(s, "Description=") || text_starts(s, "User=") || text_starts(s, "Group="))
        text_addf(out, "%.*s" LEFT_OUT, (int)(equals + 1 - s), s);
    else
        add_without_secrets(line, out);
}

/* Who is in a group is not asked. */
static void group_line(char *line, struct text *out) {
    char *colon = strchr(line, ':');
    for (int i = 1; i < 3 && colon != NULL; i++)
        colon = strchr(colon + 1, ':');
    text_addf(out, "%.*s", colon == NULL ? (int)strlen(line) : (int)(colon + 1 - line), line);
}

/* Servers and users of network file systems. */
static void mount_line(char *line, struct text *out) {
    static const char *const network[] = {"nfs", "cifs", "smb",    "ceph",   "gluster", "fuse",
                                          "9p",  "afs",  "lustre", "beegfs", NULL};
    char *dash = strstr(line, " - ");
    if (dash == NULL || !any_starts(dash + 3, network)) {
        add_without_secrets(line, out);
        return;
    }
    const char *type = dash + 3;
    text_addf(out, "%.*s%.*s " LEFT_OUT " rw", (int)(type - line), line, (int)strcspn(type, " "), type);
}

/* The members of `from` that are named, as they are. */
static void copy_members(const js *from, const char *const *names, js *out) {
    for (; *names != NULL; names++)
        if (js_get(from, *names) != NULL)
            js_set(out, *names, js_copy(js_get(from, *names)));
}

/* Takes `some`. */
static void add_json(js *some, struct text *out) {
    char *text = js_text(some);
    text_addf(out, "%s\n", text);
    free(text);
    js_free(some);
}

/* Of a container of Docker's only what is about devices; binds are its user's folders. */
static void add_docker(const char *bytes, size_t length, struct text *out) {
    static const char *const kept[] = {"Devices",    "DeviceCgroupRules", "DeviceRequests",
                                       "Privileged", "Runtime",           NULL};
    struct error err = {0};
    js *all = js_parse(bytes, length, &err), *some = js_new_object(), *binds = js_new_array();
    copy_members(all, kept, some);
    for (size_t i = 0; i < js_length(js_get(all, "Binds")); i++) {
        const char *bind = js_string(js_at(js_get(all, "Binds"), i), "");
        if (text_starts(bind, "/dev/nvidia"))
            js_append_string(binds, bind);
    }
    for (size_t i = 0; i < js_length(js_get(all, "Mounts")); i++) {
        const char *source = js_get_string(js_at(js_get(all, "Mounts"), i), "Source", "");
        if (text_starts(source, "/dev/nvidia"))
            js_append_string(binds, source);
    }
    js_set(some, "Binds", binds);
    add_json(some, out);
    js_free(all);
}

static js *copy_each(const js *list, const char *const *names) {
    js *out = js_new_array();
    for (size_t i = 0; i < js_length(list); i++)
        if (js_is_object(js_at(list, i))) {
            js *one = js_new_object();
            copy_members(js_at(list, i), names, one);
            js_append(out, one);
        }
    return out;
}

/* Only binds of the driver's nodes: others are its user's folders. */
static js *copy_binds(const js *mounts) {
    static const char *const kept[] = {"destination", "source", "type", NULL};
    js *out = js_new_array();
    for (size_t i = 0; i < js_length(mounts); i++)
        if (text_starts(js_get_string(js_at(mounts, i), "source", ""), "/dev/nvidia")) {
            js *one = js_new_object();
            copy_members(js_at(mounts, i), kept, one);
            js_append(out, one);
        }
    return out;
}

/* Hooks: which program, not with what. */
static js *copy_hooks(const js *hooks) {
    static const char *const times[] = {"prestart",       "createRuntime", "createContainer",
                                        "startContainer", "poststart",     "poststop"};
    static const char *const kept[] = {"path", NULL};
    js *out = js_new_object();
    for (size_t t = 0; t < sizeof times / sizeof *times; t++)
        if (js_get(hooks, times[t]) != NULL)
            js_set(out, times[t], copy_each(js_get(hooks, times[t]), kept));
    return out;
}

/* Of an OCI runtime specification only what is about devices: no command, variables, names and folders. */
static void add_specification(const char *bytes, size_t length, struct text *out) {
    static const char *const notes[] = {"io.container.manager", "io.podman.annotations.autoremove",
                                        "io.podman.annotations.privileged", NULL};
    static const char *const node[] = {"path", "type", "major", "minor", "fileMode", NULL};
    static const char *const rule[] = {"allow", "type", "major", "minor", "access", NULL};
    struct error err = {0};
    js *all = js_parse(bytes, length, &err);
    const js *from = js_get(all, "linux");
    js *some = js_new_object(), *annotations = js_new_object(), *os = js_new_object();
    js *resources = js_new_object();
    copy_members(js_get(all, "annotations"), notes, annotations);
    js_set(resources, "devices", copy_each(js_get(js_get(from, "resources"), "devices"), rule));
    js_set(os, "devices", copy_each(js_get(from, "devices"), node));
    if (js_get_string(from, "cgroupsPath", "")[0] != '\0')
        js_set_string(os, "cgroupsPath", LEFT_OUT);
    js_set(os, "resources", resources);
    js_set(some, "annotations", annotations);
    js_set(some, "mounts", copy_binds(js_get(all, "mounts")));
    js_set(some, "hooks", copy_hooks(js_get(all, "hooks")));
    js_set(some, "linux", os);
    add_json(some, out);
    js_free(all);
}

/* Podman's list of containers: which id has which name. */
static void add_names(const char *bytes, size_t length, struct text *out) {
    static const char *const kept[] = {"id", "names", NULL};
    struct error err = {0};
    js *all = js_parse(bytes, length, &err);
    js *some = copy_each(all, kept);
    add_json(some, out);
    js_free(all);
}

static bool is_identity(const char *path) {
    static const char *const files[] = {"*/machine-id", "*serial*",     "*_uuid",
                                        "*asset_tag",   "*/hostname",   "*/domainname",
                                        "/etc/passwd*", "/etc/shadow*", "/etc/ld.so.cache"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (text_matches(files[i], path))
            return true;
    return false;
}

static bool any_matches(const char *path, const char *const *patterns) {
    for (; *patterns != NULL; patterns++)
        if (text_matches(*patterns, path))
            return true;
    return false;
}

bool capture_clean_file(const char *path, const char *bytes, size_t length, struct text *out) {
    static const char *const units[] = {"*/systemd/*.service", "*/systemd/*.conf", NULL};
    static const char *const lxc[] = {"/etc/pve/lxc/*", "/var/lib/lxc/*", "/etc/lxc/*", "*/lxc/config/*",
                                      NULL};
    if (is_identity(path))
        return false;
    if (text_matches("/proc/*/environ", path))
        add_environ(bytes, length, out);
    else if (strlen(bytes) != length)
        text_add_bytes(out, bytes, length); /* PCI config space */
    else if (any_matches(path, lxc))
        add_lines(bytes, lxc_line, out);
    else if (text_ends(path, "/hostconfig.json"))
        add_docker(bytes, length, out);
    else if (text_ends(path, "/userdata/config.json"))
        add_specification(bytes, length, out);
    else if (text_ends(path, "-containers/containers.json"))
        add_names(bytes, length, out);
    else if (any_matches(path, units))
        add_lines(bytes, unit_line, out);
    else if (strcmp(path, "/etc/group") == 0)
        add_lines(bytes, group_line, out);
    else if (text_ends(path, "/mountinfo") || text_ends(path, "/mounts"))
        add_lines(bytes, mount_line, out);
    else
        add_without_secrets(bytes, out);
    return true;
}

/* ---- the kernel log ---- */

/* "52:54:00:12:34:56": six pairs, no more and no fewer. */
static size_t mac_length(const char *s) {
    size_t at = 0;
    while (at < 17 && (at % 3 == 2 ? s[at] == ':' : isxdigit((unsigned char)s[at]) != 0))
        at++;
    return at == 17 && s[at] != ':' && !isxdigit((unsigned char)s[at]) ? at : 0;
}

/* "192.168.1.2": four numbers up to 255. Versions of drivers have at most three. */
static size_t address_length(const char *s) {
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        char *end = NULL;
        if (!isdigit((unsigned char)s[at]) || strtol(s + at, &end, 10) > 255 || end - (s + at) > 3)
            return 0;
        at = (size_t)(end - s);
        if (part < 3 && s[at++] != '.')
            return 0;
    }
    bool longer = s[at] == '.' && isdigit((unsigned char)s[at + 1]);
    return longer || isalnum((unsigned char)s[at]) ? 0 : at;
}

/* "Hostname set to <db>", "Set hostname to <db>." of systemd: how long up to the name; 0: it is something
 * else. */
static size_t host_name(const char *s, size_t *length) {
    static const char *const starts[] = {"Hostname set to <", "hostname to <"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (text_starts(s, starts[i])) {
            *length = strcspn(s + strlen(starts[i]), ">\n");
            return strlen(starts[i]);
        }
    return 0;
}

void capture_clean_log(const char *log, struct text *out) {
    struct text plain = {0};
    bool inside = false; /* of a word */
    for (const char *s = log; *s != '\0';) {
        size_t length = inside ? 0 : mac_length(s);
        size_t name = 0;
        size_t before = inside ? 0 : host_name(s, &name);
        if (before > 0) {
            text_add_bytes(&plain, s, before);
            text_add(&plain, LEFT_OUT);
            s += before + name;
            continue;
        }
        if (length == 0 && !inside)
            length = address_length(s);
        if (length > 0)
            text_add(&plain, LEFT_OUT);
        else
            text_add_bytes(&plain, s, 1);
        inside = length > 0 || isalnum((unsigned char)*s) || *s == ':' || *s == '.';
        s += length > 0 ? length : 1;
    }
    add_without_secrets(text_string(&plain), out);
    text_free(&plain);
}

/* ---- topology ---- */

static bool is_identifying(const char *info) {
    static const char *const words[] = {"HostName", "Serial", "UUID", "AssetTag",
                                        "Address",  "GUID",   "GID",  "MAC"};
    static const char start[] = "name=\"";
    const char *name = strstr(info, start);
    if (name == NULL)
        return false;
    name += sizeof start - 1;
    char *copy = mem_copy_bytes(name, strcspn(name, "\""));
    bool found = false;
    /* GPUs are known by their UUID everywhere else. */
    for (size_t i = 0; i < sizeof words / sizeof *words && !found; i++)
        found =
            strstr(copy, words[i]) != NULL && strcmp(copy, "NVIDIAUUID") != 0 && !text_starts(copy, "hwloc");
    free(copy);
    return found;
}

/* An element <info …/> a line, as hwloc writes it. */
static void topology_line(char *line, struct text *out) {
    if (strstr(line, "<info ") == NULL || !is_identifying(line))
        text_add(out, line);
}

void capture_clean_topology(const char *xml, struct text *out) {
    add_lines(xml, topology_line, out);
}
