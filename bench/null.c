/* SPDX-License-Identifier: Apache-2.0 */
/* null: measures nothing. It drives the whole pipeline in tests, and its cost is the harness's own. */
#include "run/case.h"

static const struct metric metrics[] = {{"value", QUANTITY_COUNT, TIMING_HOST}, {0}};

static const struct series_row series[] = {
    {.metric = "value", .statistic = "", .delta_rel = 0.02, .between_rel = 0.003},
    {0},
};

static void instances(const struct node *node, struct instance_list *out) {
    (void)node;
    struct instance *instance = instance_add(out, &metrics[0], LEVEL_PRIMARY);
    instance->samples = 5;
    instance->seconds = 0.001;
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    (void)err;
    for (int i = 0; i < context->wanted_samples; i++)
        samples_add(out, 1);
    return true;
}

const struct bench_case case_null = {
    .name = "null",
    .version = 1,
    .summary = "nothing at all: the harness's own cost",
    .block = BLOCK_QUIET,
    .hidden = true,
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
