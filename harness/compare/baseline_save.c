/* SPDX-License-Identifier: Apache-2.0 */
/* Saving a baseline, whole or not at all: everything is written to a folder whose name begins with a dot
 * (which no reader looks at), and that is renamed. Also the names by which users call runs. */
#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/mem.h"
#include "compare/baseline_files.h"
#include "stats/decide.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

char *run_path(const char *results, const char *name) {
    struct stat st;
    if (stat(name, &st) == 0)
        return mem_copy_string(name);
    /* A path that cannot be followed is no unknown name: opening it says what is the matter. */
    if (strchr(name, '/') != NULL && errno != ENOENT && errno != ENOTDIR)
        return mem_copy_string(name);
    if (results == NULL || strchr(name, '/') != NULL || name[0] == '\0')
        return NULL;
    struct text t = {0};
    text_addf(&t, "%s/runs/%s", results, name);
    if (stat(text_string(&t), &st) != 0)
        text_add(&t, ".jsonl");
    if (stat(text_string(&t), &st) == 0)
        return text_take(&t);
    text_free(&t);
    return NULL;
}

static bool not_found(const char *results, const char *name, struct error *err) {
    if (results == NULL)
        return FAIL(err, ERROR_USAGE, "there is no run file %s", name);
    return FAIL(err, ERROR_USAGE,
                "'%s' is neither a run file, nor the name of one in %s/runs, nor a baseline", name, results);
}

static bool add_baseline(const char *results, const char *name, struct run **runs, size_t *n,
                         struct error *err) {
    struct run *more;
    size_t n_more;
    if (!baseline_load(results, name, &more, &n_more, err))
        return RELAY(err);
    *runs = mem_resize(*runs, *n + n_more, sizeof **runs);
    memcpy(*runs + *n, more, n_more * sizeof *more);
    *n += n_more;
    free(more);
    return true;
}

bool runs_load(const char *results, const char *name, struct run **runs, size_t *n, struct error *err) {
    struct stat st;
    /* A folder of the baseline's name in the working folder is no run. */
    bool is_folder = stat(name, &st) == 0 && S_ISDIR(st.st_mode);
    char *path = is_folder ? NULL : run_path(results, name);
    bool good;
    if (path != NULL)
        good = runs_add(path, runs, n, err);
    else if (results != NULL && baseline_exists(results, name))
        good = add_baseline(results, name, runs, n, err);
    else
        good = not_found(results, name, err);
    free(path);
    return good;
}

/* ---- saving ---- */

/* What becomes a baseline, read and checked before anything is written. */
struct saving {
    const char *results, *name;
    struct run *runs;
    size_t n;
    struct strings files; /* their names in the baseline */
    js *entries;
};

static const char *header_text(const struct run *run, const char *key) {
    return js_get_string(run->header, key, "");
}

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

/* One run twice would make a spread of zero. */
static bool check_different(const struct saving *s, size_t i, struct error *err) {
    for (size_t j = 0; j < i; j++)
        if (s->runs[i].n_records == s->runs[j].n_records && js_equal(s->runs[i].header, s->runs[j].header))
            return FAIL(err, ERROR_USAGE, "%s and %s are the same run: one run counts once", s->runs[j].path,
                        s->runs[i].path);
    return true;
}

static bool check_alike(const struct saving *s, struct error *err) {
    const struct run *a = &s->runs[0];
    for (size_t i = 1; i < s->n; i++) {
        const struct run *b = &s->runs[i];
        const char *what = NULL;
        if (strcmp(header_text(a, "machine_id"), header_text(b, "machine_id")) != 0)
            what = "different machines";
        else if (js_get_bool(a->header, "simulated", false) != js_get_bool(b->header, "simulated", false))
            what = "a simulated and a real run";
        else if (strcmp(build_of(a), build_of(b)) != 0)
            what = "different builds of gpuvet";
        else if (!same_gpus(a, b))
            what = "different GPUs";
        if (what != NULL)
            return FAIL(err, ERROR_USAGE, "%s and %s are of %s: one baseline holds runs of one kind only",
                        a->path, b->path, what);
        if (!check_different(s, i, err))
            return RELAY(err);
    }
    return true;
}

/* A run in which nothing was measured compares with nothing. */
static bool has_figures(const struct run *run) {
    for (size_t i = 0; i < run->n_series; i++)
        if (run->series[i].n_values > 0)
            return true;
    return false;
}

