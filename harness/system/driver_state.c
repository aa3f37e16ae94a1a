/* SPDX-License-Identifier: Apache-2.0 */
#include "system/driver_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "system/look.h"
#include "system/modinfo.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MODULES = 512, MAX_LINES = 4096, MAX_DEPENDENCIES = 8 << 20 };

/* ---- small questions ---- */

bool driver_is_version(const char *text) {
    if (text == NULL || strlen(text) > 40)
        return false;
    size_t branch = strspn(text, "0123456789");
    return branch >= 3 && text[branch] == '.' && isdigit((unsigned char)text[branch + 1]) &&
           text[strspn(text, "0123456789.")] == '\0';
}

int driver_release_compare(const char *a, const char *b) {
    while (*a != '\0' || *b != '\0') {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t first = strspn(a, "0123456789"), second = strspn(b, "0123456789");
            int order = first != second ? (first < second ? -1 : 1) : strncmp(a, b, first);
            if (order != 0)
                return order;
            a += first;
            b += second;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return 0;
}

int driver_state_loaded(const struct driver_state *state, const char *module) {
    size_t length = strlen(module);
    if (state->loaded == NULL)
        return -1;
    for (const char *line = state->loaded; *line != '\0';) {
        if (strncmp(line, module, length) == 0 && line[length] == ' ')
            return 1;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return 0;
}

/* ---- modules on the disk ---- */

/* "/lib/modules/RELEASE/…/NAME.ko[.xz]" → its parts; false for anything else. */
static bool split_path(const char *path, char **kernel, char **name) {
    static const char folder[] = "/lib/modules/";
    if (!text_starts(path, folder))
        return false;
    const char *release = path + strlen(folder);
    const char *slash = strrchr(release, '/');
    const char *end = slash == NULL ? NULL : strstr(slash, ".ko");
    if (end == NULL || (end[3] != '\0' && end[3] != '.'))
        return false;
    *kernel = mem_copy_bytes(release, strcspn(release, "/"));
    *name = mem_copy_bytes(slash + 1, (size_t)(end - slash - 1));
    for (char *s = *name; *s != '\0'; s++)
        *s = *s == '_' ? '-' : *s;
    return true;
}

static char *copy_member(const js *info, const char *key) {
    const char *value = js_get_string(info, key, NULL);
    return value == NULL ? NULL : text_printable(value);
}

/* A capture's modinfo may name the file by /usr/lib. */
static const js *captured_info(const struct source *source, const char *path) {
    const js *all = js_get(source->probes, "modinfo");
    const js *info = js_get(all, path);
    char merged[4096];
    if (info == NULL && snprintf(merged, sizeof merged, "/usr%s", path) < (int)sizeof merged)
        info = js_get(all, merged);
    return info;
}

/* Debian and others name the driver's main module after its branch: nvidia-current.ko. */
static bool has_name(const struct driver_module *module, const char *name) {
    static const char *const parts[] = {"*-uvm", "*-drm", "*-modeset", "*-peermem", "*-vfio", "*-fs"};
    if (strcmp(module->name, name) == 0)
        return true;
    bool branch = text_starts(module->name, "nvidia-current") || text_starts(module->name, "nvidia-tesla") ||
                  text_starts(module->name, "nvidia-legacy");
    if (strcmp(name, "nvidia") != 0 || !branch)
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (text_matches(parts[i], module->name))
            return false;
    return true;
}

static void take_module(const struct source *source, struct driver_state *state, const char *path) {
    char *kernel = NULL, *name = NULL;
    if (state->n_modules >= MAX_MODULES || !split_path(path, &kernel, &name))
        return;
    state->modules =
        mem_grow(state->modules, state->n_modules, &state->modules_capacity, sizeof *state->modules);
    struct driver_module *module = &state->modules[state->n_modules++];
    *module = (struct driver_module){.path = mem_copy_string(path), .kernel = kernel, .name = name};
    js *live = source->live && has_name(module, "nvidia") ? modinfo_read(path) : NULL;
    const js *info = source->live ? live : captured_info(source, path);
    module->version = copy_member(info, "version");
    module->license = copy_member(info, "license");
    module->vermagic = copy_member(info, "vermagic");
    module->signer = copy_member(info, "signer");
    js_free(live);
}

static void read_modules_on_disk(const struct source *source, struct driver_state *state) {
    size_t count = 0;
    const struct listed_file *files = file_list_below(&state->files, "/lib/modules/", &count);
    for (size_t i = 0; i < count; i++) {
        const char *name = strrchr(files[i].path, '/') + 1;
        if (text_matches("nvidia*.ko*", name) && files[i].type != 'd')
            take_module(source, state, files[i].path);
    }
}

/* depmod takes updates/ first, then what weak-modules and packages put in extra/, then the rest. */
static int rank(const struct driver_module *module) {
    static const char *const order[] = {"*/updates/*", "*/extra/*", "*/weak-updates/*"};
    for (int i = 0; i < 3; i++)
        if (text_matches(order[i], module->path))
            return i;
    return 3;
}

const struct driver_module *driver_state_module(const struct driver_state *state, const char *kernel,
                                                const char *name) {
    const struct driver_module *best = NULL;
    for (size_t i = 0; i < state->n_modules; i++) {
        const struct driver_module *module = &state->modules[i];
        if (strcmp(module->kernel, kernel) == 0 && has_name(module, name) &&
            (best == NULL || rank(module) < rank(best)))
            best = module;
    }
    return best;
}

/* More than one main module for the running kernel. */
static bool has_choice(const struct driver_state *state) {
    size_t count = 0;
    for (size_t i = 0; i < state->n_modules; i++)
        count +=
            strcmp(state->modules[i].kernel, state->release) == 0 && has_name(&state->modules[i], "nvidia");
    return count > 1;
}

/* depmod's own choice, where its list can be read: "updates/dkms/nvidia.ko: …". */
static const struct driver_module *listed_module(const struct source *source,
                                                 const struct driver_state *state) {
    struct text path = {0}, list = {0};
    const struct driver_module *out = NULL;
    text_addf(&path, "/lib/modules/%s/modules.dep", state->release);
    if (look_bytes(source, text_string(&path), MAX_DEPENDENCIES, &list))
        for (size_t i = 0; i < state->n_modules && out == NULL; i++) {
            const struct driver_module *module = &state->modules[i];
            if (strcmp(module->kernel, state->release) != 0 || !has_name(module, "nvidia"))
                continue;
            const char *below = module->path + strlen("/lib/modules/") + strlen(state->release) + 1;
            const char *at = strstr(text_string(&list), below);
            if (at != NULL && (at == list.data || at[-1] == '\n') && at[strlen(below)] == ':')
                out = module;
        }
    text_free(&list);
    text_free(&path);
    return out;
}

/* ---- modprobe.d and the command line ---- */

static bool about_gpus(const char *module) {
    return text_starts(module, "nvidia") || text_starts(module, "nouveau") || text_starts(module, "nova");
}

static void add_line(struct driver_state *state, const char *file, int line, const char *command,
                     const char *module, const char *rest) {
    char *name = mem_copy_string(module);
    for (char *s = name; *s != '\0'; s++)
        *s = *s == '-' ? '_' : *s;
    if (state->n_lines >= MAX_LINES || !about_gpus(name)) {
        free(name);
        return;
    }
    state->lines = mem_grow(state->lines, state->n_lines, &state->lines_capacity, sizeof *state->lines);
    state->lines[state->n_lines++] = (struct modprobe_line){.file = mem_copy_string(file),
                                                            .line = line,
                                                            .command = mem_copy_string(command),
                                                            .module = name,
                                                            .rest = mem_copy_string(rest)};
}

static void take_modprobe_file(struct driver_state *state, const char *file, char *text) {
    char *rest = text;
    for (int line = 1; rest != NULL; line++) {
        char *one = text_trim(strsep(&rest, "\n"));
        char *command = strsep(&one, " \t");
        while (one != NULL && (*one == ' ' || *one == '\t'))
            one++;
        char *module = one == NULL ? NULL : strsep(&one, " \t");
        if (module != NULL && command[0] != '#' && module[0] != '\0')
            add_line(state, file, line, command, module, one == NULL ? "" : text_trim(one));
    }
}

/* The same name in an earlier folder hides a later one. */
static void read_modprobe(const struct source *source, struct driver_state *state) {
    static const char *const folders[] = {"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d",
                                          "/usr/lib/modprobe.d", "/lib/modprobe.d"};
    struct strings seen = {0};
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
        struct strings names = {0};
        look_list(source, folders[f], &names);
        for (size_t i = 0; i < names.count; i++) {
            struct text path = {0}, text = {0};
            text_addf(&path, "%s/%s", folders[f], names.items[i]);
            if (text_ends(names.items[i], ".conf") && !strings_contain(&seen, names.items[i]) &&
                look_bytes(source, text_string(&path), LOOK_LARGE, &text) && text.length > 0)
                take_modprobe_file(state, text_string(&path), text.data);
            strings_add(&seen, names.items[i]);
            text_free(&path);
            text_free(&text);
        }
        strings_free(&names);
    }
    strings_free(&seen);
}

/* modprobe.blacklist=a,b and module_blacklist=a,b; rd.driver.blacklist holds in the initial RAM disk only. */
static void read_cmdline_lines(const struct source *source, struct driver_state *state) {
    static const char *const keys[] = {"modprobe.blacklist=", "module_blacklist="};
    struct text text = {0};
    struct strings words = {0};
    if (look_bytes(source, "/proc/cmdline", 65536, &text) && text.length > 0)
        strings_split(&words, text_trim(text.data), ' ');
    for (size_t i = 0; i < words.count; i++) {
        char *equals = strchr(words.items[i], '=');
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            struct strings modules = {0};
            if (text_starts(words.items[i], keys[k]))
                strings_split(&modules, words.items[i] + strlen(keys[k]), ',');
            for (size_t m = 0; m < modules.count; m++)
                add_line(state, "/proc/cmdline", 0, "blacklist", modules.items[m], "");
            strings_free(&modules);
        }
        char *dot = strchr(words.items[i], '.');
        if (equals == NULL || dot == NULL || dot > equals)
            continue;
        *dot = '\0'; /* nouveau.modeset=0 */
        add_line(state, "/proc/cmdline", 0, "options", words.items[i], dot + 1);
    }
    strings_free(&words);
    text_free(&text);
}

