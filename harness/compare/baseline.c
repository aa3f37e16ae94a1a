/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/baseline.h"

#include "base/files.h"
#include "base/hash.h"
#include "base/mem.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char schema[] = "gpuvet.baseline/1";
enum { MAX_NAME = 100, MAX_RUNS = 100, MAX_MANIFEST = 1 << 20 };

/* Plain names only: they become folders, and a leading dot marks unfinished ones. */
static bool is_plain(const char *name) {
    size_t n = strlen(name);
    for (const char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL)
            return false;
    return n > 0 && n <= MAX_NAME && name[0] != '.';
}

bool baseline_check_name(const char *name, struct error *err) {
    return is_plain(name) ||
           FAIL(err, ERROR_USAGE,
                "'%.120s' cannot name a baseline: letters, digits, . _ - only, no dot in front, at most %d",
                name, MAX_NAME);
}

static char *folder_of(const char *results, const char *name) {
    struct text t = {0};
    text_addf(&t, "%s/baselines/%s", results, name);
    return text_take(&t);
}

bool baseline_exists(const char *results, const char *name) {
    if (!is_plain(name))
        return false;
    char *folder = folder_of(results, name);
    struct stat st;
    bool exists = lstat(folder, &st) == 0 && S_ISDIR(st.st_mode);
    free(folder);
    return exists;
}

/* ---- reading ---- */

static bool manifest_is_sound(const js *manifest) {
    const js *runs = js_get(manifest, "runs");
    if (strcmp(js_get_string(manifest, "schema", ""), schema) != 0 || !js_is_array(runs) ||
        js_length(runs) == 0 || js_length(runs) > MAX_RUNS)
        return false;
    for (size_t i = 0; i < js_length(runs); i++)
        if (!is_plain(js_get_string(js_at(runs, i), "file", "")) ||
            js_get_string(js_at(runs, i), "sha256", NULL) == NULL)
            return false;
    return true;
}

static bool say_damaged(struct error *err, const char *name, const char *what) {
    return FAIL(err, ERROR_DATA,
                "baseline %s is damaged: %.400s; save it again, or 'gpuvet baseline remove %s'", name, what,
                name);
}

js *baseline_manifest(const char *results, const char *name, struct error *err) {
    if (!baseline_check_name(name, err))
        return NULL;
    if (!baseline_exists(results, name)) {
        FAIL(err, ERROR_USAGE,
             "there is no baseline '%s' in %s/baselines; 'gpuvet baseline list' shows what there is", name,
             results);
        return NULL;
    }
    char *folder = folder_of(results, name);
    char *path = path_join(folder, "baseline.json");
    struct text content = {0};
    struct error why = {0};
    js *manifest = NULL;
    if (file_read(path, MAX_MANIFEST, &content, &why))
        manifest = js_parse(text_string(&content), content.length, &why);
    if (manifest == NULL) {
        say_damaged(err, name, why.text);
    } else if (!manifest_is_sound(manifest)) {
        say_damaged(err, name, "baseline.json is not what it should be");
        js_free(manifest);
        manifest = NULL;
    }
    text_free(&content);
    free(path);
    free(folder);
    return manifest;
}

static bool load_one(const char *folder, const char *name, const js *entry, struct run *out,
                     struct error *err) {
    struct text content = {0};
    struct error why = {0};
    char hash[SHA256_HEX_SIZE];
    char *path = path_join(folder, js_get_string(entry, "file", ""));
    bool good = file_read(path, RUN_MAX_BYTES, &content, &why);
    if (good) {
        sha256_hex(text_string(&content), content.length, hash);
        good = strcmp(hash, js_get_string(entry, "sha256", "")) == 0 ||
               FAIL(&why, ERROR_DATA, "%s is not the file that was saved (checksum)", path);
    }
    text_free(&content);
    good = good && run_read(path, out, &why);
    free(path);
    return good || say_damaged(err, name, why.text);
}

void runs_free(struct run *runs, size_t n) {
    for (size_t i = 0; i < n; i++)
        run_free(&runs[i]);
    free(runs);
}