static void warn(const struct saving *s, struct strings *warnings) {
    bool one_boot = true;
    for (size_t i = 0; i < s->n; i++) {
        if (s->runs[i].interrupted)
            strings_addf(warnings, "%s was interrupted: it holds less than the others", s->runs[i].path);
        if (!has_figures(&s->runs[i]))
            strings_addf(warnings,
                         "%s holds no figure: every item of it failed or was skipped, and nothing can be set "
                         "against it",
                         s->runs[i].path);
        one_boot =
            one_boot && strcmp(header_text(&s->runs[i], "boot_id"), header_text(&s->runs[0], "boot_id")) == 0;
    }
    if (s->n < DECIDE_MIN_RUNS)
        strings_addf(warnings,
                     "%zu run%s: with at least %d a comparison measures the spread between runs instead of "
                     "assuming it",
                     s->n, s->n == 1 ? "" : "s", DECIDE_MIN_RUNS);
    if (one_boot)
        strings_addf(warnings, "all runs are of one boot: for a change that needs a reboot, save runs of at "
                               "least two boots");
}

/* "20260131T120000Z-node-17.jsonl", or a number where that is no safe or no new name. */
static void choose_file_name(struct saving *s, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    if (baseline_name_is_good(base) && strcmp(base, "baseline.json") != 0 &&
        !strings_contain(&s->files, base))
        strings_add(&s->files, base);
    else
        strings_addf(&s->files, "run-%zu%s", s->files.count + 1,
                     text_ends(base, ".gz") ? ".jsonl.gz" : ".jsonl");
}

/* "run-2.jsonl" may be the given name of a later file; then the invented one was first. */
static bool check_file_names(const struct saving *s, struct error *err) {
    for (size_t i = 0; i < s->files.count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->files.items[i], s->files.items[j]) == 0)
                return FAIL(err, ERROR_USAGE, "two runs would be called %s: rename one", s->files.items[i]);
    return true;
}

static bool copy_run(struct saving *s, size_t i, const char *folder, struct error *err) {
    struct text bytes = {0};
    char sum[SHA256_HEX_SIZE];
    char *path = path_join(folder, s->files.items[i]);
    bool good = file_read(s->runs[i].path, RUN_MAX_BYTES, &bytes, err);
    if (good) {
        sha256_hex(text_string(&bytes), bytes.length, sum);
        for (size_t k = 0; k < js_length(s->entries) && good; k++)
            if (strcmp(js_get_string(js_at(s->entries, k), "sha256", ""), sum) == 0)
                good = FAIL(err, ERROR_USAGE, "%s and %s are the same run: one run counts once",
                            s->runs[k].path, s->runs[i].path);
    }
    good = good && file_replace(path, text_string(&bytes), bytes.length, err);
    if (good) {
        js *entry = js_new_object();
        js_set_string(entry, "file", s->files.items[i]);
        js_set_string(entry, "sha256", sum);
        js_set_string(entry, "boot_id", js_get_string(s->runs[i].header, "boot_id", NULL));
        js_set_string(entry, "label", js_get_string(s->runs[i].header, "label", NULL));
        js_append(s->entries, entry);
    }
    text_free(&bytes);
    free(path);
    return good;
}

static bool write_manifest(const struct saving *s, const char *folder, struct error *err) {
    struct clock clock = clock_real();
    char stamp[CLOCK_STAMP_SIZE];
    clock_stamp(clock_wall(&clock), stamp);
    js *manifest = js_new_object();
    js_set_string(manifest, "schema", "gpuvet.baseline/1");
    js_set_string(manifest, "name", s->name);
    js_set_string(manifest, "created", stamp);
    js_set_string(manifest, "machine_id", js_get_string(s->runs[0].header, "machine_id", NULL));
    js_set_string(manifest, "build_id", build_of(&s->runs[0]));
    js_set_bool(manifest, "simulated", js_get_bool(s->runs[0].header, "simulated", false));
    js_set(manifest, "runs", js_keep(s->entries));
    char *text = js_text_pretty(manifest);
    char *path = path_join(folder, "baseline.json");
    bool good = file_replace(path, text, strlen(text), err);
    free(path);
    free(text);
    js_free(manifest);
    return good;
}

static void sync_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd); /* some file systems cannot; the files themselves are synced */
    close(fd);
}

/* The old one is moved aside and, should the new one not get its place, back. */
static bool replace_by_two_moves(const char *made, const char *place, const char *aside, struct error *err) {
    if (rename(place, aside) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot move %s aside: %s", place, strerror(errno));
    if (rename(made, place) == 0)
        return true;
    FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot rename %s to %s: %s", made, place, strerror(errno));
    return rename(aside, place) == 0 ? false : error_context(err, "the old baseline is now %s", aside);
}

/* Puts the finished folder in its place. It and an old one change places in one step, so that a kill leaves
 * one of the two under the name; what cannot do that (NFS) takes two moves. */
static bool put_in_place(const struct saving *s, const char *made, const char *aside, struct error *err) {
    char *place = baseline_path(s->results, s->name, NULL);
    char *above = baseline_path(s->results, NULL, NULL);
    const char *old = NULL;
    bool good = true;
    if (!baseline_exists(s->results, s->name)) {
        good = rename(made, place) == 0 || FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot rename %s to %s: %s",
                                                       made, place, strerror(errno));
    } else if (renameat2(AT_FDCWD, made, AT_FDCWD, place, RENAME_EXCHANGE) == 0) {
        old = made;
    } else {
        good = replace_by_two_moves(made, place, aside, err);
        old = good ? aside : NULL;
    }
    sync_folder(above);
    free(above);
    free(place);
    return old == NULL ? good : baseline_remove_folder(old, err);
}

