/* SPDX-License-Identifier: Apache-2.0 */
/* gpuvet run: plan, measure, record, and set against a baseline. */
#include "base/log.h"
#include "base/mem.h"
#include "base/results.h"
#include "cli/commands.h"
#include "cli/plan_json.h"
#include "cli/prepare.h"
#include "cli/report.h"
#include "cli/run_header.h"
#include "cli/run_options.h"
#include "cli/run_places.h"
#include "compare/baseline.h"
#include "compare/compare.h"
#include "compare/places.h"
#include "run/lock.h"
#include "run/who.h"
#include "stats/robust.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_REFUSED = 2, EXIT_SKIPPED = 77 };

/* All of one run, so that one place releases it. */
struct job {
    struct run_values *v;
    struct interrupt interrupt;
    struct clock clock;
    struct prepared prepared;
    bool is_prepared;
    char *results;
    char *path; /* of the run file */
    int lock;
    char *baseline_name; /* NULL: none */
    struct run *baseline;
    size_t n_baseline;
    struct run_places places;
    struct coordinator coordinator;
    double seconds; /* from header to footer */
    struct comparison comparison;
    bool compared;
    struct place_costs costs; /* of several places: what the others cost over the first */
};

static bool load_baseline(struct job *job, struct error *err) {
    const char *machine = node_text(&job->prepared.places[0].node, "machine_id");
    if (job->v->no_baseline || (job->v->baseline == NULL && (job->v->simulate || machine == NULL)))
        return true;
    if (!baseline_find(job->results, job->v->baseline, machine, &job->baseline_name, err))
        return RELAY(err);
    if (job->baseline_name == NULL)
        return true;
    if (baseline_load(job->results, job->baseline_name, &job->baseline, &job->n_baseline, err))
        return true;
    return job->v->baseline != NULL
               ? RELAY(err)
               : error_context(err, "--no-baseline measures without this machine's newest");
}

static int64_t choose_seed(const struct job *job) {
    if (job->v->seed >= 0)
        return job->v->seed;
    return job->n_baseline > 0 ? js_get_int(job->baseline[0].header, "seed", 1) : 1;
}

/* runs/TIME-NODE-PID.jsonl, with a number behind it should that exist. */
static struct run_writer *open_run_file(struct job *job, struct error *err) {
    char at[CLOCK_STAMP_SIZE];
    clock_stamp_compact(clock_wall(&job->clock), at);
    char *node = mem_copy_string(job->prepared.places[0].node.name);
    for (char *c = node; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL)
            *c = '_'; /* a host's name may hold anything, and this one is typed into shells */
    struct run_writer *writer = NULL;
    for (int i = 1; i < 1000 && writer == NULL; i++) {
        struct text name = {0};
        text_addf(&name, "%s/runs/%s-%.64s-%ld", job->results, at, node, (long)getpid());
        if (i > 1)
            text_addf(&name, "-%d", i);
        text_add(&name, ".jsonl");
        free(job->path);
        job->path = text_take(&name);
        writer = run_writer_open(job->path, err);
        if (writer == NULL && err->native != EEXIST)
            break;
    }
    free(node);
    return writer;
}

/* An effect that is mistyped, or meets nothing, would leave a made-up run that shows no effect. */
static bool effect_meets(const struct prepared *p, const char *pattern) {
    for (size_t i = 0; i < p->n_places; i++)
        for (size_t k = 0; k < p->places[i].plan.n_items; k++)
            if (series_selected(pattern, p->places[i].plan.items[k].key))
                return true;
    return false;
}

static bool check_effects(const struct strings *effects, const struct prepared *p, struct error *err) {
    for (size_t i = 0; i < effects->count; i++) {
        const char *spec = effects->items[i];
        const char *equals = strrchr(spec, '=');
        double factor = 0;
        if (equals == NULL || !text_to_double(equals + 1, &factor) || !(factor >= 0.001 && factor <= 1000))
            return FAIL(err, ERROR_USAGE,
                        "--effect '%s' is not PATTERN=FACTOR with a factor from 0.001 to 1000 (copy.h2d=0.9)",
                        spec);
        char *pattern = mem_copy_bytes(spec, (size_t)(equals - spec));
        bool met = effect_meets(p, pattern);
        free(pattern);
        if (!met)
            return FAIL(err, ERROR_USAGE, "--effect '%s' changes nothing that this run measures", spec);
    }
    return true;
}

