/* SPDX-License-Identifier: Apache-2.0 */
/* gpuvet baseline: save, list, show, remove. */
#include "base/log.h"
#include "base/results.h"
#include "cli/commands.h"
#include "compare/baseline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_REFUSED = 2 };

struct baseline_values {
    const char *results;
    bool json, force;
};

#define AT(field) offsetof(struct baseline_values, field)
static const struct option_row rows[] = {
    {.name = "results",
     .type = OPTION_STRING,
     .metavar = "DIR",
     .offset = AT(results),
     .help = "where runs/ and baselines/ are",
     .fallback = "GPUVET_RESULTS, ./results, the state folder"},
    {.name = "json", .type = OPTION_FLAG, .offset = AT(json), .help = "print JSON (list, show)"},
    {.name = "force",
     .type = OPTION_FLAG,
     .offset = AT(force),
     .help = "replace a baseline of that name (save)"},
    {0},
};

static void print_text(char *text) {
    fputs(text, stdout);
    free(text);
}

static bool save(const char *results, const struct baseline_values *v, const struct strings *arguments,
                 struct error *err) {
    struct strings paths = {0};
    struct strings warnings = {0};
    for (size_t i = 2; i < arguments->count; i++)
        strings_add(&paths, arguments->items[i]);
    bool good = baseline_save(results, arguments->items[1], &paths, v->force, &warnings, err);
    for (size_t i = 0; good && i < warnings.count; i++)
        log_warning("%s", warnings.items[i]);
    if (good)
        printf("saved %zu run%s as baseline %s in %s\n", paths.count, paths.count == 1 ? "" : "s",
               arguments->items[1], results);
    strings_free(&warnings);
    strings_free(&paths);
    return good;
}

static void print_line(const char *name, const js *manifest, const struct error *why) {
    if (manifest == NULL) {
        printf("%-24s %s\n", name, why->text);
        return;
    }
    char *created = text_printable(js_get_string(manifest, "created", "?"));
    char *machine = text_printable(js_get_string(manifest, "machine_id", "?"));
    printf("%-24s %zu runs  %.40s  machine %.40s\n", name, js_length(js_get(manifest, "runs")), created,
           machine);
    free(created);
    free(machine);
}

static bool list(const char *results, bool json, struct error *err) {
    struct strings names = {0};
    js *all = js_new_array();
    bool good = baseline_names(results, &names, err);
    for (size_t i = 0; i < names.count; i++) {
        struct error why = {0};
        js *manifest = baseline_manifest(results, names.items[i], &why);
        if (!json) {
            print_line(names.items[i], manifest, &why);
            js_free(manifest);
        } else if (manifest != NULL) {
            js_append(all, manifest);
        } else {
            js *damaged = js_new_object();
            js_set_string(damaged, "name", names.items[i]);
            js_set_string(damaged, "error", why.text);
            js_append(all, damaged);
        }
    }
    if (good && json)
        print_text(js_text_pretty(all));
    else if (good && names.count == 0)
        printf("no baseline in %s; 'gpuvet baseline save NAME RUN…' makes one\n", results);
    js_free(all);
    strings_free(&names);
    return good;
}

static bool show(const char *results, const char *name, bool json, struct error *err) {
    struct run *runs;
    size_t n;
    if (!baseline_load(results, name, &runs, &n, err)) /* the run files too: what is shown is sound */
        return false;
    js *manifest = baseline_manifest(results, name, err);
    if (manifest != NULL && json) {
        print_text(js_text_pretty(manifest));
    } else if (manifest != NULL) {
        print_line(name, manifest, err);
        for (size_t i = 0; i < n; i++) {
            char *line = text_printable(js_get_string(js_at(js_get(manifest, "runs"), i), "from", "?"));
            char *started = text_printable(js_get_string(runs[i].header, "started", "?"));
            printf("  %s  %s  %zu series, %zu records%s\n", line, started, runs[i].n_series,
                   runs[i].n_records, runs[i].interrupted ? ", interrupted" : "");
            free(line);
            free(started);
        }
    }
    runs_free(runs, n);
    js_free(manifest);
    return manifest != NULL;
}

static bool check_usage(const struct strings *arguments, struct error *err) {
    static const char *const verbs[] = {"save", "list", "show", "remove"};
    static const size_t least[] = {3, 1, 2, 2};
    const char *verb = arguments->items[0];
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(verb, verbs[i]) != 0)
            continue;
        if (arguments->count < least[i])
            return FAIL(err, ERROR_USAGE, "baseline %s needs %s", verb,
                        i == 0 ? "NAME and at least one RUN" : "NAME");
        if (i > 0 && arguments->count > least[i])
            return FAIL(err, ERROR_USAGE, "'%.100s' is too much for baseline %s", arguments->items[least[i]],
                        verb);
        return true;
    }
    const char *near = text_nearest(verb, verbs, sizeof verbs / sizeof *verbs);
    return FAIL(err, ERROR_USAGE, "baseline save, list, show or remove, not '%.60s'%s%s", verb,
                near != NULL ? "; did you mean " : "", near != NULL ? near : "");
}

static int run_baseline(void *values, const struct strings *arguments) {
    const struct baseline_values *v = values;
    struct error err = {0};
    const char *verb = arguments->items[0];
    bool good = check_usage(arguments, &err);
    bool saving = good && strcmp(verb, "save") == 0;
    char *results = good ? results_folder(v->results, saving, &err) : NULL;
    good = results != NULL;
    if (saving && good)
        good = save(results, v, arguments, &err);
    else if (good && strcmp(verb, "list") == 0)
        good = list(results, v->json, &err);
    else if (good && strcmp(verb, "show") == 0)
        good = show(results, arguments->items[1], v->json, &err);
    else if (good)
        good = baseline_remove(results, arguments->items[1], &err);
    free(results);
    if (good)
        return 0;
    log_error(&err);
    return EXIT_REFUSED;
}

const struct command command_baseline = {
    .name = "baseline",
    .arguments = "save NAME RUN… | list | show NAME | remove NAME",
    .summary = "Keep runs as what later runs are compared with",
    .details =
        "A baseline is a copy of its runs, at least 3 of them, over at least 2 boots where the change under test\n"
        "needs one. All must be of the same machine, GPUs and gpuvet.\n"
        "\n"
        "Examples:\n"
        "  gpuvet baseline save before R1 R2 R3\n"
        "  gpuvet run --baseline before\n"
        "  gpuvet baseline list\n",
    .options = rows,
    .min_arguments = 1,
    .max_arguments = 102,
    .values_size = sizeof(struct baseline_values),
    .run = run_baseline,
};
