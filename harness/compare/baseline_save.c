/* SPDX-License-Identifier: Apache-2.0 */
/* Saving and removing baselines: in a folder beside, then by one rename, so that a name is whole or not
 * there. */
#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/mem.h"
#include "compare/baseline.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- do these runs belong together? ---- */

static const char *build_of(const struct run *run) {
    return js_get_string(js_get(run->header, "tool"), "build_id", "");
}

static void list_gpus(const struct run *run, struct text *out) {
    struct strings uuids = {0};
    const js *gpus = js_get(run->header, "gpus");
    for (size_t i = 0; i < js_length(gpus); i++)
        strings_add(&uuids, js_get_string(js_at(gpus, i), "uuid", "?"));
    strings_sort(&uuids);
    for (size_t i = 0; i < uuids.count; i++)
        text_addf(out, "%s ", uuids.items[i]);
    strings_free(&uuids);
}

static bool same_gpus(const struct run *a, const struct run *b) {
    struct text x = {0};
    struct text y = {0};
    list_gpus(a, &x);
    list_gpus(b, &y);
    bool same = strcmp(text_string(&x), text_string(&y)) == 0;
    text_free(&x);
    text_free(&y);
    return same;
}

static bool fits(const struct run *first, const struct run *run, struct error *err) {
    const char *what = NULL;
    if (strcmp(js_get_string(first->header, "machine_id", ""),
               js_get_string(run->header, "machine_id", "")) != 0)
        what = "of different machines";
    else if (strcmp(build_of(first), build_of(run)) != 0)
        what = "of different builds of gpuvet";
    else if (js_get_bool(first->header, "simulated", false) != js_get_bool(run->header, "simulated", false))
        what = "one simulated and one real";
    else if (!same_gpus(first, run))
        what = "of different GPUs";
    else if (js_equal(first->header, run->header))
        what = "the same run";
    return what == NULL || FAIL(err, ERROR_USAGE, "%s and %s are %s: they make no common baseline",
                                first->path, run->path, what);
}

static bool check_runs(const struct run *runs, size_t n, struct strings *warnings, struct error *err) {
    size_t boots = 1;
    for (size_t i = 0; i < n; i++) {
        if (runs[i].n_records == 0)
            return FAIL(err, ERROR_DATA, "%s holds no record: nothing to compare with later", runs[i].path);
        if (runs[i].interrupted)
            strings_addf(warnings, "%s was interrupted", runs[i].path);
        for (size_t j = 0; j < i; j++)
            if (!fits(&runs[j], &runs[i], err))
                return RELAY(err);
        if (strcmp(js_get_string(runs[0].header, "boot_id", ""),
                   js_get_string(runs[i].header, "boot_id", "")) != 0)
            boots = 2;
    }
    if (n < 3)
        strings_addf(warnings,
                     "%zu run%s: a baseline of at least 3 runs shows how much runs differ by themselves", n,
                     n == 1 ? "" : "s");
    if (boots < 2)
        strings_addf(warnings,
                     "all runs are of one boot: for a change that needs a reboot take runs of 2 boots");
    return true;
}

/* ---- folders ---- */

static bool remove_folder(const char *folder, struct error *err) {
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot remove %s: %s", folder, strerror(errno));
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) != 0)
            good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot remove %s/%s: %s", folder, entry->d_name,
                               strerror(errno));
    }
    closedir(dir);
    if (good && rmdir(folder) != 0)
        good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot remove %s: %s", folder, strerror(errno));
    return good;
}

static char *hidden_folder(const char *results, const char *name, const char *what) {
    struct text t = {0};
    text_addf(&t, "%s/baselines/.%s.%s.%ld", results, name, what, (long)getpid());
    return text_take(&t);
}

/* An existing baseline is moved away first and removed when the new one stands; it comes back if that fails.
 */
static bool put_in_place(const char *results, const char *name, const char *fresh, struct error *err) {
    struct text target = {0};
    text_addf(&target, "%s/baselines/%s", results, name);
    char *old = hidden_folder(results, name, "old");
    bool had_one = rename(text_string(&target), old) == 0;
    bool good = rename(fresh, text_string(&target)) == 0;
    if (!good) {
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot put %s in place: %s", text_string(&target),
                    strerror(errno));
        if (had_one)
            (void)rename(old, text_string(&target));
    } else if (had_one) {
        good = remove_folder(old, err);
    }
    free(old);
    text_free(&target);
    return good;
}

