/* SPDX-License-Identifier: Apache-2.0 */
/* gpuvet compare: two sides, each of one or more runs. */
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
static const struct option_row options[] = {
    {.name = "before",
     .type = OPTION_FILES,
     .metavar = "RUN",
     .offset = AT(before),
     .help = "the runs of the time before, up to the next option"},
    {.name = "after",
     .type = OPTION_FILES,
     .metavar = "RUN",
     .offset = AT(after),
     .help = "the runs of the time after"},
    OPTION_RESULTS(AT(results)),
    {.name = "strict",
     .type = OPTION_FLAG,
     .offset = AT(strict),
     .help = "exit 3 when something is undecided"},
    {.name = "force",
     .type = OPTION_FLAG,
     .offset = AT(force),
     .help = "compare runs of different builds, or a simulated with a real one"},
    {.name = "json", .type = OPTION_FLAG, .offset = AT(json), .help = "for machines"},
    {0},
};

struct sides {
    struct run *before, *after;
    size_t n_before, n_after;
};

static bool load(const char *results, const struct strings *names, struct run **runs, size_t *n,
                 struct error *err) {
    for (size_t i = 0; i < names->count; i++)
        if (!runs_load(results, names->items[i], runs, n, err))
            return RELAY(err);
    return true;
}

/* BEFORE AFTER, or the two options; a mixture leaves open which is which. */
static bool choose_sides(struct compare_values *v, const struct strings *arguments, struct error *err) {
    bool by_option = v->before.count > 0 || v->after.count > 0;
    if (by_option && (v->before.count == 0 || v->after.count == 0 || arguments->count > 0))
        return FAIL(err, ERROR_USAGE, "give both --before RUN... and --after RUN..., and nothing else");
    if (!by_option && arguments->count != 2)
        return FAIL(err, ERROR_USAGE,
                    "compare takes BEFORE and AFTER (runs or baselines); for several runs a side use "
                    "--before RUN... --after RUN...");
    if (!by_option) {
        strings_add(&v->before, arguments->items[0]);
        strings_add(&v->after, arguments->items[1]);
    }
    return true;
}

static int show(const struct comparison *c, const struct compare_values *v) {
    if (v->json) {
        js *json = comparison_json(c);
        js_set_int(json, "exit_status", comparison_exit_status(c, v->strict));
        js_print(json, stdout);
        js_free(json);
    } else {
        comparison_print(c, stdout);
    }
    return comparison_exit_status(c, v->strict);
}

static int run(void *values, const struct strings *arguments) {
    struct compare_values *v = values;
    struct error err = {0};
    struct error no_folder = {0};
    struct sides s = {0};
    struct comparison c;
    int status = EXIT_REFUSED;
    /* Without a results folder, paths still work; one that was named must be there. */
    char *results = results_folder(v->results, false, v->results != NULL ? &err : &no_folder);
    const struct compare_options o = {.force = v->force};
    if ((results != NULL || v->results == NULL) && choose_sides(v, arguments, &err) &&
        load(results, &v->before, &s.before, &s.n_before, &err) &&
        load(results, &v->after, &s.after, &s.n_after, &err) &&
        compare_runs(s.before, s.n_before, s.after, s.n_after, &o, &c, &err)) {
        status = show(&c, v);
        comparison_free(&c);
    } else {
        log_error(&err);
    }
    runs_free(s.before, s.n_before);
    runs_free(s.after, s.n_after);
    free(results);
    return status;
}

const struct command command_compare = {
    .name = "compare",
    .arguments = "[BEFORE AFTER]",
    .summary = "say what changed between two runs, or sets of runs",
    .details =
        "  gpuvet compare before 20260131T120000Z-node-4711.jsonl    a baseline, and a run\n"
        "  gpuvet compare old.jsonl new.jsonl.gz                    two run files\n"
        "  gpuvet compare --before b1.jsonl b2.jsonl b3.jsonl --after a1.jsonl a2.jsonl\n"
        "\n"
        "A name is a file, the name of a file in the results folder's runs/, or a baseline (all its runs).\n"
        "With at least 3 runs before, the spread between runs is measured; with fewer it is assumed.\n"
        "Exit status: 0 nothing regressed, 1 a regression, a new failure, a fact changed for the worse,\n"
        "2 nothing was comparable, 3 something is undecided (--strict).\n",
    .options = options,
    .max_arguments = 2,
    .values_size = sizeof(struct compare_values),
    .run = run,
};
