/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/env_diff.h"

#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/results.h"
#include "compare/baseline.h"
#include "compare/env_diff.h"
#include "system/facts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_ENVIRONMENT = 16 << 20, SAME = 0, DIFFERENT = 1, REFUSED = 2 };

struct env_side {
    struct run *runs;
    size_t count;
};

/* A run that has a header only; `stable` and `moving` are handed over. */
static void add_header(struct env_side *side, js *stable, js *moving, js *gpus) {
    side->runs = mem_zeroed(1, sizeof *side->runs);
    side->count = 1;
    js *header = js_new_object();
    js_set_string(header, "machine_id", js_get_string(stable, "machine_id", ""));
    js_set_string(header, "boot_id", js_get_string(stable, "boot_id", ""));
    js_set(header, "environment", stable);
    js_set(header, "environment_volatile", moving);
    if (gpus != NULL)
        js_set(header, "gpus", gpus);
    side->runs[0].header = header;
}

static bool load_capture(const char *dir, struct env_side *out, struct error *err) {
    struct source source = {0};
    struct facts *facts = NULL;
    bool good = source_capture(dir, &source, err) && (facts = facts_read(&source, err)) != NULL;
    if (good) {
        js *stable = js_new_object();
        js *moving = js_new_object();
        const js *gpus = js_get(source.probes, "gpus");
        struct gpu_list list = {0};
        facts_environment(facts, stable, moving);
        gpu_list_from_json(gpus, &list);
        gpu_list_set_pairs(&list, js_get(source.probes, "p2p"), js_get(source.probes, "nvlink"));
        gpu_list_environment(&list, stable, moving);
        gpu_list_free(&list);
        add_header(out, stable, moving, gpus != NULL ? js_copy(gpus) : NULL);
    }
    facts_free(facts);
    source_free(&source);
    return good || RELAY(err);
}

/* A file of env --json. False without an error: it is something else. */
static bool load_environment(const char *path, struct env_side *out) {
    struct text text = {0};
    struct error ignored = {0};
    js *value = NULL;
    if (file_read(path, MAX_ENVIRONMENT, &text, &ignored))
        value = js_parse(text_string(&text), text.length, &ignored);
    const js *stable = js_get(value, "environment");
    const js *moving = js_get(value, "environment_volatile");
    bool good = strcmp(js_get_string(value, "schema", ""), "gpuvet.env/1") == 0 && js_is_object(stable);
    if (good)
        add_header(out, js_copy(stable), js_is_object(moving) ? js_copy(moving) : js_new_object(), NULL);
    js_free(value);
    text_free(&text);
    return good;
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* RESULTS/baselines/NAME with or without a slash at its end: baseline.c finds it by name. */
static bool load_baseline(const char *dir, struct env_side *out, struct error *err) {
    char *real = realpath(dir, NULL);
    char *name = real == NULL ? NULL : strrchr(real, '/');
    if (name != NULL)
        *name++ = '\0';
    char *parent = name == NULL ? NULL : strrchr(real, '/');
    bool good = parent != NULL && strcmp(parent, "/baselines") == 0;
    if (good) {
        *parent = '\0';
        good = baseline_load(real, name, &out->runs, &out->count, err);
    } else {
        FAIL(err, ERROR_DATA, "%s is a baseline outside a results folder's baselines/; put it there", dir);
    }
    free(real);
    return good;
}

static bool load(const char *results, const char *name, struct env_side *out, struct error *err) {
    if (is_folder(name)) {
        char *manifest = path_join(name, "baseline.json");
        struct stat st;
        bool saved = lstat(manifest, &st) == 0;
        free(manifest);
        return (saved ? load_baseline(name, out, err) : load_capture(name, out, err)) || RELAY(err);
    }
    if (load_environment(name, out))
        return true;
    struct error none = {0};
    char *folder = results_folder(results, false, results != NULL ? err : &none);
    bool good = (folder != NULL || results == NULL) && runs_load(folder, name, &out->runs, &out->count, err);
    free(folder);
    if (good && out->count == 0)
        good = FAIL(err, ERROR_DATA, "%s holds no run", name);
    return good || RELAY(err);
}

int env_diff_main(const char *results, const char *before, const char *after, bool json) {
    struct env_side old = {0};
    struct env_side new = {0};
    struct error err = {0};
    int status = REFUSED;
    if (load(results, before, &old, &err) && load(results, after, &new, &err)) {
        struct comparison c;
        env_diff(old.runs, old.count, new.runs, new.count, &c);
        if (json) {
            js *out = env_diff_json(&c, before, after);
            js_print(out, stdout);
            js_free(out);
        } else {
            env_diff_print(&c, stdout);
        }
        status = env_diff_same(&c) ? SAME : DIFFERENT;
        comparison_free(&c);
    } else {
        log_error(&err);
    }
    runs_free(old.runs, old.count);
    runs_free(new.runs, new.count);
    return status;
}