bool baseline_load(const char *results, const char *name, struct run **runs, size_t *n, struct error *err) {
    *runs = NULL;
    *n = 0;
    js *manifest = baseline_manifest(results, name, err);
    if (manifest == NULL)
        return RELAY(err);
    char *folder = folder_of(results, name);
    const js *entries = js_get(manifest, "runs");
    struct run *list = mem_zeroed(js_length(entries), sizeof *list);
    size_t used = 0;
    bool good = true;
    for (; good && used < js_length(entries); used += good ? 1 : 0)
        good = load_one(folder, name, js_at(entries, used), &list[used], err);
    js_free(manifest);
    free(folder);
    if (!good) {
        runs_free(list, used);
        return false;
    }
    *runs = list;
    *n = used;
    return true;
}

bool baseline_names(const char *results, struct strings *names, struct error *err) {
    char *path = path_join(results, "baselines");
    DIR *dir = opendir(path);
    bool good = dir != NULL || errno == ENOENT;
    if (!good)
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot look into %s: %s", path, strerror(errno));
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        if (baseline_exists(results, entry->d_name))
            strings_add(names, entry->d_name);
    if (dir != NULL)
        closedir(dir);
    free(path);
    strings_sort(names);
    return good;
}

bool baseline_find(const char *results, const char *name, const char *machine_id, char **found,
                   struct error *err) {
    struct strings names = {0};
    char *newest = NULL;
    *found = NULL;
    if (name != NULL) {
        js *manifest = baseline_manifest(results, name, err);
        *found = manifest == NULL ? NULL : mem_copy_string(name);
        js_free(manifest);
        return manifest != NULL;
    }
    bool good = machine_id == NULL || baseline_names(results, &names, err);
    for (size_t i = 0; machine_id != NULL && i < names.count; i++) {
        struct error ignored = {0}; /* a damaged one is not chosen by itself; by name it is an error */
        js *manifest = baseline_manifest(results, names.items[i], &ignored);
        const char *created = js_get_string(manifest, "created", "");
        if (strcmp(js_get_string(manifest, "machine_id", ""), machine_id) == 0 &&
            (newest == NULL || strcmp(created, newest) > 0)) {
            free(newest);
            free(*found);
            newest = mem_copy_string(created);
            *found = mem_copy_string(names.items[i]);
        }
        js_free(manifest);
    }
    free(newest);
    strings_free(&names);
    return good;
}

/* ---- what the user calls a run ---- */

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

static bool append_run(const char *path, struct run **runs, size_t *n, struct error *err) {
    *runs = mem_resize(*runs, *n + 1, sizeof **runs);
    if (!run_read(path, &(*runs)[*n], err))
        return RELAY(err);
    *n += 1;
    return true;
}

static bool append_baseline(const char *results, const char *name, struct run **runs, size_t *n,
                            struct error *err) {
    struct run *more;
    size_t count;
    if (!baseline_load(results, name, &more, &count, err))
        return RELAY(err);
    *runs = mem_resize(*runs, *n + count, sizeof **runs);
    memcpy(*runs + *n, more, count * sizeof **runs);
    *n += count;
    free(more);
    return true;
}

bool runs_load(const char *results, const char *name, struct run **runs, size_t *n, struct error *err) {
    if (is_file(name) || strchr(name, '/') != NULL || results == NULL)
        return append_run(name, runs, n, err);
    struct text inside = {0};
    text_addf(&inside, "%s/runs/%s", results, name);
    if (!is_file(text_string(&inside)))
        text_add(&inside, ".jsonl");
    bool good;
    if (is_file(text_string(&inside)))
        good = append_run(text_string(&inside), runs, n, err);
    else if (baseline_exists(results, name))
        good = append_baseline(results, name, runs, n, err);
    else
        good = FAIL(err, ERROR_USAGE, "'%.200s' is no run file here, none in %s/runs, and no baseline", name,
                    results);
    text_free(&inside);
    return good;
}
