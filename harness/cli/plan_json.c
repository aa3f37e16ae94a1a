/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/plan_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- needs ---- */

js *case_needs_json(const struct bench_case *bench) {
    js *needs = js_new_object();
    js_set_int(needs, "gpus", bench->needs.gpus);
    js_set_bool(needs, "peer", bench->needs.peer);
    js_set_bool(needs, "nccl", bench->needs.nccl);
    js_set_bool(needs, "cublaslt", bench->needs.cublaslt);
    js_set(needs, "cc_major", bench->needs.cc_major > 0 ? js_new_int(bench->needs.cc_major) : js_new_null());
    return needs;
}

void case_needs_text(const struct bench_case *bench, char *out, size_t size) {
    struct text words = {0};
    int gpus = bench->needs.gpus;
    if (gpus > 0)
        text_addf(&words, "%d GPU%s", gpus, gpus == 1 ? "" : "s");
    const struct {
        bool is;
        const char *word;
    } rest[] = {{bench->needs.peer, "P2P"}, {bench->needs.nccl, "NCCL"}, {bench->needs.cublaslt, "cuBLASLt"}};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        if (rest[i].is)
            text_addf(&words, "%s%s", words.length > 0 ? ", " : "", rest[i].word);
    if (bench->needs.cc_major > 0)
        text_addf(&words, "%scc %d.0", words.length > 0 ? ", " : "", bench->needs.cc_major);
    snprintf(out, size, "%s", words.length > 0 ? text_string(&words) : "-");
    text_free(&words);
}

/* Holding a PM-QoS bound, as the controls of host.wake do, is root's. */
static bool needs_root(const struct plan_item *item) {
    return strcmp(js_get_string(item->instance.params, "control", "none"), "none") != 0;
}

static js *item_needs_json(const struct plan_item *item) {
    int64_t bytes = js_get_int(item->instance.params, "bytes", -1);
    js *needs = case_needs_json(item->bench);
    js_set_bool(needs, "root", needs_root(item));
    js_set(needs, "buffer_bytes", bytes >= 0 ? js_new_int(bytes) : js_new_null());
    return needs;
}

void item_needs_text(const struct plan_item *item, char *out, size_t size) {
    case_needs_text(item->bench, out, size);
    size_t used = strcmp(out, "-") == 0 ? 0 : strlen(out);
    if (needs_root(item))
        snprintf(out + used, size - used, "%sroot", used > 0 ? ", " : "");
}

/* ---- a plan ---- */

static js *item_json(const struct plan_item *item) {
    js *one = js_new_object();
    js_set_string(one, "key", item->key);
    js_set_bool(one, "primary", item->judged);
    js_set_number(one, "seconds", item->instance.seconds);
    js_set(one, "cpu", item->instance.cpu < 0 ? js_new_null() : js_new_int(item->instance.cpu));
    js_set(one, "attributes", js_copy(item->instance.attributes));
    js_set(one, "needs", item_needs_json(item));
    js_set_bool(one, "every_round", item->every_round);
    js_set_number(one, "limit", item->instance.limit);
    js_set_number(one, "limit_raw", item->instance.limit_raw);
    if (item->instance.skip != NULL)
        js_set_string(one, "skip", item->instance.skip);
    return one;
}

static js *series_json(const struct plan *plan, const struct plan_series *series) {
    js *one = js_new_object();
    js_set_string(one, "key", series->key);
    js_set_string(one, "class", series->primary ? "primary" : "descriptive");
    /* What is not judged shows no effect, however large; null as well where 3 runs must tell the spread. */
    js_set_number(one, "least_effect", series->primary ? plan_smallest_effect(plan, series) : NAN);
    return one;
}

static js *absence_json(const struct plan_absence *absence) {
    js *one = js_new_object();
    js_set_string(one, "case", absence->bench->name);
    js_set_string(one, "reason", absence->reason);
    return one;
}

js *plan_json(const struct prepared *p) {
    const struct plan *first = &p->places[0].plan;
    js *out = js_new_object();
    js *items = js_new_array();
    js *series = js_new_array();
    js *absent = js_new_array();
    for (size_t at = 0; at < p->n_places; at++) {
        const struct plan *plan = &p->places[at].plan;
        for (size_t i = 0; i < plan->n_items; i++)
            js_append(items, item_json(&plan->items[i]));
        for (size_t i = 0; i < plan->n_series; i++)
            js_append(series, series_json(plan, &plan->series[i]));
        for (size_t i = 0; i < plan->n_absences && at == 0; i++)
            js_append(absent, absence_json(&plan->absences[i]));
    }
    js_set_string(out, "schema", "gpuvet.list/1");
    js_set_string(out, "profile", first->profile->name);
    js_set_int(out, "rounds", first->rounds);
    js_set_int(out, "primary_series", first->n_primary);
    js_set_int(out, "left_out", first->left_out);
    js_set_number(out, "seconds", prepared_seconds(p));
    js_set(out, "items", items);
    js_set(out, "series", series);
    js_set(out, "absent", absent);
    return out;
}