/* ---- the rest ---- */

/* Four bytes of attributes, then the value. */
static int read_secure_boot(const struct source *source) {
    struct text text = {0};
    int out = -1;
    if (look_bytes(source, "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", 16,
                   &text) &&
        text.length == 5 && (text.data[4] == 0 || text.data[4] == 1))
        out = text.data[4] == 1;
    text_free(&text);
    return out;
}

static char *read_release(const struct source *source) {
    const char *probed = js_get_string(js_get(source->probes, "uname"), "release", NULL);
    char *out = probed != NULL ? mem_copy_string(probed) : look_text(source, "/proc/sys/kernel/osrelease");
    if (out != NULL && (strchr(out, '/') != NULL || strlen(out) > 200)) {
        free(out);
        out = NULL;
    }
    return out;
}

static char *read_distribution(const struct source *source) {
    struct text text = {0};
    char *out = NULL;
    if (look_exists(source, "/etc/pve") || look_exists(source, "/usr/bin/pveversion"))
        out = mem_copy_string("proxmox");
    else if (look_bytes(source, "/etc/os-release", LOOK_SMALL, &text))
        for (char *rest = text.data; rest != NULL && out == NULL;) {
            char *line = strsep(&rest, "\n");
            if (text_starts(line, "ID=")) {
                char *value = text_trim(line + 3);
                value += *value == '"';
                out = mem_copy_bytes(value, strcspn(value, "\""));
            }
        }
    text_free(&text);
    return out != NULL ? out : mem_copy_string("");
}

