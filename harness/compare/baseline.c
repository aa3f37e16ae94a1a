/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, reading and removing baselines. */
#include "compare/baseline.h"

#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "compare/baseline_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

bool baseline_name_is_good(const char *name) {
    size_t length = strlen(name);
    return length > 0 && length <= BASELINE_MAX_NAME && name[0] != '.' && strspn(name, allowed) == length;
}

bool baseline_check_name(const char *name, struct error *err) {
    if (baseline_name_is_good(name))
        return true;
    return FAIL(err, ERROR_USAGE,
                "'%.80s' cannot name a baseline: use up to %d of A-Z a-z 0-9 . _ -, not beginning with a dot",
                name, BASELINE_MAX_NAME);
}

char *baseline_path(const char *results, const char *name, const char *file) {
    struct text t = {0};
    text_addf(&t, "%s/baselines", results);
    if (name != NULL)
        text_addf(&t, "/%s", name);
    if (file != NULL)
        text_addf(&t, "/%s", file);
    return text_take(&t);
}

bool baseline_exists(const char *results, const char *name) {
    struct stat st;
    if (!baseline_name_is_good(name))
        return false;
    char *path = baseline_path(results, name, NULL);
    /* What hides behind a folder without permission may be there: reading it says what is the matter. */
    bool there = lstat(path, &st) == 0 ? S_ISDIR(st.st_mode) : errno == EACCES;
    free(path);
    return there;
}

bool baseline_names(const char *results, struct strings *names, struct error *err) {
    char *path = baseline_path(results, NULL, NULL);
    DIR *folder = opendir(path);
    int code = errno;
    bool good = folder != NULL || code == ENOENT;
    if (!good)
        FAIL_NATIVE(err, ERROR_SYSTEM, code, "cannot list %s: %s", path, strerror(code));
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL && names->count < BASELINE_MAX_NAMES)
        if (baseline_exists(results, entry->d_name)) /* a half-made one begins with a dot */
            strings_add(names, entry->d_name);
    if (folder != NULL)
        closedir(folder);
    strings_sort(names);
    free(path);
    return good;
}

/* Refuses a name under which nothing was saved, and offers the nearest one. */
static bool must_exist(const char *results, const char *name, struct error *err) {
    if (!baseline_check_name(name, err))
        return false;
    if (baseline_exists(results, name))
        return true;
    struct strings names = {0};
    struct error ignored = {0};
    baseline_names(results, &names, &ignored);
    const char *near = text_nearest(name, (const char *const *)names.items, names.count);
    if (near != NULL)
        FAIL(err, ERROR_USAGE, "there is no baseline '%s' in %s; did you mean %s?", name, results, near);
    else
        FAIL(err, ERROR_USAGE,
             "there is no baseline '%s' in %s: gpuvet baseline list shows those that are there", name,
             results);
    strings_free(&names);
    return false;
}

/* ---- the manifest ---- */

static bool is_checksum(const char *s) {
    return strlen(s) == SHA256_HEX_SIZE - 1 && strspn(s, "0123456789abcdef") == SHA256_HEX_SIZE - 1;
}

static bool check_manifest(const js *manifest, const char *path, struct error *err) {
    const char *schema = js_get_string(manifest, "schema", "");
    /* Nothing is damaged then, so nobody is told to remove it. */
    if (text_starts(schema, "gpuvet.baseline/") && strcmp(schema, "gpuvet.baseline/1") != 0)
        return FAIL(
            err, ERROR_USAGE,
            "%s: its schema is %.60s, this gpuvet reads gpuvet.baseline/1; use the gpuvet that wrote it",
            path, schema);
    if (strcmp(schema, "gpuvet.baseline/1") != 0)
        return FAIL(err, ERROR_DATA, "%s is no manifest of a baseline (schema gpuvet.baseline/1)", path);
    const js *runs = js_get(manifest, "runs");
    size_t n = js_length(runs);
    if (!js_is_array(runs) || n == 0 || n > BASELINE_MAX_RUNS)
        return FAIL(err, ERROR_DATA, "%s: runs is no list of 1 to %d runs", path, BASELINE_MAX_RUNS);
    for (size_t i = 0; i < n; i++) {
        /* The name is joined to the folder: nothing may lead out of it. */
        if (!baseline_name_is_good(js_get_string(js_at(runs, i), "file", "")))
            return FAIL(err, ERROR_DATA, "%s: run %zu has no usable file name", path, i + 1);
        if (!is_checksum(js_get_string(js_at(runs, i), "sha256", "")))
            return FAIL(err, ERROR_DATA, "%s: run %zu has no sha256", path, i + 1);
    }
    return true;
}

