/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/smoke_peers.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bench/peer_exchange.h"
#include "gpu/peers.h"
#include "run/case.h"
#include "run/measure.h"
#include "system/facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXCHANGES = 1000 };

struct smoke {
    struct shelf *shelf;
    struct node node;
    int failures;
};

static bool report(struct smoke *t, bool good, const char *what, const char *detail) {
    printf("%s  peers  %s%s%s\n", good ? "PASS" : "FAIL", what, detail[0] == '\0' ? "" : ": ", detail);
    t->failures += !good;
    return good;
}

/* ---- one GPU ---- */

static void exchange(struct smoke *t, const struct gpu_device *gpu) {
    const struct pingpong plan = {.first = UINT32_MAX - 100, /* numbers may wrap */
                                  .warm = 50,
                                  .timed = EXCHANGES,
                                  .limit_ns = 2000000000};
    struct peer_exchange *x = NULL;
    struct peer_exchange_result result = {0};
    struct error err = {0};
    char detail[160] = "";
    bool good = peer_exchange_make(gpu, gpu, &x, &err);
    for (int i = 0; good && i < 3; i++)
        good = peer_exchange_run(x, &plan, &result, &err);
    snprintf(detail, sizeof detail, "%.0f ns one way, SM %.0f MHz", result.ns, result.sm_mhz);
    report(t, good && result.ns > 50 && result.ns < 20000 && result.sm_mhz > 100 && result.sm_mhz < 4000,
           "two kernels on one GPU hand a number to and fro", good ? detail : err.text);
    peer_exchange_free(x);
}

/* Nobody answers, or something else than the number comes: both end by the device's own clock. */
static void gives_up(struct smoke *t, const struct gpu_device *gpu, bool wrong) {
    const struct pingpong plan = {.first = 5, .warm = 1, .timed = 1, .limit_ns = 100000000};
    const uint32_t start = wrong ? 1000 : plan.first - 1;
    struct pingpong_reading *reading = NULL;
    gpu_stream stream = NULL;
    void *flags = NULL, *memory = NULL;
    struct error err = {0};
    char detail[160];
    bool good = gpu_use(gpu, &err) && gpu_stream_make(&stream, &err) && gpu_alloc(1024, &flags, &err) &&
                gpu_host_alloc(sizeof *reading, &memory, &err) && gpu_memset(flags, 0, 1024, &err) &&
                gpu_copy(flags, &start, sizeof start, &err);
    reading = memory;
    int64_t begun = clock_raw();
    if (good) {
        memset(reading, 0, sizeof *reading);
        good = gpu_check(pingpong_launch(&plan, true, flags, (uint32_t *)flags + 128, reading, stream),
                         "launch", &err) &&
               gpu_stream_wait(stream, &err);
    }
    double ms = (double)(clock_raw() - begun) / 1e6;
    snprintf(detail, sizeof detail, "gave up %u after %.1f ms, %u received", good ? reading->gave_up : 0, ms,
             good ? reading->received : 0);
    report(t,
           good && reading->done == 0 && reading->received == 0 && reading->gave_up == (wrong ? 2 : 1) &&
               (wrong || (ms >= 99 && ms < 500)),
           wrong ? "a wrong number ends the exchange" : "an exchange that nobody answers gives up",
           good ? detail : err.text);
    gpu_stream_free(stream);
    gpu_free(flags);
    gpu_host_free(memory);
}

/* ---- two GPUs ---- */

static js *message_of(const struct bench_case *bench, const struct instance *one) {
    js *m = js_new_object();
    js_set_string(m, "case", bench->name);
    js_set_string(m, "metric", one->metric->name);
    js_set(m, "where", js_copy(one->where));
    js_set(m, "attributes", js_copy(one->attributes));
    js_set(m, "params", js_copy(one->params));
    js_set_int(m, "seed", 4711);
    js_set_int(m, "round", 0);
    js_set_int(m, "cpu", one->cpu);
    js_set_int(m, "samples", one->samples);
    js_set_int(m, "operations", one->operations);
    return m;
}

