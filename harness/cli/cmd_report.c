/* SPDX-License-Identifier: Apache-2.0 */
/* gpuvet report: runs in, a folder with a page out. */
#include "cli/report.h"

#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/results.h"
#include "cli/commands.h"
#include "compare/baseline_files.h"
#include "compare/compare.h"
#include "compare/places.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_REFUSED = 2, MOST_BEFORE = 9, MOST_RUNS = 5000, MAX_SUMMARY = 64 << 20 };

struct report_values {
    struct strings before, after;
    const char *baseline, *output, *results;
    bool force, strict;
};

#define AT(field) offsetof(struct report_values, field)
static const struct option_row options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_STRING,
     .metavar = "DIR",
     .offset = AT(output),
     .help = "the folder to write, made if need be"},
    {.name = "baseline",
     .letter = 'b',
     .type = OPTION_STRING,
     .metavar = "NAME",
     .offset = AT(baseline),
     .help = "set the newest run against this baseline"},
    {.name = "before",
     .type = OPTION_FILES,
     .metavar = "RUN",
     .offset = AT(before),
     .help = "set it against these runs"},
    {.name = "after",
     .type = OPTION_FILES,
     .metavar = "RUN",
     .offset = AT(after),
     .help = "several runs as what is looked at, not the newest alone"},
    OPTION_RESULTS(AT(results)),
    {.name = "force", .type = OPTION_FLAG, .offset = AT(force), .help = "compare runs of different builds"},
    {.name = "strict",
     .type = OPTION_FLAG,
     .offset = AT(strict),
     .help = "exit 3 when something is undecided"},
    {0},
};

/* ---- summaries, kept ---- */

/* RESULTS/summaries/HASH.json, by the file's path, size and times: owned. NULL: there is nowhere to keep it.
 */