void driver_state_read(const struct source *source, struct driver_state *out) {
    struct text loaded = {0};
    *out = (struct driver_state){0};
    file_list_read(source, &out->files);
    out->release = read_release(source);
    out->distribution = read_distribution(source);
    out->secure_boot = read_secure_boot(source);
    if (look_bytes(source, "/proc/modules", LOOK_LARGE, &loaded))
        out->loaded = text_take(&loaded);
    text_free(&loaded);
    read_modules_on_disk(source, out);
    read_modprobe(source, out);
    read_cmdline_lines(source, out);
    if (out->release != NULL) {
        out->disk = driver_state_module(out, out->release, "nvidia");
        /* depmod's list is large: it is read where there is a choice. */
        const struct driver_module *chosen = has_choice(out) ? listed_module(source, out) : NULL;
        out->disk = chosen != NULL ? chosen : out->disk;
    }
}

void driver_state_free(struct driver_state *state) {
    for (size_t i = 0; i < state->n_modules; i++) {
        struct driver_module *module = &state->modules[i];
        char *owned[] = {module->path,    module->kernel,   module->name,  module->version,
                         module->license, module->vermagic, module->signer};
        for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
            free(owned[k]);
    }
    for (size_t i = 0; i < state->n_lines; i++) {
        struct modprobe_line *line = &state->lines[i];
        char *owned[] = {line->file, line->command, line->module, line->rest};
        for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
            free(owned[k]);
    }
    free(state->modules);
    free(state->lines);
    file_list_free(&state->files);
    free(state->release);
    free(state->loaded);
    free(state->distribution);
    *state = (struct driver_state){0};
}