static bool get_ready(struct job *job, struct error *err) {
    struct run_values *v = job->v;
    if (!run_options_check(v, err))
        return RELAY(err);
    if (!v->dry_run && !v->simulate && !lock_take(&job->lock, err))
        return RELAY(err);
    if (!v->dry_run && (job->results = results_folder(v->results, true, err)) == NULL)
        return RELAY(err);
    struct prepare_options o = {.from = v->from,
                                .in = &v->in,
                                .simulate = v->simulate && !v->dry_run,
                                .may_start = v->start,
                                .own_placement = !v->no_own_placement,
                                .gpus = &v->gpus};
    o.plan =
        (struct plan_options){.profile = v->profile, .rounds = (int)v->rounds, .seed = 1, .cases = &v->cases};
    if (!prepare(&o, &job->interrupt, &job->prepared, err))
        return RELAY(err);
    job->is_prepared = true;
    if (!check_effects(&v->effects, &job->prepared, err))
        return RELAY(err);
    if (v->dry_run && v->baseline == NULL)
        return true;
    /* Of a dry run too: a name that is not there is better known before. */
    if (v->dry_run && (job->results = results_folder(v->results, false, err)) == NULL)
        return RELAY(err);
    if (!load_baseline(job, err))
        return RELAY(err);
    for (size_t i = 0; i < job->prepared.n_places; i++)
        job->prepared.places[i].plan.seed = (uint64_t)choose_seed(job);
    return true;
}

/* The median of each row in the baseline's first run, for the live ratio. */
static void set_baseline_figures(struct job *job) {
    for (size_t p = 0; p < job->places.n && job->n_baseline > 0; p++) {
        struct run_table *table = &job->places.tables[p];
        for (size_t i = 0; i < table->n_rows; i++) {
            const struct series *s = run_find(&job->baseline[0], table->rows[i].series->key);
            if (s != NULL && s->n_values > 0)
                table->rows[i].baseline = stats_median(s->values, s->n_values);
        }
    }
}

/* Told before anything is measured, as a figure that was held back shows only afterwards. */
static void warn_of_quota(void) {
    struct source live;
    struct error ignored = {0};
    char words[400];
    cpu_set_t cpus;
    if (!source_live(&live, &ignored))
        return;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0 &&
        who_lacks_cpus(&live, CPU_COUNT(&cpus), words, sizeof words))
        log_warning("%s", words);
    source_free(&live);
}

static bool measure(struct job *job, struct error *err) {
    struct prepared *p = &job->prepared;
    struct run_values *v = job->v;
    struct run_writer *writer = open_run_file(job, err);
    if (writer == NULL)
        return RELAY(err);
    run_places_make(&job->places, p, v->simulate, &job->clock);
    set_baseline_figures(job);
    struct quiet_gate gate;
    if (!v->simulate)
        warn_of_quota();
    if (!v->simulate)
        quiet_open(&gate, v->allow_busy, (int64_t)(v->wait_quiet * 1e9),
                   p->places[0].plan.uses_gpu && p->places[0].node.gpus.count > 0);
    struct run_header_parts parts = {
        .prepared = p, .simulated = v->simulate, .label = v->label, .started = clock_wall(&job->clock)};
    int64_t began = clock_now(&job->clock);
    js *header = run_header(&parts);
    job->coordinator = (struct coordinator){
        .clock = &job->clock,
        .places = job->places.places,
        .n_places = job->places.n,
        .writer = writer,
        .quiet = v->simulate ? NULL : &gate,
        .interrupt = &job->interrupt,
        .view = run_places_view(&job->places),
        .simulate = v->simulate,
        .effects = &v->effects,
    };
    bool good = run_writer_add(writer, header, true, err);
    if (!good)
        unlink(job->path); /* without its header it is no run */
    good = good && (v->simulate || run_places_doctor(&job->places, &job->interrupt, writer, err)) &&
           coordinator_run(&job->coordinator, err);
    js_free(header);
    if (!v->simulate)
        quiet_close(&gate);
    job->seconds = (double)(clock_now(&job->clock) - began) / 1e9;
    struct error closing = {0};
    if (!run_writer_close(writer, &closing) && good) {
        *err = closing;
        good = false;
    }
    return good;
}

