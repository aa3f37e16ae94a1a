/* SPDX-License-Identifier: Apache-2.0 */
/* gpuvet compare: BEFORE against AFTER. */
#include "base/log.h"
#include "base/results.h"
#include "cli/commands.h"
#include "compare/baseline.h"
#include "compare/compare.h"

#include <stdio.h>
#include <stdlib.h>

enum { EXIT_REFUSED = 2 };

struct compare_values {
    struct strings before, after;
    const char *results;
    bool json, strict, force;
};

#define AT(field) offsetof(struct compare_values, field)
static const struct option_row rows[] = {
    {.name = "before",
     .type = OPTION_FILES,
     .metavar = "RUN",
     .offset = AT(before),
     .help = "the runs, or the baseline, before the change"},
    {.name = "after",
     .type = OPTION_FILES,
     .metavar = "RUN",
     .offset = AT(after),
     .help = "the runs after it"},
    {.name = "json", .type = OPTION_FLAG, .offset = AT(json), .help = "print JSON (gpuvet.compare/1)"},
    {.name = "strict",
     .type = OPTION_FLAG,
     .offset = AT(strict),
     .help = "exit 3 when a series is undecided"},
    {.name = "force",
     .type = OPTION_FLAG,
     .offset = AT(force),
     .help = "compare other builds, and simulated with real runs, all the same"},
    {.name = "results",
     .type = OPTION_STRING,
     .metavar = "DIR",
     .offset = AT(results),
     .help = "where runs/ and baselines/ are",
     .fallback = "GPUVET_RESULTS, ./results, the state folder"},
    {0},
};

/* BEFORE and AFTER by place, or --before and --after; not both ways. */
static bool sort_arguments(struct compare_values *v, const struct strings *arguments, struct error *err) {
    bool named = v->before.count > 0 || v->after.count > 0;
    if (named && arguments->count > 0)
        return FAIL(err, ERROR_USAGE, "give either BEFORE AFTER or --before … --after …, not both ('%.100s')",
                    arguments->items[0]);
    if (!named && arguments->count != 2)
        return FAIL(err, ERROR_USAGE,
                    "compare needs BEFORE and AFTER (for more runs: --before R1 R2 R3 --after R4)");
    if (named && (v->before.count == 0 || v->after.count == 0))
        return FAIL(err, ERROR_USAGE, "--%s is missing", v->before.count == 0 ? "before" : "after");
    if (!named) {
        strings_add(&v->before, arguments->items[0]);
        strings_add(&v->after, arguments->items[1]);
    }
    return true;
}

struct loaded {
    struct run *runs;
    size_t n;
};

static bool load(const char *results, const struct strings *names, struct loaded *out, struct error *err) {
    for (size_t i = 0; i < names->count; i++)
        if (!runs_load(results, names->items[i], &out->runs, &out->n, err))
            return RELAY(err);
    return true;
}

static void show(const struct comparison *c, bool json) {
    if (!json) {
        comparison_print(c, stdout);
        return;
    }
    js *o = comparison_json(c);
    char *text = js_text_pretty(o);
    fputs(text, stdout);
    free(text);
    js_free(o);
}

static int run_compare(void *values, const struct strings *arguments) {
    struct compare_values *v = values;
    struct loaded before = {0};
    struct loaded after = {0};
    struct comparison c;
    struct error err = {0};
    struct error no_folder = {0};
    int status = EXIT_REFUSED;
    char *results = results_folder(v->results, false, &no_folder);
    bool good = sort_arguments(v, arguments, &err);
    if (good && results == NULL && v->results != NULL) {
        err = no_folder;
        good = false;
    }
    struct compare_options options = {.force = v->force};
    good = good && load(results, &v->before, &before, &err) && load(results, &v->after, &after, &err) &&
           compare_runs(before.runs, before.n, after.runs, after.n, &options, &c, &err);
    if (good) {
        show(&c, v->json);
        status = comparison_exit_status(&c, v->strict);
        comparison_free(&c);
    } else {
        log_error(&err);
    }
    runs_free(before.runs, before.n);
    runs_free(after.runs, after.n);
    free(results);
    return status;
}

const struct command command_compare = {
    .name = "compare",
    .arguments = "[BEFORE AFTER]",
    .summary = "Say what changed between two runs, or between a baseline and runs",
    .details =
        "BEFORE and AFTER are run files, names of files in RESULTS/runs/, or baselines. A baseline of at least 3\n"
        "runs also tells how much runs differ by themselves.\n"
        "\n"
        "Exit status: 0 no change for the worse; 1 a regression, a failure, a fact changed for the worse;\n"
        "2 nothing was comparable; 3 undecided, with --strict.\n"
        "\n"
        "Examples:\n"
        "  gpuvet compare before.jsonl after.jsonl\n"
        "  gpuvet compare mybaseline after.jsonl --json\n"
        "  gpuvet compare --before R1 R2 R3 --after R4 R5 R6\n",
    .options = rows,
    .max_arguments = 2,
    .values_size = sizeof(struct compare_values),
    .run = run_compare,
};