js *baseline_manifest(const char *results, const char *name, struct error *err) {
    if (!must_exist(results, name, err))
        return NULL;
    char *path = baseline_path(results, name, "baseline.json");
    struct text bytes = {0};
    js *manifest = NULL;
    if (file_read(path, BASELINE_MAX_MANIFEST, &bytes, err)) {
        manifest = js_parse(text_string(&bytes), bytes.length, err);
        if (manifest == NULL) {
            error_context(err, "%s", path);
        } else if (!check_manifest(manifest, path, err)) {
            js_free(manifest);
            manifest = NULL;
        }
    }
    /* Removing is no advice for one that merely cannot be read by this user. */
    if (manifest == NULL && (err->kind == ERROR_DATA || err->native == ENOENT))
        error_context(err, "baseline '%s' is damaged (gpuvet baseline remove %s, then save it again)", name,
                      name);
    else if (manifest == NULL)
        error_context(err, "baseline '%s'", name);
    text_free(&bytes);
    free(path);
    return manifest;
}

/* ---- loading ---- */

void runs_free(struct run *runs, size_t n) {
    for (size_t i = 0; i < n; i++)
        run_free(&runs[i]);
    free(runs);
}

bool runs_add(const char *path, struct run **runs, size_t *n, struct error *err) {
    *runs = mem_resize(*runs, *n + 1, sizeof **runs);
    if (!run_read(path, &(*runs)[*n], err))
        return RELAY(err);
    (*n)++;
    return true;
}

static bool load_checked(const char *results, const char *name, const js *entry, struct run **runs, size_t *n,
                         struct error *err) {
    char *path = baseline_path(results, name, js_get_string(entry, "file", ""));
    struct text bytes = {0};
    char sum[SHA256_HEX_SIZE];
    bool good = file_read(path, RUN_MAX_BYTES, &bytes, err);
    if (good) {
        sha256_hex(text_string(&bytes), bytes.length, sum);
        good = strcmp(sum, js_get_string(entry, "sha256", "")) == 0 ||
               FAIL(err, ERROR_DATA,
                    "%s is not what was saved (its checksum differs): save the baseline again", path);
    }
    text_free(&bytes);
    good = good && runs_add(path, runs, n, err);
    free(path);
    return good;
}

bool baseline_load(const char *results, const char *name, struct run **runs, size_t *n, struct error *err) {
    js *manifest = baseline_manifest(results, name, err);
    *runs = NULL;
    *n = 0;
    if (manifest == NULL)
        return RELAY(err);
    const js *list = js_get(manifest, "runs");
    bool good = true;
    for (size_t i = 0; i < js_length(list) && good; i++)
        good = load_checked(results, name, js_at(list, i), runs, n, err);
    js_free(manifest);
    if (good)
        return true;
    runs_free(*runs, *n);
    *runs = NULL;
    *n = 0;
    return error_context(err, "baseline '%s'", name);
}

bool baseline_find(const char *results, const char *name, const char *machine_id, char **found,
                   struct error *err) {
    *found = NULL;
    if (name != NULL) {
        if (!must_exist(results, name, err))
            return RELAY(err);
        *found = mem_copy_string(name);
        return true;
    }
    struct strings names = {0};
    if (!baseline_names(results, &names, err)) {
        strings_free(&names);
        return RELAY(err);
    }
    char *newest = NULL;
    for (size_t i = 0; i < names.count && machine_id != NULL; i++) {
        struct error damaged = {0}; /* one that nobody asked for by name stands in nobody's way */
        js *manifest = baseline_manifest(results, names.items[i], &damaged);
        if (manifest == NULL)
            log_warning("passed over: %s", damaged.text);
        const char *created = js_get_string(manifest, "created", "");
        if (manifest != NULL && !js_get_bool(manifest, "simulated", false) &&
            strcmp(js_get_string(manifest, "machine_id", ""), machine_id) == 0 &&
            (newest == NULL || strcmp(created, newest) >= 0)) {
            free(newest);
            newest = mem_copy_string(created);
            free(*found);
            *found = mem_copy_string(names.items[i]);
        }
        js_free(manifest);
    }
    free(newest);
    strings_free(&names);
    return true;
}

/* ---- removing ---- */

/* A baseline's folder holds files only; what else somebody put there is left, and named. */
bool baseline_remove_folder(const char *path, struct error *err) {
    DIR *folder = opendir(path);
    if (folder == NULL)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot open %s: %s", path, strerror(errno));
    struct dirent *entry;
    bool good = true;
    while (good && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(folder), entry->d_name, 0) != 0)
            good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot remove %s/%s: %s", path, entry->d_name,
                               strerror(errno));
    }
    closedir(folder);
    if (good && rmdir(path) != 0)
        good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot remove %s: %s", path, strerror(errno));
    return good;
}

bool baseline_remove(const char *results, const char *name, struct error *err) {
    if (!must_exist(results, name, err))
        return RELAY(err);
    struct text hidden = {0};
    text_addf(&hidden, ".%s.old.%ld", name, (long)getpid());
    char *path = baseline_path(results, name, NULL);
    char *aside = baseline_path(results, text_string(&hidden), NULL);
    /* Out of sight first: what an interrupt leaves behind is no half baseline. */
    bool good = rename(path, aside) == 0 ||
                FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot remove %s: %s", path, strerror(errno));
    good = good && baseline_remove_folder(aside, err);
    text_free(&hidden);
    free(aside);
    free(path);
    return good;
}
