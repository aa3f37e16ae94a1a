/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_after.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "doctor/container_needs.h"
#include "doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE "/var/lib/gpuvet/last-seen.json"
#define MOTD "/run/motd.d/gpuvet"

enum { STATE_LARGEST = 64 * 1024, MOST_SHOWN = 64 };

/* What a kernel or driver upgrade moves, as the environment calls it. */
static const struct {
    const char *key, *words;
} watched[] = {
    {"kernel.release", "kernel"},
    {"module.nvidia.version", "driver"},
    {"chrdev.nvidia", "number of nvidia"},
    {"chrdev.nvidia-uvm", "number of nvidia-uvm"},
    {"chrdev.nvidia-caps", "number of nvidia-caps"},
};
enum { N_WATCHED = sizeof watched / sizeof *watched };

struct after {
    const struct doctor_after_options *options;
    const char *motd, *state; /* paths; NULL: none */
    struct doctor_view view;
    js *last;            /* the state file; NULL: none */
    js *now;             /* the watched of the environment */
    struct text changes; /* in words */
    struct text lines;   /* of the containers */
    size_t broken;
};

/* ---- what was, what is ---- */

static js *read_state(const char *path) {
    struct text text = {0};
    struct error err = {0};
    js *out = path != NULL && file_read(path, STATE_LARGEST, &text, &err)
                  ? js_parse(text_string(&text), text.length, &err)
                  : NULL;
    text_free(&text);
    return out; /* a damaged one is none: this boot is judged then */
}

js *doctor_after_before(void) {
    js *state = read_state(STATE);
    js *before = js_get(state, "before");
    js *out = js_is_object(before) ? js_keep(before) : NULL;
    js_free(state);
    return out;
}

static js *watched_of(const js *environment) {
    js *out = js_new_object();
    for (int i = 0; i < N_WATCHED; i++) {
        const js *value = js_get(environment, watched[i].key);
        if (value != NULL)
            js_set(out, watched[i].key, js_copy(value));
    }
    return out;
}

static js *watched_now(const struct facts *facts) {
    js *stable = js_new_object();
    js *moving = js_new_object();
    facts_environment(facts, stable, moving);
    js *out = watched_of(stable);
    js_free(stable);
    js_free(moving);
    return out;
}

/* "6.8.12-4-pve", "504", "none". Release with free. */
static char *in_words(const js *environment, const char *key) {
    const js *value = js_get(environment, key);
    if (value == NULL || js_is_null(value))
        return mem_copy_string("none");
    if (js_is_string(value))
        return text_shown(js_string(value, ""), MOST_SHOWN);
    char *text = js_text(value);
    char *shown = text_shown(text, MOST_SHOWN);
    free(text);
    return shown;
}

static void compare(struct after *a, const js *before) {
    for (int i = 0; i < N_WATCHED; i++) {
        char *was = in_words(before, watched[i].key);
        char *is = in_words(a->now, watched[i].key);
        if (strcmp(was, is) != 0)
            text_addf(&a->changes, "%s%s %s → %s", a->changes.length > 0 ? ", " : "", watched[i].words, was,
                      is);
        free(was);
        free(is);
    }
}

static bool has_baseline(const struct after *a) {
    return a->view.before != NULL && !a->view.before_is_seen;
}

/* Whether this boot is to be judged, and why in `changes`. */
static bool is_due(struct after *a) {
    const js *before = has_baseline(a) ? a->view.before : js_get(a->last, "environment");
    if (!js_is_object(before))
        text_add(&a->changes, "never judged here before");
    else
        compare(a, before);
    const char *verdict = js_get_string(a->last, "verdict", "");
    if (a->changes.length == 0 && strcmp(verdict, "fail") == 0)
        text_add(&a->changes, "it failed the last time");
    else if (a->changes.length == 0 && a->options->strict && strcmp(verdict, "warn") == 0)
        text_add(&a->changes, "it warned the last time");
    return a->changes.length > 0;
}

/* ---- telling ---- */

