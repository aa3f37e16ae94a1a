/* SPDX-License-Identifier: Apache-2.0 */
#include "system/capture_write.h"

#include "base/build.h"
#include "base/files.h"
#include "base/mem.h"
#include "system/capture_clean.h"
#include "system/capture_tree.h"
#include "system/files_table.h"
#include "system/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the folder ---- */

static bool is_empty(const char *dir) {
    DIR *stream = opendir(dir);
    const struct dirent *entry;
    bool empty = stream != NULL;
    while (empty && (entry = readdir(stream)) != NULL)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (stream != NULL)
        closedir(stream);
    return empty;
}

/* Without slashes at the end, which would follow a link there. */
static char *place_of(const char *dir) {
    size_t length = strlen(dir);
    while (length > 1 && dir[length - 1] == '/')
        length--;
    return mem_copy_bytes(dir, length);
}

/* Beside its place, so that it can be renamed. Owned; NULL with `err`. */
static char *make_beside(const char *place, struct error *err) {
    struct text path = {0};
    text_addf(&path, "%s.part-%d", place, (int)getpid());
    if (mkdir(path.data, 0700) == 0 && chmod(path.data, 0700) == 0)
        return text_take(&path);
    FAIL_NATIVE(err, ERROR_SYSTEM, errno,
                "cannot make the capture %s (its folder is made beside it first): %s", place,
                strerror(errno));
    text_free(&path);
    return NULL;
}

static bool check_place(const char *dir, struct error *err) {
    struct stat st;
    if (lstat(dir, &st) != 0)
        return errno == ENOENT ||
               FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot look at %s: %s", dir, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return FAIL(err, ERROR_USAGE, "%s is there and no folder; name a new one for the capture", dir);
    return is_empty(dir) || FAIL(err, ERROR_USAGE, "%s is not empty; name a new folder for the capture", dir);
}

/* The folder is made before anything is looked at, which takes seconds, so that what cannot be is said first.
 */
static bool try_beside(const char *place, struct error *err) {
    char *folder = make_beside(place, err);
    if (folder == NULL)
        return RELAY(err);
    (void)rmdir(folder);
    free(folder);
    return true;
}

bool capture_check(const char *dir, struct error *err) {
    if (dir[0] == '\0')
        return FAIL(err, ERROR_USAGE, "--capture needs a folder's name");
    char *place = place_of(dir);
    bool good = check_place(place, err) && try_beside(place, err);
    free(place);
    return good || RELAY(err);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *where) {
    (void)st;
    (void)flag;
    (void)where;
    return remove(path);
}

static bool put(const char *folder, const char *name, const char *data, size_t length, struct error *err) {
    char *path = path_join(folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct error why = {0};
    bool good = fd >= 0 && fd_write_all(fd, data, length, &why);
    if (fd < 0)
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot write %s: %s", path, strerror(errno));
    else if (!good)
        FAIL(err, ERROR_SYSTEM, "%s: %s", path, why.text);
    if (fd >= 0)
        close(fd);
    free(path);
    return good;
}

static bool put_json(const char *folder, const char *name, const js *value, struct error *err) {
    char *text = js_text_pretty(value);
    bool good = put(folder, name, text, strlen(text), err);
    free(text);
    return good;
}

/* ---- what is in it ---- */

static bool put_manifest(const char *folder, const struct capture *c, bool incomplete, bool cut,
                         struct error *err) {
    char taken[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL)
        strftime(taken, sizeof taken, "%Y-%m-%dT%H:%M:%SZ", &utc);
    js *out = js_new_object();
    js_set_string(out, "schema", "gpuvet.capture/1");
    js_set_string(out, "where", c->where);
    if (c->manager != NULL && c->manager[0] != '\0')
        js_set_string(out, "manager", c->manager);
    js_set_string(out, "taken", taken);
    js_set_string(out, "gpuvet", build_version());
    js_set_bool(out, "recorded", !cut);
    if (incomplete)
        js_set_bool(out, "incomplete", true);
    if (cut)
        js_set_bool(out, "cut", true);
    char *path = path_join(folder, "manifest.json");
    char *text = js_text_pretty(out);
    bool good = file_replace(path, text, strlen(text), err);
    free(text);
    free(path);
    js_free(out);
    return good;
}

static void set_known(js *object, const char *key, const char *value) {
    if (value != NULL)
        js_set_string(object, key, value);
}

/* Of the modules whose files were read. */
static js *modinfo_of_all(const struct driver_state *driver) {
    js *out = js_new_object();
    for (size_t i = 0; i < driver->n_modules; i++) {
        const struct driver_module *m = &driver->modules[i];
        js *info = js_new_object();
        set_known(info, "version", m->version);
        set_known(info, "license", m->license);
        set_known(info, "vermagic", m->vermagic);
        set_known(info, "signer", m->signer);
        if (js_length(info) > 0)
            js_set(out, m->path, js_keep(info));
        js_free(info);
    }
    return out;
}

/* What is known from asking, and what only live readers find. */
static js *probes_of(const struct capture *c) {
    static const char *const files[N_LIBRARIES] = {"libcuda.so.1", "libnvidia-ml.so.1", "libnccl.so.2",
                                                   "libcublasLt.so.13", "libcublasLt.so.12"};
    js *out = js_is_object(c->source->probes) ? js_copy(c->source->probes) : js_new_object();
    js *libs = js_get(out, "libs");
    const struct fact_number *pm_qos = &c->facts->idle.pm_qos_latency_us;
    if (!js_is_object(libs)) {
        libs = js_new_object();
        js_set(out, "libs", libs);
    }
    js *versions = js_get(out, "lib_versions");
    if (!js_is_object(versions)) {
        versions = js_new_object();
        js_set(out, "lib_versions", versions);
    }
    for (size_t i = 0; i < N_LIBRARIES; i++) {
        const char *path = c->facts->libraries[i].path.value;
        if (path != NULL && js_get(libs, files[i]) == NULL)
            js_set_string(libs, files[i], path);
        if (path != NULL && js_get(versions, path) == NULL)
            set_known(versions, path, c->facts->libraries[i].version.value);
    }
    if (js_get(out, "modinfo") == NULL)
        js_set(out, "modinfo", modinfo_of_all(c->driver));
    set_known(out, "machine_id", c->facts->kernel.machine_id.value);
    if (pm_qos->known)
        js_set_int(out, "pm_qos_cpu_latency_us", pm_qos->value);
    else if (pm_qos->why != NULL)
        js_set_string(out, "pm_qos_cpu_latency_us", pm_qos->why);
    const struct fact *holders = &c->facts->idle.pm_qos_holders;
    set_known(out, "pm_qos_holders", holders->value != NULL ? holders->value : holders->why);
    return out;
}

/* path, type, mode, uid, gid, major, minor, open, and "made" for what the probe made. */
static void add_node(const struct device_node *n, struct text *out) {
    table_escape(out, n->path);
    text_addf(out, "\t%c", n->type == '?' ? '-' : n->type);
    if (n->mode >= 0)
        text_addf(out, "\t%04o", (unsigned)n->mode);
    else
        text_add(out, "\t");
    const int64_t numbers[] = {n->uid, n->gid, n->major, n->minor};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        text_add(out, "\t");
        if (numbers[i] >= 0)
            text_addf(out, "%lld", (long long)numbers[i]);
    }
    text_addf(out, "\t%s%s\n", n->open[0] == '\0' ? "-" : n->open, n->made_by_probe ? "\tmade" : "");
}

