/* SPDX-License-Identifier: Apache-2.0 */
#include "run/measure.h"

#include "base/clock.h"
#include "base/mem.h"
#include "run/case.h"
#include "run/link_look.h"
#include "run/steady.h"
#include "run/where.h"
#include "system/pin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARM_MIN_BATCHES = 3,
    WARM_MAX_BATCHES = 60, /* short ones: a clock takes tens of milliseconds to come up */
};
static const int64_t warm_limit_ns = NS_PER_S;
static const double warm_tolerance = 0.01; /* two batches in a row within 1 % may be steady */

/* What timing on the device needs, made once for an item. */
struct timer {
    gpu_stream stream;
    gpu_event start, stop;
    struct gpu_gate *gate;
    struct gpu_clock_probe *probe;
};

static bool timer_make(struct timer *t, struct error *err) {
    return gpu_stream_make(&t->stream, err) && gpu_event_make_timed(&t->start, err) &&
           gpu_event_make_timed(&t->stop, err) && gpu_gate_make(&t->gate, err) &&
           gpu_clock_probe_make(&t->probe, err);
}

static void timer_free(struct timer *t) {
    gpu_clock_probe_free(t->probe);
    gpu_gate_free(t->gate);
    gpu_event_free(t->start);
    gpu_event_free(t->stop);
    gpu_stream_free(t->stream);
}

/* Seconds of `count` operations, ungated: warming up must not depend on what may synchronise by itself. */
static bool time_ungated(const struct bench_case *bench, struct case_context *context, struct timer *t,
                         int count, double *seconds, struct error *err) {
    bool issued =
        gpu_clock_probe_read(t->probe, t->stream, 0, err) && gpu_event_record(t->start, t->stream, err) &&
        bench->enqueue(context, t->stream, count, err) && gpu_event_record(t->stop, t->stream, err) &&
        gpu_clock_probe_read(t->probe, t->stream, 1, err);
    if (issued)
        link_look(context, t->stream);
    return issued && gpu_stream_wait(t->stream, err) && gpu_event_elapsed(t->start, t->stop, seconds, err);
}

/* Until two batches in a row agree (run/steady.h): by then clock, P-state and link have settled. */
static bool warm_up(const struct bench_case *bench, struct case_context *context, struct timer *t, int count,
                    struct error *err) {
    int64_t end = clock_raw() + warm_limit_ns;
    struct steady steady = {.tolerance = warm_tolerance};
    bool good = true;
    bool stands = false;
    count =
        count > 4 ? count / 4 : 1; /* enough to load the link or the clock, at a quarter of a sample's time */
    for (int i = 0; good && !stands && i < WARM_MAX_BATCHES && (clock_raw() < end || i < WARM_MIN_BATCHES);
         i++) {
        double seconds = 0;
        good = time_ungated(bench, context, t, count, &seconds, err);
        stands = good && steady_agrees(&steady, seconds, gpu_clock_probe_mhz(t->probe), context->links) &&
                 i + 1 >= WARM_MIN_BATCHES;
    }
    steady_free(&steady);
    if (good && !stands)
        js_append_string(context->flags, "not-steady");
    return good || RELAY(err);
}

static bool time_gated(const struct bench_case *bench, struct case_context *context, struct timer *t,
                       int count, double *seconds, struct error *err) {
    bool queued =
        gpu_gate_close(t->gate, t->stream, GPU_GATE_LIMIT_NS, err) &&
        gpu_clock_probe_read(t->probe, t->stream, 0, err) && gpu_event_record(t->start, t->stream, err) &&
        bench->enqueue(context, t->stream, count, err) && gpu_event_record(t->stop, t->stream, err) &&
        gpu_clock_probe_read(t->probe, t->stream, 1, err);
    gpu_gate_open(t->gate); /* also after a failure: the stream must come free */
    return queued && gpu_stream_wait(t->stream, err) && gpu_gate_held(t->gate, err) &&
           gpu_event_elapsed(t->start, t->stop, seconds, err);
}