/* The worst of what is said of one container. */
static const struct finding *about(const struct findings *findings, const struct container *c) {
    const struct finding *worst = NULL;
    struct text begin = {0};
    text_addf(&begin, "container %s ", c->name);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *one = &findings->items[i];
        bool ours = text_starts(one->title, text_string(&begin));
        for (size_t e = 0; e < one->n_evidence && !ours && c->kind != CONTAINER_PVE; e++)
            ours = c->kind != CONTAINER_LXC && text_starts(one->evidence[e].path, c->file);
        if (ours && (worst == NULL || one->severity > worst->severity))
            worst = one;
    }
    text_free(&begin);
    return worst;
}

static bool takes_gpu(const struct container *c) {
    bool node = false;
    for (size_t i = 0; i < c->n_devices; i++)
        node = node || text_starts(c->devices[i].host_path, "/dev/nvidia");
    return node || c->kind == CONTAINER_UNIT || container_wants_gpu(c);
}

static const char *kind_name(enum container_kind kind) {
    switch (kind) {
    case CONTAINER_PVE:
    case CONTAINER_LXC:
        return "container";
    case CONTAINER_CDI:
        return "CDI";
    case CONTAINER_UNIT:
        return "service";
    case CONTAINER_DOCKER:
        return "Docker container";
    case CONTAINER_PODMAN:
        return "Podman container";
    }
    return "container";
}

/* One line for each container's configuration that takes a GPU. */
static void tell_containers(struct after *a, const struct findings *findings) {
    const struct container_list *list = &a->view.scene.containers;
    for (size_t i = 0; i < list->count; i++) {
        const struct container *c = &list->items[i];
        if (!takes_gpu(c))
            continue;
        const struct finding *worst = about(findings, c);
        bool bad = worst != NULL && worst->severity == SEVERITY_FAIL;
        struct text line = {0};
        text_addf(&line, "%s %s: %s", kind_name(c->kind), c->called != NULL ? c->called : c->name,
                  worst == NULL ? "ok" : severity_name(worst->severity));
        if (bad)
            text_addf(&line, " (%s)", worst->rule->id);
        if (bad && (c->kind == CONTAINER_PVE || c->kind == CONTAINER_LXC))
            text_addf(&line, ": gpuvet doctor --fix lxc:%s", c->name);
        char *safe = text_printable(text_string(&line));
        text_addf(&a->lines, "%s\n", safe);
        a->broken += bad;
        free(safe);
        text_free(&line);
    }
}

static bool put_file(const char *path, const char *data, size_t length, struct error *err) {
    char *folder = mem_copy_string(path);
    char *slash = strrchr(folder, '/');
    bool good = true;
    if (slash != NULL && slash != folder) {
        *slash = '\0';
        good = folder_make(folder, err);
    }
    good = good && file_replace(path, data, length, err);
    free(folder);
    return good || RELAY(err);
}

/* At the next login: the verdict, the deepest cause, the containers. */
static bool put_motd(const struct after *a, const struct findings *findings, const char *verdict,
                     struct error *err) {
    struct text text = {0};
    text_addf(&text, "gpuvet doctor after a change (%s): %s\n", text_string(&a->changes), verdict);
    if (findings_worst(findings) == SEVERITY_FAIL) {
        char *title = text_printable(findings->items[0].title);
        text_addf(&text, "  %s: %s\n", findings->items[0].rule->id, title);
        free(title);
    }
    struct strings lines = {0};
    strings_split(&lines, text_string(&a->lines), '\n');
    for (size_t i = 0; i < lines.count; i++)
        if (lines.items[i][0] != '\0')
            text_addf(&text, "  %s\n", lines.items[i]);
    if (findings_worst(findings) == SEVERITY_FAIL)
        text_add(&text, "  all of it: gpuvet doctor\n");
    bool good = a->motd == NULL || put_file(a->motd, text_string(&text), text.length, err);
    strings_free(&lines);
    text_free(&text);
    return good || RELAY(err);
}

