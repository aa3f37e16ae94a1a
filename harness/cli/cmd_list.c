/* SPDX-License-Identifier: Apache-2.0 */
/* gpuvet list: the cases; with a profile, its items here, and what they would take. */
#include "base/log.h"
#include "cli/commands.h"
#include "cli/prepare.h"
#include "cli/run_view.h"
#include "cli/skips_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list_values {
    const char *profile;
    const char *from;
    struct strings cases, gpus;
    bool json;
};

static const struct option_row options[] = {
    {.name = "profile",
     .letter = 'p',
     .type = OPTION_CHOICE,
     .choices = profile_names,
     .metavar = "NAME",
     .offset = offsetof(struct list_values, profile),
     .help = "its items on this node, and the seconds they take"},
    {.name = "case",
     .letter = 'c',
     .type = OPTION_LIST,
     .metavar = "PATTERN",
     .offset = offsetof(struct list_values, cases),
     .help = "only cases or series that match (several allowed)"},
    {.name = "gpu",
     .type = OPTION_LIST,
     .metavar = "GPU",
     .offset = offsetof(struct list_values, gpus),
     .help = "only these GPUs: index, UUID or PCI address, with commas"},
    {.name = "from",
     .type = OPTION_STRING,
     .metavar = "DIR",
     .offset = offsetof(struct list_values, from),
     .help = "plan for a captured machine instead of this one"},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct list_values, json),
     .help = "for machines"},
    {0},
};

static int list_cases(bool as_json) {
    js *all = js_new_array();
    for (size_t i = 0; i < bench_cases_count; i++) {
        const struct bench_case *bench = bench_cases[i];
        if (bench->hidden)
            continue;
        if (!as_json)
            printf("%-19s v%d  %s%s\n", bench->name, bench->version, bench->summary,
                   bench->needs.gpus > 0 ? " (needs a GPU)" : "");
        js *one = js_new_object();
        js_set_string(one, "case", bench->name);
        js_set_int(one, "version", bench->version);
        js_set_string(one, "summary", bench->summary);
        js_set_int(one, "needs_gpus", bench->needs.gpus);
        js_append(all, one);
    }
    if (as_json)
        js_print(all, stdout);
    js_free(all);
    return 0;
}

static js *item_json(const struct plan_item *item) {
    js *one = js_new_object();
    js_set_string(one, "key", item->key);
    js_set_bool(one, "primary", item->judged);
    js_set_number(one, "seconds", item->instance.seconds);
    js_set(one, "cpu", item->instance.cpu < 0 ? js_new_null() : js_new_int(item->instance.cpu));
    js_set(one, "attributes", js_copy(item->instance.attributes));
    js_set_bool(one, "every_round", item->every_round);
    js_set_number(one, "limit", item->instance.limit);
    js_set_number(one, "limit_raw", item->instance.limit_raw);
    if (item->instance.skip != NULL)
        js_set_string(one, "skip", item->instance.skip);
    return one;
}

static void print_json(const struct prepared *p) {
    const struct plan *plan = &p->places[0].plan;
    js *out = js_new_object();
    js *items = js_new_array();
    js *absent = js_new_array();
    for (size_t i = 0; i < plan->n_items; i++)
        js_append(items, item_json(&plan->items[i]));
    for (size_t i = 0; i < plan->n_absences; i++) {
        js *one = js_new_object();
        js_set_string(one, "case", plan->absences[i].bench->name);
        js_set_string(one, "reason", plan->absences[i].reason);
        js_append(absent, one);
    }
    js_set_string(out, "schema", "gpuvet.list/1");
    js_set_string(out, "profile", plan->profile->name);
    js_set_int(out, "rounds", plan->rounds);
    js_set_int(out, "primary_series", plan->n_primary);
    js_set_int(out, "left_out", plan->left_out);
    js_set_number(out, "seconds", prepared_seconds(p));
    js_set(out, "items", items);
    js_set(out, "absent", absent);
    js_print(out, stdout);
    js_free(out);
}

static void print_text(const struct prepared *p) {
    const struct plan *plan = &p->places[0].plan;
    printf("%-19s %-10s %-46s %5s %8s  %s\n", "case", "metric", "where", "cpu", "seconds", "runs");
    for (size_t i = 0; i < plan->n_items; i++) {
        const struct plan_item *item = &plan->items[i];
        struct text words = {0};
        char cpu[16] = "-";
        if (item->instance.skip != NULL)
            continue;
        if (item->instance.cpu >= 0)
            snprintf(cpu, sizeof cpu, "%d", item->instance.cpu);
        describe_item(item, &p->places[0].node, &words);
        printf("%-19s %-10s %-46s %5s %8.2f  ", item->bench->name, item->instance.metric->name,
               text_string(&words), cpu, item->instance.seconds);
        printf("%s%s\n", item->every_round ? "every round" : "now and then",
               item->judged ? "" : ", shown only");
        text_free(&words);
    }
    skips_print(plan, &p->places[0].node, "not here", stdout);
    if (p->places[0].cuda.asked && !p->places[0].cuda.good)
        printf("CUDA does not start here: %s\n", p->places[0].cuda.reason);
    printf("\n%s: %d rounds, %d primary series%s, about %.0f s\n", plan->profile->name, plan->rounds,
           plan->n_primary, plan->left_out > 0 ? " (some left out)" : "", prepared_seconds(p));
}

static int run(void *values, const struct strings *arguments) {
    (void)arguments;
    struct list_values *v = values;
    struct error err = {0};
    if (v->profile == NULL && v->from == NULL && v->cases.count == 0 && v->gpus.count == 0)
        return list_cases(v->json);
    struct interrupt interrupt = {.fd = -1};
    struct prepared p;
    struct prepare_options o = {.from = v->from, .gpus = &v->gpus};
    o.plan = (struct plan_options){.profile = v->profile != NULL ? v->profile : "standard",
                                   .seed = 1,
                                   .cases = &v->cases,
                                   .target = "host"};
    if (!prepare(&o, &interrupt, &p, &err)) {
        log_error(&err);
        return 2;
    }
    if (v->json)
        print_json(&p);
    else
        print_text(&p);
    prepared_free(&p);
    return 0;
}

const struct command command_list = {
    .name = "list",
    .summary = "the cases, and what a profile would run on this node",
    .details = "  gpuvet list\n"
               "  gpuvet list --profile standard\n"
               "  gpuvet list --profile quick --case 'copy.*' --json\n",
    .options = options,
    .values_size = sizeof(struct list_values),
    .run = run,
};
