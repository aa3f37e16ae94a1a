/* SPDX-License-Identifier: Apache-2.0 */
/* gpuvet list: the cases; with a profile, its items here, and what they would take. */
#include "base/log.h"
#include "cli/commands.h"
#include "cli/plan_json.h"
#include "cli/run_view.h"
#include "cli/skips_view.h"

#include <math.h>
#include <stdio.h>

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
     .help = "only cases or series that match"},
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
        char needs[64];
        case_needs_text(bench, needs, sizeof needs);
        if (!as_json)
            printf("%-19s v%d  %-26s  %s\n", bench->name, bench->version, needs, bench->summary);
        js *one = js_new_object();
        js_set_string(one, "case", bench->name);
        js_set_int(one, "version", bench->version);
        js_set_string(one, "summary", bench->summary);
        js_set_int(one, "needs_gpus", bench->needs.gpus);
        js_set(one, "needs", case_needs_json(bench));
        js_append(all, one);
    }
    if (as_json)
        js_print(all, stdout);
    js_free(all);
    return 0;
}

static void print_text(const struct prepared *p) {
    const struct plan *plan = &p->places[0].plan;
    printf("%-19s %-10s %-46s %5s %8s  %-22s  %s\n", "case", "metric", "where", "cpu", "seconds", "needs",
           "runs");
    for (size_t i = 0; i < plan->n_items; i++) {
        const struct plan_item *item = &plan->items[i];
        struct text words = {0};
        char cpu[16] = "-";
        char needs[64];
        item_needs_text(item, needs, sizeof needs);
        if (item->instance.skip != NULL)
            continue;
        if (item->instance.cpu >= 0)
            snprintf(cpu, sizeof cpu, "%d", item->instance.cpu);
        describe_item(item, &p->places[0].node, &words);
        printf("%-19s %-10s %-46s %5s %8.2f  %-22s  ", item->bench->name, item->instance.metric->name,
               text_string(&words), cpu, item->instance.seconds, needs);
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
    if (v->json) {
        js *plan = plan_json(&p);
        js_print(plan, stdout);
        js_free(plan);
    } else {
        print_text(&p);
    }
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