static bool put_nodes(const char *folder, const struct device_nodes *nodes, struct error *err) {
    struct text table = {0};
    for (size_t i = 0; i < nodes->count; i++)
        add_node(&nodes->items[i], &table);
    bool good = !nodes->known || put(folder, "dev.tsv", text_string(&table), table.length, err);
    text_free(&table);
    return good;
}

static bool put_clean(const char *folder, const char *name, const char *text,
                      void (*clean)(const char *text, struct text *out), struct error *err) {
    struct text kept = {0};
    if (text == NULL)
        return true;
    clean(text, &kept);
    bool good = put(folder, name, text_string(&kept), kept.length, err);
    text_free(&kept);
    return good;
}

/* Listed, not copied: modules, firmware, libraries. */
static void add_large(struct capture_tree *tree, const struct capture *c) {
    for (size_t i = 0; i < c->driver->files.count; i++)
        capture_tree_add(tree, &(struct recorded){.path = c->driver->files.items[i].path});
    for (size_t i = 0; i < N_LIBRARIES; i++)
        if (c->facts->libraries[i].path.value != NULL)
            capture_tree_add(tree, &(struct recorded){.path = c->facts->libraries[i].path.value});
}

static bool put_tree(const char *folder, const struct capture *c, bool *cut, struct error *err) {
    const struct recording *recording = c->source->recording;
    char *root = path_join(folder, "root");
    struct capture_tree tree = {.root = -1};
    bool good = mkdir(root, 0700) == 0;
    if (good)
        tree.root = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    good = good && tree.root >= 0;
    if (!good)
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot make the folder %s: %s", root, strerror(errno));
    for (size_t i = 0; good && i < recording->count; i++)
        capture_tree_add(&tree, &recording->items[i]);
    if (good)
        add_large(&tree, c);
    if (tree.root >= 0)
        close(tree.root);
    *cut = tree.cut || recording->cut;
    good = good && put(folder, "files.tsv", text_string(&tree.table), tree.table.length, err);
    text_free(&tree.table);
    free(root);
    return good;
}

static bool fill(const char *folder, const struct capture *c, struct error *err) {
    bool cut = false;
    js *probes = probes_of(c);
    bool good = put_manifest(folder, c, true, false, err) && put_tree(folder, c, &cut, err) &&
                put_json(folder, "probes.json", probes, err) && put_nodes(folder, c->nodes, err) &&
                put_clean(folder, "klog.txt", c->kernel_log, capture_clean_log, err) &&
                put_clean(folder, "topology.xml", c->topology, capture_clean_topology, err) &&
                put_manifest(folder, c, false, cut, err);
    js_free(probes);
    return good;
}

bool capture_write(const char *dir, const struct capture *capture, struct error *err) {
    if (!capture_check(dir, err))
        return RELAY(err);
    char *place = place_of(dir);
    char *folder = make_beside(place, err);
    bool good = folder != NULL && fill(folder, capture, err);
    if (good && rename(folder, place) != 0)
        good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot name the capture %s: %s", dir, strerror(errno));
    if (!good && folder != NULL)
        (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(folder);
    free(place);
    return good || RELAY(err);
}