/* Damage must be found, at its place; everything else must be right, and below what its links can carry. */
static void judge(struct smoke *t, const struct bench_case *bench, const struct instance *one,
                  const js *result, double seconds) {
    const js *samples = js_get(result, "samples"), *verify = js_get(result, "verify");
    const char *outcome = js_get_string(result, "outcome", "?");
    char *params = js_text(one->params);
    double last = js_number(js_at(samples, js_length(samples) > 0 ? js_length(samples) - 1 : 0), NAN);
    char what[400], detail[400];
    bool damaged = js_get(one->params, "corrupt") != NULL;
    bool fits = !isfinite(one->limit_raw) || last <= one->limit_raw;
    snprintf(what, sizeof what, "%s %s %.250s", bench->name, one->metric->name, params);
    snprintf(detail, sizeof detail, "%s %.2f, limit %.1f, %.3f s of %.3f; %.150s", outcome, last, one->limit,
             seconds, one->seconds, js_get_string(result, "reason", ""));
    if (damaged)
        report(t,
               strcmp(outcome, "fail") == 0 && js_get_int(verify, "first_bad_offset", -1) ==
                                                   js_get_int(js_get(result, "detail"), "corrupted_at", -2),
               what, detail);
    else
        report(t, strcmp(outcome, "ok") == 0 && fits, what, detail);
    char *more = js_text(js_get(result, "detail"));
    char *flags = js_text(js_get(result, "flags"));
    printf("      %s  flags %s\n", more != NULL ? more : "", flags);
    free(more);
    free(flags);
    free(params);
}

static void try_case(struct smoke *t, const char *name) {
    const struct bench_case *bench = bench_find(name);
    struct instance_list list = {0};
    bench->instances(&t->node, &list);
    for (size_t i = 0; i < list.count; i++) {
        const struct instance *one = &list.items[i];
        if (one->skip != NULL) {
            printf("      %s: %s\n", name, one->skip);
            continue;
        }
        js *message = message_of(bench, one);
        int64_t begun = clock_raw();
        js *result = measure_item(message, t->shelf);
        judge(t, bench, one, result, (double)(clock_raw() - begun) / 1e9);
        js_free(message);
        js_free(result);
    }
    instance_list_free(&list);
}

static void mappings(struct smoke *t, const struct gpu_device *gpus) {
    struct error err = {0};
    report(t, gpu_peer_disable(&gpus[0], &gpus[1], &err) && gpu_peer_disable(&gpus[0], &gpus[1], &err),
           "a mapping is taken back, and where there is none that is fine", err.text);
    report(t,
           gpu_peer_enable(&gpus[0], &gpus[1], &err) == GPU_PEER_ON &&
               gpu_peer_enable(&gpus[0], &gpus[1], &err) == GPU_PEER_ON,
           "it is made, and again is fine", err.text);
    error_clear(&err);
    report(t, gpu_alive(&err), "the context lives on", err.text);
}

static bool read_node(struct smoke *t, const struct gpu_list *list, struct error *err) {
    struct source source = {0};
    bool good = source_live(&source, err) && node_read(&source, &t->node, err);
    source_free(&source);
    if (!good)
        return false;
    gpu_list_from_json(list->raw, &t->node.gpus);
    gpu_list_set_pairs(&t->node.gpus, list->p2p, list->nvlink);
    gpu_list_environment(&t->node.gpus, t->node.environment, t->node.moving);
    if (t->node.gpus.count > 2)
        t->node.gpus.count = 2;
    return true;
}

static void two_gpus(struct smoke *t, const struct gpu_list *list) {
    static const char *const cases[] = {"p2p.ladder", "p2p.write", "p2p.read", "p2p.bidir", "p2p.latency"};
    struct gpu_device gpus[2];
    struct error err = {0};
    if (!report(t,
                read_node(t, list, &err) && gpu_open(list->items[0].uuid, &gpus[0], &err) &&
                    gpu_open(list->items[1].uuid, &gpus[1], &err),
                "two GPUs open", err.text))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        try_case(t, cases[i]);
    mappings(t, gpus);
    node_free(&t->node);
}

int smoke_peers(const struct gpu_list *list) {
    struct smoke t = {.shelf = shelf_make()};
    struct gpu_device gpu;
    struct error err = {0};
    if (list->count == 0 || list->items[0].mig || list->items[0].unusable[0] != '\0')
        return 0;
    if (report(&t, gpu_open(list->items[0].uuid, &gpu, &err), "the first GPU opens", err.text)) {
        exchange(&t, &gpu);
        gives_up(&t, &gpu, false);
        gives_up(&t, &gpu, true);
        /* What a GPU cannot map: itself. */
        report(&t, gpu_peer_enable(&gpu, &gpu, &err) == GPU_PEER_REFUSED, "a mapping is refused", err.text);
        error_clear(&err);
        report(&t, gpu_alive(&err), "and the context lives on", err.text);
    }
    if (list->count >= 2)
        two_gpus(&t, list);
    else
        printf("      peers: one GPU here: what needs two was left out\n");
    return t.failures;
}
