/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives and decode.step on the GPUs of this machine, item by item in one process, as the worker's child
 * runs them: each check prints PASS or FAIL, each figure a line. On one GPU a communicator of one rank shows
 * that the library, the data, the checks and the clocks work; on several everything is tried, and the sizes
 * that nccl-tests was measured at. Exit 0 all passed, 1 not, 77 no GPU or no NCCL (with the reason). */
#include "base/clock.h"
#include "run/case.h"
#include "run/measure.h"
#include "run/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct smoke {
    struct node node;
    struct shelf *shelf;
    int failures, id;
    bool absent; /* NCCL is not here */
};

/* What a user sees of one record, in a line. */
static void show(const char *name, const js *params, const js *record, double seconds) {
    char *text = js_text(params);
    const js *detail = js_get(record, "detail");
    printf("      %s %s: %.4g us, algbw %.4g, busbw %.4g GB/s; made in %.3f s, item %.3f s", name, text,
           js_get_number(detail, "time_us", js_get_number(detail, "step_us", 0)),
           js_get_number(detail, "algbw", 0), js_get_number(detail, "busbw", 0),
           js_get_number(detail, "communicator_seconds", 0), seconds);
    if (js_get(detail, "weight_gbps") != NULL)
        printf("; weights at %.0f GB/s, cuBLASLt loaded in %.3f s", js_get_number(detail, "weight_gbps", 0),
               js_get_number(js_get(detail, "cublaslt"), "seconds", 0));
    printf("\n");
    free(text);
}

/* Runs one item as the worker would; `want` is its outcome. */
static void try_item(struct smoke *t, const struct bench_case *bench, const struct instance *instance,
                     const js *params, const char *want) {
    js *item = js_new_object();
    js_set_string(item, "case", bench->name);
    js_set_string(item, "metric", instance->metric->name);
    js_set(item, "where", js_copy(instance->where));
    js_set(item, "attributes", js_copy(instance->attributes));
    js_set(item, "params", js_copy(params));
    js_set_int(item, "seed", 4711 + t->id++);
    js_set_int(item, "cpu", instance->cpu);
    js_set_int(item, "samples", instance->samples);
    js_set_int(item, "operations", instance->operations);
    int64_t start = clock_raw();
    js *record = measure_item(item, t->shelf);
    double seconds = (double)(clock_raw() - start) / 1e9;
    const char *outcome = js_get_string(record, "outcome", "?");
    bool good = strcmp(outcome, want) == 0;
    char *text = js_text(params);
    printf("%s  %s/%s %s: %s%s%s\n", good ? "PASS" : "FAIL", bench->name, instance->metric->name, text,
           outcome, js_get(record, "reason") != NULL ? ": " : "", js_get_string(record, "reason", ""));
    t->absent = t->absent || strcmp(outcome, "skip") == 0;
    t->failures += good ? 0 : 1;
    show(bench->name, params, record, seconds);
    if (t->id == 1) {
        char *about = js_text(js_get(js_get(record, "detail"), "nccl"));
        printf("      NCCL: %s\n", about);
        free(about);
    }
    free(text);
    js_free(record);
    js_free(item);
}

static bool is_hidden(const struct instance *instance, const char *corrupt) {
    return instance->level == LEVEL_HIDDEN &&
           strcmp(js_get_string(instance->params, "corrupt", ""), corrupt) == 0;
}

/* What is planned for every round, and the damage that must be found. */
static void try_case(struct smoke *t, const char *name) {
    const struct bench_case *bench = bench_find(name);
    struct instance_list list = {0};
    bench->instances(&t->node, &list);
    for (size_t i = 0; i < list.count && !t->absent; i++) {
        const struct instance *one = &list.items[i];
        const char *dtype = js_get_string(one->params, "dtype", "");
        bool forms =
            one->level == LEVEL_THOROUGH &&
            (strcmp(js_get_string(one->params, "place", ""), "in") == 0 || strcmp(dtype, "float") != 0);
        bool wanted = one->level == LEVEL_PRIMARY || (one->level == LEVEL_DESCRIPTIVE && one->env == NULL) ||
                      is_hidden(one, "none") || is_hidden(one, "word") || forms;
        if (wanted && one->skip == NULL)
            try_item(t, bench, one, one->params, is_hidden(one, "word") ? "fail" : "ok");
    }
    instance_list_free(&list);
}

/* The sizes of the reference figures: time, float, out of place, all GPUs. */
static void try_sizes(struct smoke *t, const char *name) {
    const struct bench_case *bench = bench_find(name);
    struct instance_list list = {0};
    const struct instance *base = NULL;
    bench->instances(&t->node, &list);
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].level == LEVEL_PRIMARY && list.items[i].skip == NULL &&
            strcmp(list.items[i].metric->name, "time") == 0)
            base = &list.items[i];
    for (int64_t bytes = 1 << 10; base != NULL && bytes <= 1 << 30 && !t->absent; bytes *= 4) {
        struct instance one = *base;
        js *params = js_copy(base->params);
        js_set_int(params, "bytes", bytes);
        js_set_string(params, "dtype", "float");
        one.operations = 20;
        one.samples = 5;
        try_item(t, bench, &one, params, "ok");
        js_free(params);
    }
    instance_list_free(&list);
}

static void try_all(struct smoke *t, bool quick) {
    static const char *const collectives[] = {"nccl.all_reduce", "nccl.all_gather", "nccl.reduce_scatter",
                                              "nccl.broadcast",  "nccl.reduce",     "nccl.alltoall",
                                              "nccl.sendrecv"};
    const size_t n = sizeof collectives / sizeof *collectives;
    printf("%zu GPUs; CUDA_MODULE_LOADING=%s\n", t->node.gpus.count,
           getenv("CUDA_MODULE_LOADING") != NULL ? getenv("CUDA_MODULE_LOADING") : "(not set)");
    for (size_t i = 0; i < (quick ? 1 : n); i++)
        try_case(t, collectives[i]);
    try_case(t, "decode.step");
    for (size_t i = 0; !quick && i < n; i++)
        try_sizes(t, collectives[i]);
}

int main(int argc, char **argv) {
    struct smoke t = {.shelf = shelf_make()};
    struct cuda_probe cuda = {0};
    struct error err = {0};
    js *facts = probe_node();
    int status = 77;
    if (!probe_read(facts, &t.node, &cuda, &err))
        printf("skip: %s\n", err.text);
    else if (t.node.gpus.count == 0)
        printf("skip: %s\n", t.node.gpus.reason);
    else
        try_all(&t, argc > 1 && strcmp(argv[1], "quick") == 0);
    if (t.absent)
        printf("skip: what these checks need is not here (the reason stands above)\n");
    else if (t.id > 0) {
        printf("%s: %d failures\n", t.failures == 0 ? "PASS" : "FAIL", t.failures);
        status = t.failures == 0 ? 0 : 1;
    }
    cuda_probe_free(&cuda);
    node_free(&t.node);
    js_free(facts);
    free(t.shelf);
    return status;
}