static char *summary_path(const char *results, const char *path) {
    struct stat st;
    char *whole = realpath(path, NULL);
    if (results == NULL || whole == NULL || stat(whole, &st) != 0) {
        free(whole);
        return NULL;
    }
    struct text key = {0};
    struct text out = {0};
    char hex[SHA256_HEX_SIZE];
    text_addf(&key, "%s %lld %lld.%09ld %lld.%09ld %llu", whole, (long long)st.st_size,
              (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
              st.st_ctim.tv_nsec, (unsigned long long)st.st_ino);
    sha256_hex(text_string(&key), key.length, hex);
    text_addf(&out, "%s/summaries/%.32s.json", results, hex);
    text_free(&key);
    free(whole);
    return text_take(&out);
}

static js *kept_summary(const char *path) {
    struct text content = {0};
    struct error ignored = {0};
    js *out = NULL;
    if (path != NULL && access(path, R_OK) == 0 && file_read(path, MAX_SUMMARY, &content, &ignored))
        out = js_parse(text_string(&content), content.length, &ignored);
    text_free(&content);
    if (out != NULL && !report_summary_fits(out)) {
        js_free(out);
        out = NULL;
    }
    return out;
}

/* What cannot be kept costs time, and nothing else. */
static void keep_summary(const char *results, const char *path, const js *summary) {
    struct error ignored = {0};
    char *folder = results != NULL ? path_join(results, "summaries") : NULL;
    if (path != NULL && folder != NULL && folder_make(folder, &ignored)) {
        char *text = js_text(summary);
        (void)file_replace(path, text, strlen(text), &ignored);
        free(text);
    }
    free(folder);
}

static js *summary_of(const char *results, const char *path, struct error *err) {
    char *kept = summary_path(results, path);
    js *out = kept_summary(kept);
    struct run run;
    if (out == NULL && run_read(path, &run, err)) {
        out = report_summary(&run);
        keep_summary(results, kept, out);
        run_free(&run);
    }
    if (out != NULL)
        js_set_string(out, "path", path);
    free(kept);
    return out;
}

/* ---- which runs ---- */

struct job {
    const struct report_values *v;
    char *results; /* NULL: none is there */
    js *history;   /* summaries, oldest first */
    struct run *before, *after;
    size_t n_before, n_after;
    char *before_name;
    const char *no_comparison;
    struct comparison comparison;
    bool compared;
};

static int by_start(const void *a, const void *b) {
    return strcmp(js_get_string(*(js *const *)a, "started", ""),
                  js_get_string(*(js *const *)b, "started", ""));
}

/* Takes over the summaries; the same file given twice counts once. */
static void sort_history(struct job *job, js **list, size_t n) {
    if (n > 1)
        qsort(list, n, sizeof *list, by_start);
    for (size_t i = 0; i < n; i++) {
        bool again = false;
        for (size_t k = js_length(job->history); k-- > 0 && !again;) {
            const js *other = js_at(job->history, k);
            if (strcmp(js_get_string(other, "started", ""), js_get_string(list[i], "started", "")) != 0)
                break;
            again = strcmp(js_get_string(other, "path", ""), js_get_string(list[i], "path", "")) == 0;
        }
        if (again)
            js_free(list[i]);
        else
            js_append(job->history, list[i]);
    }
}

/* A name is a run file, the name of one in runs/, or a baseline (all its runs). */
static bool add_paths(const struct job *job, const char *name, struct strings *paths, struct error *err) {
    char *path = run_path(job->results, name);
    if (path != NULL) {
        strings_add(paths, path);
        free(path);
        return true;
    }
    struct run *runs = NULL;
    size_t n = 0;
    bool good = runs_load(job->results, name, &runs, &n, err);
    for (size_t i = 0; i < n; i++)
        strings_add(paths, runs[i].path);
    runs_free(runs, n);
    return good;
}

static bool make_history(struct job *job, const struct strings *names, struct error *err) {
    struct strings paths = {0};
    bool good = true;
    for (size_t i = 0; good && i < names->count; i++)
        good = add_paths(job, names->items[i], &paths, err);
    for (size_t i = 0; good && i < job->v->after.count; i++)
        good = add_paths(job, job->v->after.items[i], &paths, err);
    if (good && paths.count > MOST_RUNS)
        good = FAIL(err, ERROR_USAGE, "%zu runs are more than a report takes (%d)", paths.count, MOST_RUNS);
    js **list = mem_zeroed(paths.count, sizeof(js *));
    size_t n = 0;
    for (size_t i = 0; good && i < paths.count; i++) {
        list[n] = summary_of(job->results, paths.items[i], err);
        good = list[n] != NULL;
        n += good ? 1 : 0;
    }
    job->history = js_new_array();
    sort_history(job, list, n);
    free(list);
    strings_free(&paths);
    return good;
}

static bool load_named(const struct job *job, const struct strings *names, struct run **runs, size_t *n,
                       struct error *err) {
    for (size_t i = 0; i < names->count; i++)
        if (!runs_load(job->results, names->items[i], runs, n, err))
            return RELAY(err);
    return true;
}

static bool comparable(const js *a, const js *b, bool force) {
    static const char *const same[] = {"build_id", "node"};
    for (size_t i = 0; i < 2 && !force; i++)
        if (strcmp(js_get_string(a, same[i], ""), js_get_string(b, same[i], "")) != 0)
            return false;
    return js_get_bool(a, "simulated", false) == js_get_bool(b, "simulated", false);
}

/* Without a word about it the newest run is set against the latest of those given before it. */
static bool take_earlier(struct job *job, struct error *err) {
    size_t n = js_length(job->history);
    size_t first = n;
    const js *newest = js_at(job->history, n - 1);
    size_t taken = 0;
    for (size_t i = n - 1; i-- > 0 && taken < MOST_BEFORE;)
        if (comparable(js_at(job->history, i), newest, job->v->force)) {
            taken++;
            first = i;
        }
    for (size_t i = first; i + 1 < n; i++)
        if (comparable(js_at(job->history, i), newest, job->v->force) &&
            !runs_load(job->results, js_get_string(js_at(job->history, i), "path", ""), &job->before,
                       &job->n_before, err))
            return RELAY(err);
    job->no_comparison =
        n == 1 ? "one run was given, and neither --baseline nor --before"
               : "no run given is of the same node and build as the newest (--force takes them all the same)";
    job->before_name = mem_copy_string("the runs before it");
    return true;
}

static bool load_before(struct job *job, struct error *err) {
    const struct report_values *v = job->v;
    if (v->before.count > 0) {
        job->before_name =
            mem_copy_string(v->before.count == 1 ? v->before.items[0] : "the runs named before");
        return load_named(job, &v->before, &job->before, &job->n_before, err);
    }
    if (v->baseline == NULL)
        return take_earlier(job, err);
    struct text name = {0};
    text_addf(&name, "the baseline '%s'", v->baseline);
    job->before_name = text_take(&name);
    if (job->results == NULL)
        return FAIL(err, ERROR_USAGE, "there is no results folder, so no baseline '%s' (--results DIR)",
                    v->baseline);
    return baseline_load(job->results, v->baseline, &job->before, &job->n_before, err);
}

static bool get_ready(struct job *job, const struct strings *arguments, struct error *err) {
    const struct report_values *v = job->v;
    if (v->output == NULL || v->output[0] == '\0')
        return FAIL(err, ERROR_USAGE, "where to? gpuvet report RUN... -o DIR");
    if (arguments->count == 0 && v->after.count == 0)
        return FAIL(err, ERROR_USAGE, "which runs? gpuvet report RUN... -o DIR");
    if (v->baseline != NULL && v->before.count > 0)
        return FAIL(err, ERROR_USAGE, "give --baseline or --before, not both");
    struct error no_folder = {0};
    job->results = results_folder(v->results, false, v->results != NULL ? err : &no_folder);
    if (job->results == NULL && v->results != NULL)
        return RELAY(err);
    if (!make_history(job, arguments, err))
        return RELAY(err);
    if (v->after.count > 0 && v->before.count == 0 && v->baseline == NULL)
        return FAIL(err, ERROR_USAGE, "--after needs --before RUN... or --baseline NAME");
    if (v->after.count > 0
            ? !load_named(job, &v->after, &job->after, &job->n_after, err)
            : !runs_load(job->results,
                         js_get_string(js_at(job->history, js_length(job->history) - 1), "path", ""),
                         &job->after, &job->n_after, err))
        return RELAY(err);
    return load_before(job, err);
}

static bool write_report(struct report_input *input, int *status, struct error *err) {
    struct strings notes = {0};
    struct place_costs costs;
    place_costs_make(&input->after[input->n_after - 1], &costs);
    js *places = place_costs_json(&costs);
    input->places = places;
    bool good = report_write(input, status, &notes, err);
    place_costs_free(&costs);
    js_free(places);
    for (size_t i = 0; i < notes.count; i++)
        log_note("%s", notes.items[i]);
    strings_free(&notes);
    return good;
}

static bool make(struct job *job, int *status, struct error *err) {
    const struct compare_options o = {.force = job->v->force};
    if (job->n_before > 0)
        job->compared =
            compare_runs(job->before, job->n_before, job->after, job->n_after, &o, &job->comparison, err);
    if (job->n_before > 0 && !job->compared)
        return RELAY(err);
    js *json = job->compared ? comparison_json(&job->comparison) : NULL;
    struct report_input input = {.after = job->after,
                                 .n_after = job->n_after,
                                 .before = job->before,
                                 .n_before = job->n_before,
                                 .before_name = job->before_name,
                                 .comparison = json,
                                 .no_comparison = job->no_comparison,
                                 .history = job->history,
                                 .folder = job->v->output,
                                 .strict = job->v->strict};
    bool good = write_report(&input, status, err);
    js_free(json);
    return good;
}

bool report_check_folder(const char *folder, struct error *err) {
    bool good = folder[0] != '\0' || FAIL(err, ERROR_USAGE, "which folder?");
    char *plots = path_join(folder, "plots");
    good = good && folder_make(folder, err) && folder_make(plots, err);
    for (int i = 0; i < 2 && good; i++) {
        const char *path = i == 0 ? folder : plots;
        char *probe = path_join(path, ".gpuvet-probe");
        good = file_replace(probe, "", 0, err);
        if (good)
            unlink(probe);
        free(probe);
    }
    free(plots);
    return good || error_context(err, "--report");
}

bool report_after_run(const char *folder, const char *path, const struct run *before, size_t n_before,
                      const char *baseline, const struct comparison *comparison, struct error *err) {
    struct run after;
    if (!run_read(path, &after, err))
        return RELAY(err);
    js *json = comparison != NULL ? comparison_json(comparison) : NULL;
    js *history = js_new_array();
    struct text name = {0};
    text_addf(&name, "the baseline '%s'", baseline != NULL ? baseline : "");
    for (size_t i = 0; i < n_before; i++)
        js_append(history, report_summary(&before[i]));
    js_append(history, report_summary(&after));
    struct report_input input = {.after = &after,
                                 .n_after = 1,
                                 .before = before,
                                 .n_before = json != NULL ? n_before : 0,
                                 .before_name = text_string(&name),
                                 .comparison = json,
                                 .no_comparison = "there was no baseline to compare with",
                                 .history = history,
                                 .folder = folder};
    int ignored = 0; /* the run has its own */
    bool good = write_report(&input, &ignored, err);
    js_free(json);
    js_free(history);
    text_free(&name);
    run_free(&after);
    return good;
}

static int run(void *values, const struct strings *arguments) {
    struct error err = {0};
    struct job job = {.v = values};
    int status = EXIT_REFUSED;
    if (get_ready(&job, arguments, &err) && make(&job, &status, &err)) {
        char *page = path_join(job.v->output, "index.html");
        printf("%s\n", page);
        free(page);
    } else {
        status = EXIT_REFUSED;
        log_error(&err);
    }
    if (job.compared)
        comparison_free(&job.comparison);
    runs_free(job.before, job.n_before);
    runs_free(job.after, job.n_after);
    js_free(job.history);
    free(job.before_name);
    free(job.results);
    return status;
}

const struct command command_report = {
    .name = "report",
    .arguments = "[RUN...]",
    .summary = "write a page to look at, and files for machines",
    .details =
        "  gpuvet report run.jsonl -o out/                     one run: what the node can do\n"
        "  gpuvet report run.jsonl --baseline before -o out/   and what changed since\n"
        "  gpuvet report results/runs/*.jsonl -o out/          the newest against those before, and the history\n"
        "  gpuvet report --before b1.jsonl b2.jsonl b3.jsonl --after a1.jsonl a2.jsonl -o out/\n"
        "\n"
        "DIR gets index.html (needs nothing else), summary.md, results.csv, rounds.csv, junit.xml,\n"
        "metrics.prom, and plots/ with every plot's data, script, SVG and PNG. Exit status as compare's; with\n"
        "nothing to compare, 1 where anything in the run failed.\n",
    .options = options,
    .max_arguments = MOST_RUNS,
    .values_size = sizeof(struct report_values),
    .run = run,
};
