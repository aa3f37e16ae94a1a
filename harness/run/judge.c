/* SPDX-License-Identifier: Apache-2.0 */
#include "run/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void set_outcome(js *record, const char *outcome, const char *reason) {
    js_set_string(record, "outcome", outcome);
    if (reason != NULL && reason[0] != '\0')
        js_set_string(record, "reason", reason);
}

static js *identity(const struct bench_case *bench, const struct metric *metric, const char *target,
                    int round) {
    js *record = js_new_object();
    js_set_string(record, "type", "record");
    js_set_string(record, "target", target);
    js_set_int(record, "round", round);
    js_set_string(record, "case", bench->name);
    js_set_int(record, "version", bench->version);
    js_set_string(record, "metric", metric->name);
    js_set_string(record, "unit", quantity_unit(metric->quantity));
    js_set_string(record, "better", quantity_higher_is_better(metric->quantity) ? "higher" : "lower");
    return record;
}

static void take_over(js *record, const js *measured) {
    static const char *const keys[] = {"verify", "pin", "sm_mhz", "detail"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const js *value = js_get(measured, keys[i]);
        if (value != NULL)
            js_set(record, keys[i], js_copy(value));
    }
}

/* Only numbers: anything else in a sample list makes the whole list worthless. */
static bool samples_are_sound(const js *samples) {
    for (size_t i = 0; i < js_length(samples); i++) {
        double value = js_number(js_at(samples, i), NAN);
        if (!isfinite(value) || value <= 0)
            return false;
    }
    return js_is_array(samples) && js_length(samples) > 0;
}

static double largest(const js *samples) {
    double most = -INFINITY;
    for (size_t i = 0; i < js_length(samples); i++)
        most = fmax(most, js_number(js_at(samples, i), NAN));
    return most;
}

static void judge_limits(js *record, const struct instance *instance, js *flags) {
    double most = largest(js_get(record, "samples"));
    bool rate = quantity_higher_is_better(instance->metric->quantity);
    if (rate && isfinite(instance->limit_raw) && most > instance->limit_raw) {
        char reason[160];
        snprintf(reason, sizeof reason, "impossible: %.4g %s is above the physical limit of %.4g", most,
                 quantity_unit(instance->metric->quantity), instance->limit_raw);
        set_outcome(record, "fail", reason);
    } else if (rate && isfinite(instance->limit) && most > instance->limit) {
        js_append_string(flags, "above-header-limit");
    }
}

static void judge_samples(js *record, const struct instance *instance, const js *measured, js *flags) {
    const js *samples = js_get(measured, "samples");
    bool claimed_ok = strcmp(js_get_string(record, "outcome", ""), "ok") == 0;
    if (samples != NULL && (claimed_ok || js_is_array(samples)))
        js_set(record, "samples", js_copy(samples));
    if (!claimed_ok)
        return;
    if (!samples_are_sound(samples))
        set_outcome(record, "error", "a sample is not a positive number");
    else
        judge_limits(record, instance, flags);
}

js *judge_record(const struct plan_item *item, const char *target, int round, const js *measured,
                 const char *outcome, const char *reason) {
    const struct instance *instance = &item->instance;
    js *record = identity(item->bench, instance->metric, target, round);
    js *flags = js_new_array();
    js_set_int(record, "id", item->id);
    js_set(record, "where", js_copy(instance->where));
    js_set(record, "attributes", js_copy(instance->attributes));
    js_set(record, "params", js_copy(instance->params));
    js_set_number(record, "limit", instance->limit);
    js_set_number(record, "limit_raw", instance->limit_raw);
    if (measured != NULL) {
        outcome = js_get_string(measured, "outcome", "error");
        reason = js_get_string(measured, "reason", NULL);
        static const char *const known[] = {"ok", "fail", "skip", "error"};
        bool sound = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            sound = sound || strcmp(known[i], outcome) == 0;
        if (!sound)
            outcome = "error";
        const js *theirs = js_get(measured, "flags");
        for (size_t i = 0; i < js_length(theirs) && i < 32; i++)
            js_append_string(flags, js_string(js_at(theirs, i), "?"));
        take_over(record, measured);
    }
    if (js_get(instance->attributes, "guest") != NULL)
        js_append_string(flags, "guest"); /* steal and virtual timers are in the figure: it judges no claim */
    if (js_get(instance->attributes, "clocksource") != NULL)
        js_append_string(flags, "clocksource-not-tsc");
    set_outcome(record, outcome,
                strcmp(outcome, "ok") != 0 && reason == NULL ? "no reason was given" : reason);
    if (measured != NULL)
        judge_samples(record, instance, measured, flags);
    js_set(record, "flags", flags);
    return record;
}

js *judge_absence(const struct plan_absence *absence, const char *target) {
    js *record = identity(absence->bench, &absence->bench->metrics[0], target, 0);
    js_set(record, "where", js_new_object());
    js_set(record, "params", js_new_object());
    set_outcome(record, "skip", absence->reason);
    js_set(record, "flags", js_new_array());
    return record;
}