/* What was before the last change is kept: an old number proves what a rule meant. */
static bool put_state(const struct after *a, const char *verdict, struct error *err) {
    struct clock clock = clock_real();
    char when[CLOCK_STAMP_SIZE];
    const js *seen = js_get(a->last, "environment");
    js *baseline = watched_of(a->view.before);
    const js *before = js_is_object(seen) && !js_equal(seen, a->now) ? seen : js_get(a->last, "before");
    if (!js_is_object(before) && js_length(baseline) > 0 && !js_equal(baseline, a->now))
        before = baseline;
    js *out = js_new_object();
    clock_stamp(clock_wall(&clock), when);
    js_set_string(out, "schema", "gpuvet.last-seen/1");
    js_set_string(out, "at", when);
    js_set_string(out, "verdict", verdict);
    js_set(out, "environment", js_copy(a->now));
    if (js_is_object(before))
        js_set(out, "before", js_copy(before));
    char *text = js_text_pretty(out);
    bool good = a->state == NULL || put_file(a->state, text, strlen(text), err);
    free(text);
    js_free(out);
    js_free(baseline);
    return good || RELAY(err);
}

static int judge(struct after *a, struct error *err) {
    static const char *const words[] = {"ok", "warn", "fail"};
    struct findings findings;
    doctor_judge(&a->view.scene, &findings);
    enum severity worst = findings_worst(&findings);
    tell_containers(a, &findings);
    printf("gpuvet: judged because of a change: %s\n\n", text_string(&a->changes));
    findings_print(&findings, &a->view.scene, false, false, stdout);
    printf("\n%sverdict after the change: %s\n", text_string(&a->lines), words[worst]);
    fflush(stdout);
    bool told = put_motd(a, &findings, words[worst], err);
    if (!told)
        log_error(err);
    bool kept = put_state(a, words[worst], err);
    if (!kept)
        log_error(err);
    findings_free(&findings);
    bool bad = worst == SEVERITY_FAIL || (worst == SEVERITY_WARN && a->options->strict);
    return bad ? 1 : told && kept ? 0 : 2;
}

/* The numbers seen before this boot are what a baseline would tell. */
static void lend_before(struct after *a) {
    const js *seen = js_get(a->last, "environment");
    const js *before = js_get(a->last, "before");
    if (!has_baseline(a) && js_is_object(seen))
        a->view.scene.baseline = js_equal(seen, a->now) && js_is_object(before) ? before : seen;
}

static int refused(const struct error *err) {
    log_error(err);
    return 2;
}

static int look(struct after *a, struct error *err) {
    struct doctor_view_options options = a->options->view;
    options.probe = false;
    if (!doctor_view_open(&options, &a->view, err))
        return refused(err);
    a->now = watched_now(a->view.facts);
    if (!is_due(a)) {
        char *kernel = in_words(a->now, "kernel.release");
        char *driver = in_words(a->now, "module.nvidia.version");
        printf("gpuvet: kernel %s and driver %s are those of the %s: nothing to judge\n", kernel, driver,
               has_baseline(a) ? "baseline" : "last time");
        free(kernel);
        free(driver);
        return 0;
    }
    if (options.from == NULL) { /* now the driver is asked too */
        doctor_view_close(&a->view);
        options.probe = true;
        if (!doctor_view_open(&options, &a->view, err))
            return refused(err);
    }
    lend_before(a);
    return judge(a, err);
}

int doctor_after(const struct doctor_after_options *options) {
    struct error err = {0};
    struct after a = {.options = options, .motd = options->motd, .state = options->state};
    bool live = options->view.from == NULL;
    if (a.motd == NULL && live)
        a.motd = MOTD;
    if (a.state == NULL && live)
        a.state = STATE;
    if (a.motd != NULL && strcmp(a.motd, "-") == 0)
        a.motd = NULL;
    a.last = read_state(a.state);
    int status = look(&a, &err);
    doctor_view_close(&a.view);
    js_free(a.last);
    js_free(a.now);
    text_free(&a.changes);
    text_free(&a.lines);
    return status;
}