static void set_verdict(struct view_row *row, const struct compare_row *found) {
    const struct decide_result *r = &found->result;
    if (isfinite(r->ratio))
        snprintf(row->verdict, sizeof row->verdict, "%+.1f %% %s", 100 * (r->ratio - 1),
                 row->series->primary ? verdict_name(r->verdict) : "");
    else
        snprintf(row->verdict, sizeof row->verdict, "%s", verdict_name(r->verdict));
}

static void set_verdicts(struct job *job) {
    for (size_t p = 0; p < job->places.n; p++)
        for (size_t i = 0; i < job->places.tables[p].n_rows; i++) {
            struct view_row *row = &job->places.tables[p].rows[i];
            const struct compare_row *found = comparison_find(&job->comparison, row->series->key);
            if (found != NULL)
                set_verdict(row, found);
        }
}

static bool compare(struct job *job, struct error *err) {
    struct run after;
    if (job->n_baseline == 0 && job->places.n < 2)
        return true;
    if (!run_read(job->path, &after, err))
        return RELAY(err);
    place_costs_make(&after, &job->costs);
    if (job->n_baseline == 0) {
        run_free(&after);
        return true;
    }
    struct compare_options o = {0};
    job->compared = compare_runs(job->baseline, job->n_baseline, &after, 1, &o, &job->comparison, err);
    if (job->compared)
        set_verdicts(job);
    run_free(&after);
    return job->compared;
}

static void print_json(const struct job *job) {
    const struct outcome_counts *c = &job->coordinator.counts;
    js *out = js_new_object();
    js *counts = js_new_object();
    js_set_string(out, "schema", "gpuvet.run-summary/1");
    js_set_string(out, "run", job->path);
    js_set_int(counts, "ok", c->ok);
    js_set_int(counts, "fail", c->fail);
    js_set_int(counts, "skip", c->skip);
    js_set_int(counts, "hang", c->hang);
    js_set_int(counts, "error", c->error);
    js_set(out, "counts", counts);
    if (!job->v->simulate) {
        js_set_number(out, "seconds", round(job->seconds * 10) / 10);
        js_set_int(out, "predicted_s", (int64_t)ceil(prepared_seconds(&job->prepared)));
    }
    js_set_string(out, "baseline", job->baseline_name);
    if (job->compared)
        js_set(out, "comparison", comparison_json(&job->comparison));
    if (job->costs.n > 0)
        js_set(out, "places", place_costs_json(&job->costs));
    js_print(out, stdout);
    js_free(out);
}

static void print_summary(const struct job *job) {
    const struct outcome_counts *c = &job->coordinator.counts;
    if (job->v->json) {
        print_json(job);
        return;
    }
    run_places_print(&job->places, stdout);
    printf("\n%d measured", c->ok);
    if (c->fail + c->hang + c->error > 0)
        printf(", %d failed, %d hung, %d in error", c->fail, c->hang, c->error);
    printf(", %d skipped; %s\n", c->skip, job->path);
    if (!job->v->simulate)
        printf("It took %.0f s; %.0f s were predicted.\n", job->seconds, prepared_seconds(&job->prepared));
    place_costs_print(&job->costs, stdout);
    if (job->compared) {
        printf("\nAgainst the baseline '%s':\n", job->baseline_name);
        comparison_print(&job->comparison, stdout);
    }
    if (job->v->simulate)
        printf("Every figure above is made up (--simulate).\n");
}

/* 2 before 1 before 3 before 77 (docs: exit status). */
static int status_of(const struct job *job) {
    const struct outcome_counts *c = &job->coordinator.counts;
    int compared = job->compared ? comparison_exit_status(&job->comparison, job->v->strict) : 0;
    /* A baseline that nobody named may well be of another build or of other GPUs: said above, and no refusal.
     */
    if (compared == EXIT_REFUSED && job->v->baseline == NULL)
        compared = 0;
    if (compared == EXIT_REFUSED)
        return compared;
    if (c->fail + c->hang + c->error > 0 || job->places.broken || compared == 1)
        return 1;
    if (compared != 0)
        return compared;
    return c->ok == 0 ? EXIT_SKIPPED : 0;
}

