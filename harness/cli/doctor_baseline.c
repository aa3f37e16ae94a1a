/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_baseline.h"

#include "base/files.h"
#include "base/log.h"
#include "base/results.h"
#include "compare/baseline.h"
#include "system/facts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A path, or the name of a folder here that holds a capture: baselines have no folders of their own. */
static bool is_folder(const char *given) {
    struct stat st;
    if (stat(given, &st) != 0 || !S_ISDIR(st.st_mode))
        return false;
    char *manifest = path_join(given, "manifest.json");
    bool capture = strchr(given, '/') != NULL || stat(manifest, &st) == 0;
    free(manifest);
    return capture;
}

static bool capture_environment(const char *dir, js **out, struct error *err) {
    struct source source = {0};
    struct facts *facts = NULL;
    bool good = source_capture(dir, &source, err) && (facts = facts_read(&source, err)) != NULL;
    if (good) {
        js *moving = js_new_object();
        *out = js_new_object();
        facts_environment(facts, *out, moving);
        struct gpu_list gpus = {0};
        gpu_list_from_json(js_get(source.probes, "gpus"), &gpus);
        gpu_list_set_pairs(&gpus, js_get(source.probes, "p2p"), js_get(source.probes, "nvlink"));
        gpu_list_environment(&gpus, *out, moving);
        gpu_list_free(&gpus);
        js_free(moving);
    }
    facts_free(facts);
    source_free(&source);
    return good || RELAY(err);
}

static bool saved_environment(const char *results, const char *name, js **out, struct error *err) {
    struct run *runs = NULL;
    size_t count = 0;
    if (!baseline_load(results, name, &runs, &count, err))
        return RELAY(err);
    if (count > 0)
        *out = js_keep(js_get(runs[count - 1].header, "environment"));
    for (size_t i = 0; i < count; i++)
        run_free(&runs[i]);
    free(runs);
    return true;
}

bool doctor_baseline(const char *given, const char *results, const char *machine_id, js **out,
                     struct error *err) {
    struct error none = {0};
    char *name = NULL;
    *out = NULL;
    if (given != NULL && is_folder(given))
        return capture_environment(given, out, err) || RELAY(err);
    char *folder = results_folder(results, false, given == NULL ? &none : err);
    if (folder == NULL && given == NULL && results != NULL)
        log_warning("judged without a baseline: %s", none.text);
    if (folder == NULL)
        return given == NULL; /* nothing was ever saved here */
    bool good = true;
    if (given != NULL || machine_id != NULL)
        good = baseline_find(folder, given, machine_id, &name, given == NULL ? &none : err) &&
               (name == NULL || saved_environment(folder, name, out, given == NULL ? &none : err));
    free(name);
    free(folder);
    if (!good && given == NULL) /* which nobody asked for: the machine is judged all the same */
        log_warning("judged without a baseline: %s", none.text);
    return good || given == NULL || RELAY(err);
}
