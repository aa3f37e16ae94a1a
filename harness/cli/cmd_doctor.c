/* SPDX-License-Identifier: Apache-2.0 */
/* gpuvet doctor: why CUDA does not work here, and the line to change. */
#include "base/log.h"
#include "cli/commands.h"
#include "cli/doctor_after.h"
#include "cli/doctor_baseline.h"
#include "cli/doctor_capture.h"
#include "cli/doctor_fix.h"
#include "cli/doctor_guard.h"
#include "cli/doctor_live.h"
#include "doctor/doctor.h"
#include "system/dead_mounts.h"
#include "system/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct doctor_values {
    const char *from, *baseline, *results, *capture;
    const char *explain, *fix, *motd, *state;
    bool apply, after_upgrade;
    bool list, markdown;
    bool json, verbose, strict;
};

static const struct option_row options[] = {
    {.name = "from",
     .type = OPTION_STRING,
     .metavar = "DIR",
     .offset = offsetof(struct doctor_values, from),
     .help = "judge a captured machine instead of this one"},
    {.name = "capture",
     .type = OPTION_STRING,
     .metavar = "DIR",
     .offset = offsetof(struct doctor_values, capture),
     .help = "also keep all that was looked at in a new folder, for --from and for others to judge"},
    {.name = "baseline",
     .type = OPTION_STRING,
     .metavar = "NAME|DIR",
     .offset = offsetof(struct doctor_values, baseline),
     .help = "numbers of a saved baseline, or of an earlier capture, tell a wrong number from a stale one",
     .fallback = "the newest of this machine"},
    OPTION_RESULTS(offsetof(struct doctor_values, results)),
    {.name = "list",
     .type = OPTION_FLAG,
     .offset = offsetof(struct doctor_values, list),
     .help = "every rule, one line each"},
    {.name = "markdown",
     .type = OPTION_FLAG,
     .offset = offsetof(struct doctor_values, markdown),
     .help = "with --list: the whole of docs/doctor.md"},
    {.name = "explain",
     .type = OPTION_STRING,
     .metavar = "ID",
     .offset = offsetof(struct doctor_values, explain),
     .help = "what one rule looks for, why it matters, what to do"},
    {.name = "fix",
     .type = OPTION_STRING,
     .metavar = "WHAT",
     .offset = offsetof(struct doctor_values, fix),
     .help = "show the change that mends lxc:NAME, udev, or the command that mends cdi"},
    {.name = "apply",
     .type = OPTION_FLAG,
     .offset = offsetof(struct doctor_values, apply),
     .help = "with --fix lxc:NAME: make the change; the old file is kept in /var/lib/gpuvet/backup"},
    {.name = "after-upgrade",
     .type = OPTION_FLAG,
     .offset = offsetof(struct doctor_values, after_upgrade),
     .help = "at boot: judge only if kernel, driver or numbers are not the baseline's, and tell it"},
    {.name = "motd",
     .type = OPTION_STRING,
     .metavar = "FILE",
     .offset = offsetof(struct doctor_values, motd),
     .help = "with --after-upgrade: where logins see the verdict; - for nowhere",
     .fallback = "/run/motd.d/gpuvet"},
    {.name = "state",
     .type = OPTION_STRING,
     .metavar = "FILE",
     .offset = offsetof(struct doctor_values, state),
     .help = "with --after-upgrade: what was seen last",
     .fallback = "/var/lib/gpuvet/last-seen.json"},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct doctor_values, json),
     .help = "for machines"},
    {.name = "verbose",
     .letter = 'v',
     .type = OPTION_FLAG,
     .offset = offsetof(struct doctor_values, verbose),
     .help = "the info findings too"},
    {.name = "strict",
     .type = OPTION_FLAG,
     .offset = offsetof(struct doctor_values, strict),
     .help = "a warning too is exit status 1"},
    {0},
};

