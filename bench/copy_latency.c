/* SPDX-License-Identifier: Apache-2.0 */
/* copy.latency: a small copy from its issue to its completion as the host sees it. */
#include "base/clock.h"
#include "bench/copy_common.h"

#include <string.h>

enum { SMALL = 4096, SAMPLES = 1000, WARM = 200 };

static const struct metric metrics[] = {{"call", QUANTITY_TIME, TIMING_HOST}, {0}};

static const struct series_row series[] = {
    {.metric = "call", .statistic = "p50", .delta_rel = 0.05, .delta_abs = 0.2, .between_rel = 0.03},
    {.metric = "call", .statistic = "p99", .delta_rel = 0.25, .between_rel = 0.15, .descriptive = true},
    {0},
};

static void instances(const struct node *node, struct instance_list *out) {
    static const char *const directions[] = {"h2d", "d2h"};
    for (size_t i = 0; i < node->gpus.count; i++)
        for (int d = 0; d < 2; d++) {
            struct instance *instance =
                copy_instance(node, &node->gpus.items[i], &metrics[0], LEVEL_PRIMARY, SMALL, "pinned", out);
            js_set_string(instance->params, "direction", directions[d]);
            instance->samples = SAMPLES;
            instance->seconds = 0.03;
        }
}

static bool prepare(struct case_context *context, struct error *err) {
    bool to_device = strcmp(case_text(context, "direction"), "h2d") == 0;
    return to_device ? copy_prepare_h2d(context, err) : copy_prepare_d2h(context, err);
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    gpu_stream stream = NULL;
    bool good = gpu_stream_make(&stream, err);
    for (int i = 0; good && i < WARM + context->wanted_samples; i++) {
        int64_t start = clock_raw();
        good = copy_enqueue(context, stream, 1, err) && gpu_wait_for(stream, GPU_WAIT_SPIN, NULL, err);
        if (i >= WARM)
            samples_add(out, (double)(clock_raw() - start) / 1e3);
    }
    gpu_stream_free(stream);
    return good;
}

const struct bench_case case_copy_latency = {
    .name = "copy.latency",
    .version = 1,
    .summary = "time of a 4 KiB copy, from its issue to its end as the host sees it",
    .block = BLOCK_LATENCY,
    .quiet = true,
    .needs = {.gpus = 1},
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .prepare = prepare,
    .poison = copy_poison,
    .sample = sample,
    .verify = copy_verify,
    .finish = copy_finish,
};