/* ---- saving ---- */

static js *copy_run(const struct run *run, size_t index, const char *folder, struct error *err) {
    struct text content = {0};
    struct text file = {0};
    char hash[SHA256_HEX_SIZE];
    text_addf(&file, "run-%zu.jsonl%s", index + 1, text_ends(run->path, ".gz") ? ".gz" : "");
    char *to = path_join(folder, text_string(&file));
    js *entry = NULL;
    if (file_read(run->path, RUN_MAX_BYTES, &content, err) &&
        file_replace(to, text_string(&content), content.length, err)) {
        sha256_hex(text_string(&content), content.length, hash);
        const char *slash = strrchr(run->path, '/');
        entry = js_new_object();
        js_set_string(entry, "file", text_string(&file));
        js_set_string(entry, "sha256", hash);
        js_set_string(entry, "from", slash == NULL ? run->path : slash + 1);
        js_set_string(entry, "started", js_get_string(run->header, "started", NULL));
        js_set_string(entry, "boot_id", js_get_string(run->header, "boot_id", NULL));
        js_set_string(entry, "label", js_get_string(run->header, "label", NULL));
    }
    free(to);
    text_free(&file);
    text_free(&content);
    return entry;
}

static bool fill(const char *folder, const char *name, const struct run *runs, size_t n, struct error *err) {
    char created[CLOCK_STAMP_SIZE];
    struct clock clock = clock_real();
    clock_stamp(clock_wall(&clock), created);
    js *manifest = js_new_object();
    js *list = js_new_array();
    js_set_string(manifest, "schema", "gpuvet.baseline/1");
    js_set_string(manifest, "name", name);
    js_set_string(manifest, "created", created);
    js_set_string(manifest, "machine_id", js_get_string(runs[0].header, "machine_id", NULL));
    js_set_string(manifest, "build_id", build_of(&runs[0]));
    js_set(manifest, "runs", list);
    bool good = true;
    for (size_t i = 0; good && i < n; i++) {
        js *entry = copy_run(&runs[i], i, folder, err);
        good = entry != NULL;
        if (good)
            js_append(list, entry);
    }
    char *text = js_text_pretty(manifest);
    char *path = path_join(folder, "baseline.json");
    good = good && file_replace(path, text, strlen(text), err);
    free(path);
    free(text);
    js_free(manifest);
    return good;
}

static bool save_runs(const char *results, const char *name, const struct run *runs, size_t n,
                      struct error *err) {
    char *fresh = hidden_folder(results, name, "new");
    bool good =
        folder_make(fresh, err) && fill(fresh, name, runs, n, err) && put_in_place(results, name, fresh, err);
    struct error ignored = {0};
    if (!good)
        remove_folder(fresh, &ignored);
    free(fresh);
    return good;
}

bool baseline_save(const char *results, const char *name, const struct strings *paths, bool force,
                   struct strings *warnings, struct error *err) {
    struct run *runs = NULL;
    size_t n = 0;
    enum { MOST_RUNS = 100 };
    if (!baseline_check_name(name, err))
        return false;
    if (paths->count == 0 || paths->count > MOST_RUNS)
        return FAIL(err, ERROR_USAGE, "a baseline holds 1 to %d runs", MOST_RUNS);
    if (baseline_exists(results, name) && !force)
        return FAIL(err, ERROR_USAGE, "baseline %s is there already; --force replaces it", name);
    bool good = true;
    for (size_t i = 0; good && i < paths->count; i++)
        good = runs_load(results, paths->items[i], &runs, &n, err);
    good = good && check_runs(runs, n, warnings, err) && save_runs(results, name, runs, n, err);
    runs_free(runs, n);
    return good;
}

bool baseline_remove(const char *results, const char *name, struct error *err) {
    if (!baseline_exists(results, name)) {
        js *none = baseline_manifest(results, name, err); /* says why */
        js_free(none);
        return false;
    }
    struct text folder = {0};
    text_addf(&folder, "%s/baselines/%s", results, name);
    /* Out of sight first: what a crash leaves behind is no half baseline. */
    char *old = hidden_folder(results, name, "old");
    bool good =
        rename(text_string(&folder), old) == 0 ||
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot remove %s: %s", text_string(&folder), strerror(errno));
    good = good && remove_folder(old, err);
    free(old);
    text_free(&folder);
    return good;
}