static double value_of(const struct metric *metric, double seconds, double work) {
    return metric->quantity == QUANTITY_BANDWIDTH ? work / seconds / 1e9 : seconds * 1e6;
}

static bool sample_gated(const struct bench_case *bench, const struct metric *metric,
                         struct case_context *context, struct samples *out, struct error *err) {
    int operations = context->operations;
    if (operations < 1 || operations > GPU_GATE_MAX_OPERATIONS)
        return FAIL(err, ERROR_DATA, "%d operations a sample: 1 to %d can wait behind the gate", operations,
                    GPU_GATE_MAX_OPERATIONS);
    struct timer t = {0};
    bool good = timer_make(&t, err) && warm_up(bench, context, &t, operations, err) &&
                (bench->poison == NULL || bench->poison(context, err));
    for (int i = 0; good && i < context->wanted_samples; i++) {
        double seconds = 0;
        good = time_gated(bench, context, &t, operations, &seconds, err);
        if (!good)
            break;
        double work = bench->work != NULL ? bench->work(context) : 0;
        samples_add(out, value_of(metric, seconds / operations, work));
        js_append_number(context->sm_mhz, gpu_clock_probe_mhz(t.probe));
    }
    timer_free(&t);
    return good;
}

static js *verification_json(const struct verification *v) {
    js *o = js_new_object();
    js_set_string(o, "what", v->what);
    js_set_int(o, "checked_bytes", (int64_t)v->checked_bytes);
    js_set_int(o, "bad_words", (int64_t)v->bad);
    if (v->bad > 0) {
        char word[16];
        js_set_int(o, "first_bad_offset", (int64_t)v->first_bad_offset);
        snprintf(word, sizeof word, "0x%08x", v->expected);
        js_set_string(o, "expected", word);
        snprintf(word, sizeof word, "0x%08x", v->found);
        js_set_string(o, "found", word);
    }
    return o;
}

static bool check_data(const struct bench_case *bench, struct case_context *context, js *result,
                       struct error *err) {
    if (bench->verify == NULL)
        return true;
    struct verification v = {0};
    if (!bench->verify(context, &v, err))
        return RELAY(err);
    if (v.what[0] != '\0')
        js_set(result, "verify", verification_json(&v));
    if (v.bad == 0)
        return true;
    return FAIL(err, ERROR_VERIFY,
                "%llu wrong words in the %s, the first at offset %llu: expected 0x%08x, found 0x%08x",
                (unsigned long long)v.bad, v.what, (unsigned long long)v.first_bad_offset, v.expected,
                v.found);
}

/* The first one is current afterwards. */
static bool open_gpus(struct case_context *context, struct error *err) {
    struct strings uuids = {0};
    int count = 0;
    where_gpus(context->where, &uuids);
    context->gpus = mem_zeroed(uuids.count, sizeof *context->gpus);
    bool good = uuids.count == 0 || gpu_start(&count, err);
    for (size_t i = 0; good && i < uuids.count; i++) {
        good = gpu_open(uuids.items[i], &context->gpus[i], err);
        context->n_gpus += good ? 1 : 0;
    }
    if (good && context->n_gpus > 0) {
        context->gpu = context->gpus[0];
        good = context->n_gpus == 1 || gpu_use(&context->gpu, err);
    }
    strings_free(&uuids);
    return good;
}

/* Do all the GPUs of the item still work? One that could not even be opened is asked through whatever device
 * is current. */
static bool gpus_alive(const struct case_context *context, struct error *err) {
    struct strings uuids = {0};
    where_gpus(context->where, &uuids);
    size_t named = uuids.count;
    strings_free(&uuids);
    if (named == 0 || !gpu_built())
        return true;
    for (int i = 0; i < context->n_gpus; i++)
        if (!gpu_use(&context->gpus[i], err) || !gpu_alive(err))
            return error_context(err, "%s", context->gpus[i].bdf);
    return (size_t)context->n_gpus == named || gpu_alive(err);
}