static int explain(const char *id) {
    struct error err = {0};
    const struct rule *rule = rule_find(id);
    if (rule != NULL) {
        rule_print(rule, stdout);
        return 0;
    }
    const char *near = rule_nearest(id);
    FAIL(&err, ERROR_USAGE, "no rule '%s'%s%s%s; gpuvet doctor --list shows all", id,
         near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
    log_error(&err);
    return 2;
}

static void show(const struct doctor_values *v, const struct findings *findings, const struct scene *scene) {
    if (v->json) {
        js *out = findings_to_json(findings, scene);
        js_print(out, stdout);
        js_free(out);
        return;
    }
    bool colour = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;
    findings_print(findings, scene, colour, v->verbose, stdout);
}

struct job {
    const struct doctor_values *v;
    const js *dead;
};

static int judge(void *argument) {
    const struct job *job = argument;
    const struct doctor_values *v = job->v;
    struct source source = {0};
    struct recording recording = {0};
    struct device_nodes nodes = {0};
    struct error err = {0};
    struct facts *facts = NULL;
    js *before = NULL;
    int status = 2;
    bool good = doctor_capture_begin(v->capture, v->from, &source, &recording, &err) &&
                (v->from != NULL ? source_capture(v->from, &source, &err) &&
                                       (facts = facts_read(&source, &err)) != NULL &&
                                       device_nodes_read(&source, &nodes, &err)
                                 : doctor_live(job->dead, &source, &facts, &nodes, &err)) &&
                doctor_baseline(v->baseline, v->results,
                                v->from == NULL ? facts->kernel.machine_id.value : NULL, &before, &err);
    if (good) {
        struct scene scene;
        struct findings findings;
        scene_make(&source, facts, &nodes, before, &scene);
        doctor_judge(&scene, &findings);
        show(v, &findings, &scene);
        enum severity worst = findings_worst(&findings);
        status = worst == SEVERITY_FAIL || (worst == SEVERITY_WARN && v->strict) ? 1 : 0;
        if (!doctor_capture_end(v->capture, &scene, &err)) {
            log_error(&err);
            status = 2;
        }
        findings_free(&findings);
        scene_free(&scene);
    } else {
        log_error(&err);
    }
    js_free(before);
    device_nodes_free(&nodes);
    facts_free(facts);
    source_free(&source);
    recording_free(&recording);
    return status;
}

static int misused(const char *line) {
    struct error err = {0};
    FAIL(&err, ERROR_USAGE, "%s; see gpuvet doctor --help", line);
    log_error(&err);
    return 2;
}

static int after(void *argument) {
    return doctor_after(argument);
}

static int fix_or_after(const struct doctor_values *v) {
    struct doctor_view_options view = {.from = v->from, .baseline = v->baseline, .results = v->results};
    if (v->fix != NULL && v->after_upgrade)
        return misused("--fix and --after-upgrade are two things");
    if (v->capture != NULL)
        return misused("--capture goes with a plain gpuvet doctor");
    if (v->fix != NULL)
        return doctor_fix(
            &(struct doctor_fix_options){.what = v->fix, .view = view, .apply = v->apply, .json = v->json});
    struct doctor_after_options options = {
        .view = view, .motd = v->motd, .state = v->state, .strict = v->strict};
    if (v->from != NULL)
        return after(&options);
    js *dead = dead_mounts();
    options.view.dead = dead;
    int status = doctor_guarded(after, &options, dead, true);
    js_free(dead);
    return status;
}

static int run(void *values, const struct strings *arguments) {
    (void)arguments;
    const struct doctor_values *v = values;
    if (v->from != NULL && v->from[0] == '\0')
        return misused("--from needs the folder of a capture");
    if (v->markdown && !v->list)
        return misused("--markdown goes with --list");
    if (v->json && (v->list || v->explain != NULL))
        return misused("--json goes with a judgement, not with --list or --explain");
    if (v->apply && v->fix == NULL)
        return misused("--apply goes with --fix lxc:NAME");
    if ((v->motd != NULL || v->state != NULL) && !v->after_upgrade)
        return misused("--motd and --state go with --after-upgrade");
    if ((v->motd != NULL && v->motd[0] == '\0') || (v->state != NULL && v->state[0] == '\0'))
        return misused("--motd and --state need a file");
    if (v->after_upgrade && (v->json || v->verbose))
        return misused("--json and --verbose go with a plain gpuvet doctor, not with --after-upgrade");
    if (v->fix != NULL && (v->verbose || v->strict))
        return misused("--verbose and --strict go with a judgement, not with --fix");
    if (v->fix != NULL || v->after_upgrade)
        return fix_or_after(v);
    if (v->explain != NULL)
        return explain(v->explain);
    if (v->list) {
        if (v->markdown)
            rules_print_markdown(stdout);
        else
            rules_print_list(stdout);
        return 0;
    }
    struct job job = {.v = v};
    if (v->from != NULL)
        return judge(&job);
    js *dead = dead_mounts();
    job.dead = dead;
    int status = doctor_guarded(judge, &job, dead, v->capture != NULL);
    js_free(dead);
    return status;
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "why CUDA does not work here, and the line to change",
    .details =
        "  gpuvet doctor\n"
        "  gpuvet doctor --json\n"
        "  gpuvet doctor --capture DIR\n"
        "  gpuvet doctor --from CAPTURE\n"
        "  gpuvet doctor --explain uvm.major-stale\n"
        "  gpuvet doctor --fix lxc:129             shows the change; with --apply makes it\n"
        "  gpuvet doctor --after-upgrade           at boot, by scripts/ci/gpuvet-after-upgrade.service\n"
        "\n"
        "Works without CUDA, without a GPU, as any user, on a host and inside a container.\n"
        "Exit status: 0 no fail; 1 a fail (with --strict a warning too); 2 usage, or nothing could be read.\n"
        "With --fix: 0 nothing is to be done, or it was done; 1 something is to be changed; 2 refused.\n",
    .options = options,
    .values_size = sizeof(struct doctor_values),
    .run = run,
};
