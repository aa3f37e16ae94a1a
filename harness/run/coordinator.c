/* SPDX-License-Identifier: Apache-2.0 */
#include "run/coordinator.h"

#include "base/mem.h"
#include "run/control.h"
#include "run/gpu_state.h"
#include "run/judge.h"
#include "run/session.h"
#include "run/where.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An item may take many times its estimate (a cold machine, a sick link) before it counts as hanging. */
static const double deadline_factor = 10;
static const double deadline_floor_s = 20;
static const double deadline_hidden_s = 2; /* fault cases hang on purpose */

bool coordinator_probe(struct target *target, struct interrupt *interrupt, struct node *node,
                       struct cuda_probe *cuda, struct error *err) {
    struct session session = {0};
    if (!session_open(&session, target, true, interrupt, err))
        return RELAY(err);
    bool good = probe_read(session.facts, node, cuda, err);
    session_close(&session);
    return good;
}

js *coordinator_doctor(struct target *target, struct interrupt *interrupt, struct error *err) {
    struct session session = {0};
    if (!session_open(&session, target, false, interrupt, err)) {
        RELAY(err);
        return NULL;
    }
    js *found = session_doctor(&session, interrupt, err);
    session_close(&session);
    return found;
}

js *coordinator_environment(const struct target *target) {
    js *env = js_new_object();
    for (char **e = environ; *e != NULL; e++) {
        const char *equals = strchr(*e, '=');
        bool ours = text_starts(*e, "GPUVET_NCCL=") || text_starts(*e, "GPUVET_CUBLASLT=");
        if (equals == NULL || !(ours || text_starts(*e, "CUDA_") || text_starts(*e, "NCCL_")))
            continue;
        if (target->kind != TARGET_HOST && text_starts(*e, "CUDA_VISIBLE_DEVICES="))
            continue;
        char *name = mem_copy_bytes(*e, (size_t)(equals - *e));
        js_set_string(env, name, equals + 1);
        free(name);
    }
    js_set_string(env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    /* Ours are loaded by kernels_load(), and warming up loads those of libraries, so that none is loaded
     * inside a timed part; all of cuBLASLt's would take a second and a half of every round. */
    js_set_string(env, "CUDA_MODULE_LOADING", "LAZY");
    return env;
}

static bool write_line(struct coordinator *c, const js *line, bool sync, struct error *err) {
    return run_writer_add(c->writer, line, sync, err) || RELAY(err);
}

static void count(struct coordinator *c, const char *outcome) {
    int *slot = strcmp(outcome, "ok") == 0     ? &c->counts.ok
                : strcmp(outcome, "fail") == 0 ? &c->counts.fail
                : strcmp(outcome, "skip") == 0 ? &c->counts.skip
                : strcmp(outcome, "hang") == 0 ? &c->counts.hang
                                               : &c->counts.error;
    *slot += 1;
}

static bool keep_record(struct coordinator *c, const struct plan_item *item, int round, js *record,
                        struct error *err) {
    count(c, js_get_string(record, "outcome", "error"));
    bool good = write_line(c, record, false, err);
    if (good && c->view.on_record != NULL)
        c->view.on_record(c->view.state, item, round, record);
    js_free(record);
    return good;
}

static double effect_on(const struct coordinator *c, const char *key) {
    double effect = 1;
    for (size_t i = 0; c->effects != NULL && i < c->effects->count; i++) {
        const char *spec = c->effects->items[i];
        const char *equals = strrchr(spec, '=');
        if (equals == NULL)
            continue;
        char *pattern = mem_copy_bytes(spec, (size_t)(equals - spec));
        double factor = 1;
        if (text_to_double(equals + 1, &factor) && series_selected(pattern, key))
            effect *= factor;
        free(pattern);
    }
    return effect;
}

static double default_spread(const struct plan_item *item) {
    for (const struct series_row *row = item->bench->series; row->metric != NULL; row++)
        if (strcmp(row->metric, item->instance.metric->name) == 0)
            return row->between_rel;
    return 0;
}

/* The series as it is on the host: made-up values differ between places by noise and effects only. */
static void set_series(js *how, const struct plan *plan, const struct plan_item *item) {
    const char *key = plan->items[item->twin_of >= 0 ? item->twin_of : item->id].key;
    struct text series = {0};
    text_add_bytes(&series, key, (size_t)(strrchr(key, '@') - key));
    text_add(&series, "@host");
    js_set_string(how, "series", text_string(&series));
    text_free(&series);
}

static js *simulation_of(const struct coordinator *c, const struct plan *plan, const struct plan_item *item) {
    js *how = js_new_object();
    double between = default_spread(item);
    js_set_string(how, "key", item->key);
    set_series(how, plan, item);
    js_set_int(how, "seed", (int64_t)c->places[0].plan->seed);
    js_set_number(how, "limit", item->instance.limit);
    js_set_number(how, "effect", effect_on(c, item->key));
    js_set_number(how, "between", between);
    js_set_number(how, "sigma", between > 0 ? between / 2 : 0.003);
    return how;
}

/* Verification data and random choices differ by item and round, and are the same in the run after the
 * change and in every target (which is what stands behind the last '@'). */
static uint64_t item_seed(const struct plan *plan, const struct plan_item *item, int round) {
    uint64_t h = 0xcbf29ce484222325ULL ^ plan->seed;
    const char *key = plan->items[item->twin_of >= 0 ? item->twin_of : item->id].key;
    const char *end = strrchr(key, '@');
    for (const char *s = key; *s != '\0' && s != end; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
    return (uint64_t)(h + (uint64_t)round * 0x9e3779b97f4a7c15U) >> 1; /* JSON integers are signed */
}

static js *item_message(const struct coordinator *c, const struct run_place *place,
                        const struct plan_item *item, int round, const js *env) {
    const struct instance *instance = &item->instance;
    double limit = fmax(instance->seconds * deadline_factor, deadline_floor_s);
    if (item->bench->hidden)
        limit = fmax(instance->seconds * deadline_factor, deadline_hidden_s);
    js *m = message_new("item");
    js_set_int(m, "id", item->id);
    js_set_string(m, "case", item->bench->name);
    js_set_int(m, "version", item->bench->version);
    js_set_string(m, "metric", instance->metric->name);
    js_set(m, "where", js_copy(instance->where));
    js_set(m, "attributes", js_copy(instance->attributes));
    js_set(m, "params", js_copy(instance->params));
    js *all = js_copy(env);
    for (struct js_member v = js_first(instance->env); v.key != NULL; v = js_next(instance->env, v))
        js_set(all, v.key, js_copy(v.value));
    js_set(m, "env", all);
    js_set_int(m, "seed", (int64_t)item_seed(place->plan, item, round));
    js_set_int(m, "round", round);
    js_set_int(m, "cpu", instance->cpu);
    js_set_int(m, "samples", instance->samples);
    js_set_int(m, "operations", instance->operations);
    js_set_bool(m, "quiet", item->bench->quiet);
    js_set_int(m, "deadline_ms", (int64_t)(limit * 1000));
    if (c->simulate && !item->bench->hidden)
        js_set(m, "simulate", simulation_of(c, place->plan, item));
    return m;
}

static bool write_start(struct coordinator *c, const struct run_place *place, const struct plan_item *item,
                        int round, struct error *err) {
    char at[CLOCK_STAMP_SIZE];
    clock_stamp(clock_wall(c->clock), at);
    js *start = message_new("start");
    js_set_int(start, "round", round);
    js_set_string(start, "target", place->target->name);
    js_set_int(start, "id", item->id);
    js_set_string(start, "key", item->key);
    js_set_string(start, "at", at);
    bool may_hang = !c->simulate && (item->bench->needs.gpus > 0 || item->bench->hidden);
    bool good = write_line(c, start, may_hang, err);
    js_free(start);
    return good;
}

/* Without a worker there is nobody to ask; CUDA that does not start would only fail item by item. */
static const char *known_trouble(const struct run_place *place, const struct plan_item *item) {
    if (place->lost[0] != '\0')
        return place->lost;
    return place->cuda_broken != NULL && item->bench->needs.gpus > 0 ? place->cuda_broken : NULL;
}

/* The item's GPUs, what the keeper said of them before and after, and how long asking took (recorded: it is
 * part of what a round costs). */
struct watched {
    js *uuids, *before, *after; /* owned; NULL: not known */
    int64_t asked_ns;
};

static js *ask_counters(const struct coordinator *c, struct watched *w, bool whole) {
    if (c->quiet == NULL || js_length(w->uuids) == 0)
        return NULL;
    int64_t start = clock_raw();
    js *counters = quiet_counters(c->quiet, w->uuids, whole);
    w->asked_ns += clock_raw() - start;
    return counters;
}

/* Releases what was watched. */
static void add_gpu_state(const struct coordinator *c, js *record, struct watched *w, const js *measured) {
    js *state = gpu_state_between(w->before, w->after);
    state = gpu_state_add_links(state, w->uuids, js_get(measured, "link"));
    if (gpu_state_throttled(state))
        js_append_string(js_get(record, "flags"), "throttled");
    if (state != NULL)
        js_set(record, "gpu_state", state);
    if (w->after != NULL)
        js_set_number(record, "gpu_state_ms", (double)w->asked_ns / 1e6);
    if (c->quiet != NULL && c->quiet->unasked[0] != '\0' && js_length(w->uuids) > 0) {
        js_append_string(js_get(record, "flags"), "gpus-not-asked"); /* quiet by all else that can be seen */
        js_set_string(record, "gpus_not_asked", c->quiet->unasked);
    }
    js_free(w->uuids);
    js_free(w->before);
    js_free(w->after);
}

/* An item that failed or hung while a quota held it back may have done so for want of CPU time: its reason
 * says both. */
static void add_quota(js *record, const struct item_answer *answer) {
    const char *outcome = js_get_string(record, "outcome", "");
    js_append_string(js_get(record, "flags"), "cpu-quota");
    js_set_int(record, "quota_us", answer->quota_us);
    if (answer->quota[0] == '\0')
        return;
    js_set_string(record, "quota", answer->quota);
    if (strcmp(outcome, "error") != 0 && strcmp(outcome, "hang") != 0)
        return;
    struct text reason = {0};
    text_addf(&reason, "%s; meanwhile throttled by %s for %.1f s", js_get_string(record, "reason", "?"),
              answer->quota, (double)answer->quota_us / 1e6);
    js_set_string(record, "reason", text_string(&reason));
    text_free(&reason);
}

static void decorate(const struct coordinator *c, js *record, const struct item_answer *answer) {
    if (answer->output != NULL)
        js_set_string(record, "stderr", answer->output);
    if (strcmp(answer->outcome, "hang") == 0)
        js_set_number(record, "verdict_ms", round(answer->verdict_ms));
    if (answer->node != NULL)
        js_set(record, "node", js_copy(answer->node));
    if (answer->quota_us > 0)
        add_quota(record, answer);
    if (c->quiet != NULL && isfinite(c->quiet->steal_before))
        js_set_number(record, "steal_before", round(c->quiet->steal_before * 1e4) / 1e4);
    if (c->quiet != NULL && c->quiet->busy[0] != '\0') {
        js_append_string(js_get(record, "flags"), "busy");
        js_set_string(record, "busy", c->quiet->busy);
    }
}

/* The first wedged GPU that the item would touch; NULL: none. Borrowed from the list. */
static const char *wedged_gpu(const struct coordinator *c, const struct plan_item *item) {
    struct strings uuids = {0};
    const char *found = NULL;
    where_gpus(item->instance.where, &uuids);
    for (size_t i = 0; i < c->wedged.count && found == NULL; i++)
        if (strings_contain(&uuids, c->wedged.items[i]))
            found = c->wedged.items[i];
    strings_free(&uuids);
    return found;
}

/* Every GPU of the item is held by the process that stays: which of them hangs cannot be known. */
static void add_wedged(struct coordinator *c, const struct plan_item *item, struct item_answer *answer) {
    struct strings uuids = {0};
    struct text reason = {0};
    text_addf(&reason, "%s; its process cannot be killed", answer->reason);
    where_gpus(item->instance.where, &uuids);
    for (size_t i = 0; i < uuids.count; i++) {
        strings_add(&c->wedged, uuids.items[i]);
        text_addf(&reason, ", GPU %s is wedged", uuids.items[i]);
    }
    snprintf(answer->reason, sizeof answer->reason, "%s", text_string(&reason));
    text_free(&reason);
    strings_free(&uuids);
}

/* What the worker finds once its verdict is out, and the item once more where that tells causes apart. The
 * latter is owned; NULL: not run. */
static js *after_hang(struct coordinator *c, struct run_place *place, const struct plan_item *item,
                      js *message, struct item_answer *answer) {
    if (c->view.on_hang != NULL)
        c->view.on_hang(c->view.state, item, answer->reason);
    if (place->session.open)
        session_after_hang(&place->session, message, c->interrupt, answer);
    if (answer->unkillable)
        add_wedged(c, item, answer);
    js *control = interrupt_came(c->interrupt)
                      ? NULL
                      : control_run(&place->session, item->bench, message, answer, c->interrupt);
    if (js_get_bool(control, "unkillable", false))
        add_wedged(c, item, answer);
    return control;
}

/* Opens the place's session unless it is open. False: why stands in place->lost, or an interrupt in `err`. */
static bool have_session(struct coordinator *c, struct run_place *place, struct error *err) {
    struct error why = {0};
    if ((place->session.open && !place->session.parked) ||
        session_open(&place->session, place->target, false, c->interrupt, &why))
        return true;
    if (why.kind == ERROR_INTERRUPTED)
        return FAIL(err, ERROR_INTERRUPTED, "interrupted");
    snprintf(place->lost, sizeof place->lost, "%s", why.text);
    return false;
}

/* One item in the place's session (opened when it is not). False only on a failure that ends the run. */
static bool run_item(struct coordinator *c, struct run_place *place, const struct plan_item *item, int round,
                     const js *env, struct error *err) {
    const char *target = place->target->name;
    if (item->instance.skip != NULL)
        return keep_record(c, item, round,
                           judge_record(item, target, round, NULL, "skip", item->instance.skip), err);
    const char *trouble = known_trouble(place, item);
    if (trouble != NULL)
        return keep_record(c, item, round, judge_record(item, target, round, NULL, "error", trouble), err);
    const char *wedged = wedged_gpu(c, item);
    if (wedged != NULL) {
        char why[200];
        snprintf(why, sizeof why, "GPU %.80s is wedged: a process that hung on it cannot be killed", wedged);
        return keep_record(c, item, round, judge_record(item, target, round, NULL, "skip", why), err);
    }
    if (!write_start(c, place, item, round, err))
        return false;
    if (c->view.on_start != NULL)
        c->view.on_start(c->view.state, item, round);
    if (!have_session(c, place, err))
        return err->kind == ERROR_NONE &&
               keep_record(c, item, round, judge_record(item, target, round, NULL, "error", place->lost),
                           err);
    struct item_answer answer;
    js *message = item_message(c, place, item, round, env);
    struct watched watched = {.uuids = gpu_state_uuids(item->instance.where)};
    watched.before = ask_counters(c, &watched, false);
    session_run(&place->session, message, c->interrupt, &answer);
    /* A driver in which something hangs is not asked more. */
    bool hung = strcmp(answer.outcome, "hang") == 0;
    watched.after = hung ? NULL : ask_counters(c, &watched, true);
    js *control = hung ? after_hang(c, place, item, message, &answer) : NULL;
    if (!hung && answer.unkillable)
        add_wedged(c, item, &answer);
    js_free(message);
    bool interrupted = interrupt_came(c->interrupt);
    js *record = judge_record(item, target, round, answer.record, answer.outcome,
                              answer.reason[0] != '\0' ? answer.reason : NULL);
    add_gpu_state(c, record, &watched, answer.record);
    decorate(c, record, &answer);
    if (control != NULL)
        js_set(record, "control", control);
    bool good = true;
    if (!interrupted || hung || strcmp(answer.outcome, "ok") == 0)
        good = keep_record(c, item, round, record, err);
    else
        js_free(record);
    item_answer_free(&answer);
    if (c->clock->fake)
        clock_sleep(c->clock, (int64_t)(item->instance.seconds * 1e9));
    return good && (!interrupted || FAIL(err, ERROR_INTERRUPTED, "interrupted"));
}

/* The items of one round in one place, with a fresh worker and a quiet node. */
static bool run_place(struct coordinator *c, struct run_place *place, int round,
                      const struct plan_item **order, struct error *err) {
    if (c->quiet != NULL && !quiet_wait(c->quiet, c->interrupt, c->view.on_wait, c->view.state, err))
        return RELAY(err);
    size_t n = plan_order(place->plan, round, order);
    js *env = coordinator_environment(place->target);
    bool good = true;
    const struct plan_item *before = NULL;
    place->lost[0] = '\0';
    for (size_t i = 0; good && i < n; i++) {
        if (plan_settles(before, order[i]))
            clock_sleep(c->clock, PLAN_SETTLE_MS * NS_PER_MS);
        before = order[i]->instance.skip == NULL ? order[i] : before;
        good = run_item(c, place, order[i], round, env, err);
        if (good && interrupt_came(c->interrupt))
            good = FAIL(err, ERROR_INTERRUPTED, "interrupted");
    }
    js_free(env);
    /* Elsewhere than here the way in is dear, and what was brought in is gone by now. */
    bool again = round + 1 < place->plan->rounds && place->target->kind != TARGET_HOST;
    if (good && again)
        session_park(&place->session, c->interrupt);
    else
        session_close(&place->session);
    if (c->quiet != NULL)
        quiet_mark(c->quiet);
    return good;
}

/* Host, container; container, host: a drift over time meets both sides alike. */
static bool run_round(struct coordinator *c, int round, const struct plan_item **order, struct error *err) {
    if (c->view.on_round != NULL)
        c->view.on_round(c->view.state, round, c->places[0].plan->rounds);
    bool good = true;
    for (size_t i = 0; good && i < c->n_places; i++) {
        size_t at = round % 2 == 0 ? i : c->n_places - 1 - i;
        if (c->places[at].plan->n_items > 0)
            good = run_place(c, &c->places[at], round, order, err);
    }
    struct error lost = {0};
    if (!run_writer_sync(c->writer, &lost) && good) {
        *err = lost;
        return RELAY(err);
    }
    c->rounds_done += good ? 1 : 0;
    return good;
}

static bool write_absences(struct coordinator *c, struct error *err) {
    for (size_t p = 0; p < c->n_places; p++) {
        const struct plan *plan = c->places[p].plan;
        for (size_t i = 0; i < plan->n_absences; i++)
            if (!keep_record(c, NULL, 0, judge_absence(&plan->absences[i], c->places[p].target->name), err))
                return false;
    }
    return true;
}

static bool write_footer(struct coordinator *c, const struct error *why, struct error *err) {
    char at[CLOCK_STAMP_SIZE];
    clock_stamp(clock_wall(c->clock), at);
    bool whole = why->kind == ERROR_NONE;
    js *footer = message_new("footer");
    js_set_string(footer, "finished", at);
    js_set_string(footer, "outcome",
                  whole                            ? "complete"
                  : why->kind == ERROR_INTERRUPTED ? "interrupted"
                                                   : "failed");
    js_set_string(footer, "reason", whole ? NULL : why->text);
    js_set_int(footer, "rounds", c->rounds_done);
    js *counts = js_new_object();
    js_set_int(counts, "ok", c->counts.ok);
    js_set_int(counts, "fail", c->counts.fail);
    js_set_int(counts, "skip", c->counts.skip);
    js_set_int(counts, "hang", c->counts.hang);
    js_set_int(counts, "error", c->counts.error);
    js_set(footer, "counts", counts);
    bool good = write_line(c, footer, true, err);
    js_free(footer);
    return good;
}

bool coordinator_run(struct coordinator *c, struct error *err) {
    size_t most = 0;
    for (size_t i = 0; i < c->n_places; i++)
        most = c->places[i].plan->n_items > most ? c->places[i].plan->n_items : most;
    const struct plan_item **order = mem_zeroed(most, sizeof(struct plan_item *));
    struct error why = {0};
    bool good = write_absences(c, &why);
    for (int round = 0; good && round < c->places[0].plan->rounds && most > 0; round++)
        good = run_round(c, round, order, &why);
    for (size_t i = 0; i < c->n_places; i++)
        session_close(&c->places[i].session);
    strings_free(&c->wedged);
    free(order);
    struct error lost = {0};
    if (c->view.on_end != NULL)
        c->view.on_end(c->view.state);
    if (!write_footer(c, &why, &lost) && good) {
        *err = lost;
        return RELAY(err);
    }
    if (!good)
        *err = why;
    return good;
}