/* What a killed save left half-made; younger than a day, it may be somebody's who is still at it. A folder
 * moved aside (.old.) stays: where places cannot be changed in one step, it may hold the only copy. */
static void sweep(const char *results) {
    enum { DAY_S = 24 * 3600 };
    char *above = baseline_path(results, NULL, NULL);
    DIR *folder = opendir(above);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        struct stat st;
        struct error ignored = {0};
        const char *name = entry->d_name;
        bool ours = name[0] == '.' && strstr(name, ".new.") != NULL;
        if (!ours || fstatat(dirfd(folder), name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) ||
            time(NULL) - st.st_mtime < DAY_S)
            continue;
        char *path = baseline_path(results, name, NULL);
        baseline_remove_folder(path, &ignored);
        free(path);
    }
    if (folder != NULL)
        closedir(folder);
    free(above);
}

static bool write_all(struct saving *s, struct error *err) {
    sweep(s->results);
    struct text hidden = {0};
    text_addf(&hidden, ".%s.new.%ld", s->name, (long)getpid());
    char *made = baseline_path(s->results, text_string(&hidden), NULL);
    text_clear(&hidden);
    text_addf(&hidden, ".%s.old.%ld", s->name, (long)getpid());
    char *aside = baseline_path(s->results, text_string(&hidden), NULL);
    bool good = folder_make(made, err);
    for (size_t i = 0; i < s->n && good; i++)
        good = copy_run(s, i, made, err);
    good = good && write_manifest(s, made, err);
    if (good)
        sync_folder(made);
    good = good && put_in_place(s, made, aside, err);
    struct error ignored = {0};
    struct stat st;
    if (!good && stat(made, &st) == 0)
        baseline_remove_folder(made, &ignored);
    text_free(&hidden);
    free(made);
    free(aside);
    return good;
}

static bool read_all(struct saving *s, const struct strings *paths, struct error *err) {
    if (paths->count == 0)
        return FAIL(err, ERROR_USAGE, "a baseline needs at least one run");
    if (paths->count > BASELINE_MAX_RUNS)
        return FAIL(err, ERROR_USAGE, "a baseline holds at most %d runs", BASELINE_MAX_RUNS);
    for (size_t i = 0; i < paths->count; i++) {
        char *path = run_path(s->results, paths->items[i]);
        bool good = path != NULL
                        ? runs_add(path, &s->runs, &s->n, err)
                        : FAIL(err, ERROR_USAGE, "'%s' is neither a run file nor the name of one in %s/runs",
                               paths->items[i], s->results);
        if (good)
            choose_file_name(s, path);
        free(path);
        if (!good)
            return RELAY(err);
        if (s->runs[i].n_records == 0)
            return FAIL(err, ERROR_DATA, "%s holds no record: nothing could be compared with it",
                        s->runs[i].path);
    }
    return check_alike(s, err) && check_file_names(s, err);
}

/* Replacing is for baselines: what else somebody put there is not ours to remove. */
static bool check_place(const char *results, const char *name, struct error *err) {
    char *path = baseline_path(results, name, NULL);
    struct stat st;
    bool good =
        lstat(path, &st) != 0 || S_ISDIR(st.st_mode) ||
        FAIL(err, ERROR_USAGE, "%s is in the way and no baseline: remove it, or take another name", path);
    free(path);
    return good;
}

bool baseline_save(const char *results, const char *name, const struct strings *paths, bool force,
                   struct strings *warnings, struct error *err) {
    struct saving s = {.results = results, .name = name, .entries = js_new_array()};
    bool good = baseline_check_name(name, err);
    if (good && !force && baseline_exists(results, name))
        good = FAIL(err, ERROR_USAGE, "there is a baseline '%s' already: --force replaces it", name);
    good = good && check_place(results, name, err);
    good = good && read_all(&s, paths, err) && write_all(&s, err);
    if (good)
        warn(&s, warnings);
    runs_free(s.runs, s.n);
    strings_free(&s.files);
    js_free(s.entries);
    return good || RELAY(err);
}
