/* SPDX-License-Identifier: Apache-2.0 */
/* gpuvet baseline: the runs that later ones are set against. */
#include "base/log.h"
#include "base/results.h"
#include "cli/commands.h"
#include "compare/baseline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_REFUSED = 2, SHOWN_LENGTH = 300 };

struct baseline_values {
    const char *results;
    bool force, json;
};

#define AT(field) offsetof(struct baseline_values, field)
static const struct option_row options[] = {
    {.name = "force", .type = OPTION_FLAG, .offset = AT(force), .help = "save: replace one of the same name"},
    OPTION_RESULTS(AT(results)),
    {.name = "json", .type = OPTION_FLAG, .offset = AT(json), .help = "for machines"},
    {0},
};

static void print_json(js *value) {
    js_print(value, stdout);
    js_free(value);
}

static void put(const char *s) {
    char *clean = text_shown(s, SHOWN_LENGTH);
    fputs(clean, stdout);
    free(clean);
}

static bool save(const char *results, const struct baseline_values *v, const struct strings *arguments,
                 struct error *err) {
    struct strings paths = {0};
    struct strings warnings = {0};
    const char *name = arguments->items[1];
    for (size_t i = 2; i < arguments->count; i++)
        strings_add(&paths, arguments->items[i]);
    bool good = baseline_save(results, name, &paths, v->force, &warnings, err);
    for (size_t i = 0; i < warnings.count && good; i++)
        log_warning("%s", warnings.items[i]);
    if (good && v->json) {
        js *manifest = baseline_manifest(results, name, err);
        good = manifest != NULL;
        if (good)
            print_json(manifest);
    } else if (good) {
        printf("baseline '%s' holds %zu run%s\n", name, paths.count, paths.count == 1 ? "" : "s");
    }
    strings_free(&paths);
    strings_free(&warnings);
    return good;
}

static bool list(const char *results, const struct baseline_values *v, const struct strings *arguments,
                 struct error *err) {
    (void)arguments;
    struct strings names = {0};
    bool good = baseline_names(results, &names, err);
    js *all = js_new_array();
    for (size_t i = 0; i < names.count; i++) {
        struct error damaged = {0};
        js *manifest = baseline_manifest(results, names.items[i], &damaged);
        if (manifest == NULL) { /* the others are listed all the same */
            log_error(&damaged);
            js *broken = js_new_object();
            js_set_string(broken, "name", names.items[i]);
            js_set_string(broken, "error", damaged.text);
            js_append(all, broken);
            continue;
        }
        if (!v->json) {
            printf("%-24s %zu runs  ", names.items[i], js_length(js_get(manifest, "runs")));
            put(js_get_string(manifest, "created", "?"));
            fputs("  machine ", stdout);
            put(js_get_string(manifest, "machine_id", "?"));
            puts(js_get_bool(manifest, "simulated", false) ? "  simulated" : "");
        }
        js_append(all, manifest);
    }
    if (good && v->json) {
        js *out = js_new_object();
        js_set_string(out, "schema", "gpuvet.baselines/1");
        js_set(out, "baselines", js_keep(all));
        print_json(out);
    } else if (good && names.count == 0) {
        puts("No baseline yet: gpuvet baseline save NAME RUN...");
    }
    js_free(all);
    strings_free(&names);
    return good;
}

static bool show(const char *results, const struct baseline_values *v, const struct strings *arguments,
                 struct error *err) {
    static const char *const shown[] = {"name", "created", "machine_id", "build_id"};
    struct run *runs_read;
    size_t n;
    /* The run files are checked too: what is shown is sound. */
    if (!baseline_load(results, arguments->items[1], &runs_read, &n, err))
        return RELAY(err);
    runs_free(runs_read, n);
    js *manifest = baseline_manifest(results, arguments->items[1], err);
    if (manifest == NULL)
        return RELAY(err);
    if (v->json) {
        print_json(manifest);
        return true;
    }
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        printf("%-11s ", shown[i]);
        put(js_get_string(manifest, shown[i], "?"));
        putchar('\n');
    }
    const js *runs = js_get(manifest, "runs");
    for (size_t i = 0; i < js_length(runs); i++) {
        const js *run = js_at(runs, i);
        printf("%-11s ", i == 0 ? "runs" : "");
        put(js_get_string(run, "file", "?"));
        fputs("  boot ", stdout);
        put(js_get_string(run, "boot_id", "?"));
        fputs("  ", stdout);
        put(js_get_string(run, "label", ""));
        putchar('\n');
    }
    js_free(manifest);
    return true;
}

static bool remove_one(const char *results, const struct baseline_values *v, const struct strings *arguments,
                       struct error *err) {
    (void)v;
    if (!baseline_remove(results, arguments->items[1], err))
        return RELAY(err);
    printf("baseline '%s' removed\n", arguments->items[1]);
    return true;
}

struct verb {
    const char *name, *usage;
    size_t least, most; /* arguments, the verb among them */
    bool makes_folder;
    bool (*run)(const char *results, const struct baseline_values *v, const struct strings *arguments,
                struct error *err);
};

static const struct verb verbs[] = {
    {"save", "save NAME RUN...", 3, SIZE_MAX, true, save},
    {"list", "list", 1, 1, false, list},
    {"show", "show NAME", 2, 2, false, show},
    {"remove", "remove NAME", 2, 2, false, remove_one},
};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

static const struct verb *find_verb(const struct strings *arguments, struct error *err) {
    const char *names[N_VERBS];
    for (size_t i = 0; i < N_VERBS; i++) {
        names[i] = verbs[i].name;
        if (strcmp(verbs[i].name, arguments->items[0]) != 0)
            continue;
        if (arguments->count >= verbs[i].least && arguments->count <= verbs[i].most)
            return &verbs[i];
        FAIL(err, ERROR_USAGE, "it is: gpuvet baseline %s", verbs[i].usage);
        return NULL;
    }
    const char *near = text_nearest(arguments->items[0], names, N_VERBS);
    if (near != NULL)
        FAIL(err, ERROR_USAGE, "baseline cannot '%s'; did you mean %s?", arguments->items[0], near);
    else
        FAIL(err, ERROR_USAGE, "baseline cannot '%s': it is save, list, show or remove", arguments->items[0]);
    return NULL;
}

static int run(void *values, const struct strings *arguments) {
    struct baseline_values *v = values;
    struct error err = {0};
    const struct verb *verb = find_verb(arguments, &err);
    char *results = verb == NULL ? NULL : results_folder(v->results, verb->makes_folder, &err);
    bool good = results != NULL && verb->run(results, v, arguments, &err);
    if (!good)
        log_error(&err);
    free(results);
    return good ? 0 : EXIT_REFUSED;
}

const struct command command_baseline = {
    .name = "baseline",
    .arguments = "save|list|show|remove [NAME] [RUN...]",
    .summary = "keep runs to set later ones against",
    .details =
        "  gpuvet baseline save before r1.jsonl r2.jsonl r3.jsonl\n"
        "  gpuvet baseline list\n"
        "  gpuvet baseline show before\n"
        "  gpuvet baseline remove before\n"
        "\n"
        "A run is a file, or the name of a file in the results folder's runs/. At least 3 runs, of at least\n"
        "2 boots where the change needs a reboot, let a comparison measure the spread between runs.\n",
    .options = options,
    .min_arguments = 1,
    .max_arguments = SIZE_MAX,
    .values_size = sizeof(struct baseline_values),
    .run = run,
};