static void job_free(struct job *job) {
    if (job->compared)
        comparison_free(&job->comparison);
    place_costs_free(&job->costs);
    run_places_free(&job->places);
    for (size_t i = 0; i < job->n_baseline; i++)
        run_free(&job->baseline[i]);
    free(job->baseline);
    free(job->baseline_name);
    free(job->results);
    free(job->path);
    if (job->is_prepared)
        prepared_free(&job->prepared);
    interrupt_close(&job->interrupt);
    if (job->lock >= 0)
        close(job->lock);
}

static int refuse(const struct error *err) {
    log_error(err);
    return EXIT_REFUSED;
}

static bool report(const struct job *job, struct error *err) {
    return job->v->report == NULL ||
           report_after_run(job->v->report, job->path, job->baseline, job->n_baseline, job->baseline_name,
                            job->compared ? &job->comparison : NULL, err);
}

/* Workers find it in their environment. Here it can be missed before anything is measured; elsewhere the path
 * is that place's, and its items say so. */
static bool choose_nccl(const struct job *job, struct error *err) {
    const char *path = job->v->nccl;
    if (path == NULL)
        return true;
    char *whole = realpath(path, NULL);
    if (whole == NULL && job->v->in.count == 0)
        return FAIL(err, ERROR_USAGE, "--nccl: %s: %s", path, strerror(errno));
    setenv("GPUVET_NCCL", whole != NULL && job->v->in.count == 0 ? whole : path, 1);
    free(whole);
    return true;
}

static void show_plan(const struct job *job) {
    if (!job->v->json) {
        run_places_print_plan(&job->prepared);
        return;
    }
    js *plan = plan_json(&job->prepared);
    js_print(plan, stdout);
    js_free(plan);
}

static int run_job(struct job *job) {
    struct error err = {0};
    if (!choose_nccl(job, &err))
        return refuse(&err);
    if (!interrupt_open(&job->interrupt, &err) || !get_ready(job, &err)) {
        /* Who waited may only have seen that a signal is there. */
        if (!interrupt_came(&job->interrupt))
            return refuse(&err);
        log_note("interrupted before anything was measured");
        return 128 + job->interrupt.signal;
    }
    if (job->v->dry_run) {
        show_plan(job);
        return 0;
    }
    if (job->v->report != NULL && !report_check_folder(job->v->report, &err))
        return refuse(&err);
    bool good = measure(job, &err);
    bool interrupted = !good && err.kind == ERROR_INTERRUPTED && interrupt_came(&job->interrupt);
    if (!good && !interrupted && job->coordinator.counts.ok == 0)
        return refuse(&err);
    struct error comparing = {0};
    bool compared = !good || compare(job, &comparing);
    print_summary(job);
    struct error reporting = {0};
    bool reported = report(job, &reporting);
    if (interrupted) {
        log_note("interrupted; what was measured is in %s", job->path);
        return 128 + job->interrupt.signal;
    }
    if (!good || !compared)
        return refuse(good ? &comparing : &err);
    return reported ? status_of(job) : refuse(&reporting);
}

static int run(void *values, const struct strings *arguments) {
    (void)arguments;
    struct run_values *v = values;
    struct job job = {.v = v, .lock = -1, .interrupt = {.fd = -1}};
    signal(SIGPIPE, SIG_IGN); /* a worker may die while it is written to */
    /* A made-up run has a made-up time, so that equal seeds give equal files. */
    job.clock = v->simulate ? clock_fake(INT64_C(1767225600) * NS_PER_S) : clock_real();
    int status = run_job(&job);
    job_free(&job);
    return status;
}

const struct command command_run = {
    .name = "run",
    .summary = "measure what this node can, and record it",
    .details =
        "  gpuvet run --profile quick                    a first look, half a minute\n"
        "  gpuvet run --label before-6.14                the standard profile, with a name\n"
        "  gpuvet run --case 'copy.*' --gpu 0            host-device copies of GPU 0\n"
        "  gpuvet run --baseline before                  measure, and say what changed\n"
        "  gpuvet run --baseline before --report out/    the same with a page, JUnit XML and more: a CI job's line\n"
        "  gpuvet run --in host --in lxc:129             what the container costs, or why it cannot run\n"
        "  gpuvet run --dry-run                          what would run, where, how long\n"
        "\n"
        "The figures go to runs/TIME-NODE-PID.jsonl in the results folder.\n",
    .options = run_options,
    .values_size = sizeof(struct run_values),
    .defaults = run_defaults,
    .run = run,
};