static bool set_place(struct case_context *context, js *result, struct error *err) {
    if (context->cpu >= 0 && !pin_thread(context->cpu, err))
        return RELAY(err);
    if (context->cpu < 0 && !pin_release(err))
        return RELAY(err);
    js *pin = js_new_object();
    js_set(pin, "cpu", context->cpu < 0 ? js_new_null() : js_new_int(context->cpu));
    js_set(pin, "cpu_read_back", context->cpu < 0 ? js_new_null() : js_new_int(pin_bound_cpu()));
    js_set(result, "pin", pin);
    return open_gpus(context, err);
}

static bool measure(const struct bench_case *bench, const struct metric *metric, struct case_context *context,
                    js *result, struct error *err) {
    struct samples samples = {0};
    bool gated = metric->timing == TIMING_GATED;
    bool good = set_place(context, result, err) && (bench->prepare == NULL || bench->prepare(context, err));
    if (gated && bench->by_host != NULL)
        gated = !bench->by_host(context);
    if (good)
        good = gated ? sample_gated(bench, metric, context, &samples, err)
                     : (bench->poison == NULL || bench->poison(context, err)) &&
                           bench->sample(context, &samples, err);
    js *values = js_new_array();
    for (size_t i = 0; i < samples.count; i++)
        js_append_number(values, samples.values[i]);
    js_set(result, "samples", values);
    if (js_length(context->sm_mhz) > 0)
        js_set(result, "sm_mhz", js_keep(context->sm_mhz));
    free(samples.values);
    if (good && samples.count == 0)
        good = FAIL(err, ERROR_DATA, "no sample was accepted");
    if (good)
        good = check_data(bench, context, result, err);
    if (bench->finish != NULL)
        bench->finish(context);
    return good;
}

static const struct metric *find_metric(const struct bench_case *bench, const char *name) {
    for (const struct metric *m = bench->metrics; m->name != NULL; m++)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

js *measure_item(const js *item, struct shelf *shelf) {
    js *result = js_new_object();
    struct error err = {0};
    const struct bench_case *bench = bench_find(js_get_string(item, "case", ""));
    const struct metric *metric =
        bench == NULL ? NULL : find_metric(bench, js_get_string(item, "metric", ""));
    struct case_context context = {
        .bench = bench,
        .metric = js_get_string(item, "metric", ""),
        .where = js_get(item, "where"),
        .attributes = js_get(item, "attributes"),
        .params = js_get(item, "params"),
        .seed = (uint64_t)js_get_int(item, "seed", 0),
        .round = (int)js_get_int(item, "round", 0),
        .cpu = (int)js_get_int(item, "cpu", -1),
        .wanted_samples = (int)js_get_int(item, "samples", 1),
        .operations = (int)js_get_int(item, "operations", 1),
        .shelf = shelf,
        .extra = js_new_object(),
        .flags = js_new_array(),
        .links = js_new_object(),
        .sm_mhz = js_new_array(),
    };
    bool good = metric != NULL;
    if (!good)
        FAIL(&err, ERROR_DATA, "this build has no such case or metric");
    else
        good = measure(bench, metric, &context, result, &err);
    struct error gone = {0};
    bool alive = gpus_alive(&context, &gone);
    js_set_bool(result, "sticky", !alive);
    if (good && !alive) {
        good = false;
        err = gone;
    }
    js_set_string(result, "outcome",
                  good                       ? "ok"
                  : err.kind == ERROR_VERIFY ? "fail"
                  : err.kind == ERROR_ABSENT ? "skip"
                                             : "error");
    if (!good)
        js_set_string(result, "reason", err.text);
    js_set(result, "flags", context.flags);
    if (js_length(context.extra) > 0)
        js_set(result, "detail", js_keep(context.extra));
    js_free(context.extra);
    if (js_length(context.links) > 0)
        js_set(result, "link", js_keep(context.links));
    js_free(context.links);
    js_free(context.sm_mhz);
    free(context.gpus);
    return result;
}
