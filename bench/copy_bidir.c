/* SPDX-License-Identifier: Apache-2.0 */
/* copy.bidir: both directions of a GPU's link at once. direction=h2d and d2h: that direction while the other
 * one runs the whole time; both: their sum. */
#include "bench/copy_common.h"
#include "bench/copy_lanes.h"
#include "bench/copy_pair.h"
#include "bench/host_common.h"
#include "bench/link_limit.h"

static const struct metric metrics[] = {{"bandwidth", QUANTITY_BANDWIDTH, TIMING_HOST}, {0}};

static const struct series_row series[] = {
    {.metric = "bandwidth", .statistic = "", .delta_rel = 0.02, .between_rel = 0.01},
    {0},
};

static void add(const struct node *node, const struct gpu_info *gpu, const char *engine, int direction,
                enum level level, const char *corrupt, struct instance_list *out) {
    struct instance *instance = copy_instance(node, gpu, &metrics[0], level, COPY_LARGE, "pinned", out);
    copy_lanes_set(instance, engine, direction);
    if (corrupt != NULL)
        js_set_string(instance->params, "corrupt", corrupt);
    instance->seconds = 0.19;
    link_set(instance, link_path_limits(node, gpu), direction == COPY_BOTH ? 2 : 1);
}

static void instances(const struct node *node, struct instance_list *out) {
    for (size_t i = 0; i < node->gpus.count; i++) {
        const struct gpu_info *gpu = &node->gpus.items[i];
        /* The sum moves when either direction does, so it stands for both among the judged series; and copies
         * one way are judged on every GPU, so one GPU of each node stands for what both at once make of it.
         */
        bool first = host_first_gpu_of_node(node, i);
        enum level each = first ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH;
        add(node, gpu, "ce", COPY_BOTH, first ? LEVEL_PRIMARY : LEVEL_DESCRIPTIVE, NULL, out);
        add(node, gpu, "ce", COPY_H2D, each, NULL, out);
        add(node, gpu, "ce", COPY_D2H, each, NULL, out);
        for (int direction = COPY_H2D; direction <= COPY_BOTH; direction++)
            add(node, gpu, "sm", direction, LEVEL_THOROUGH, NULL, out);
        if (i == 0)
            add(node, gpu, "ce", COPY_BOTH, LEVEL_HIDDEN, "word", out);
    }
}

const struct bench_case case_copy_bidir = {
    .name = "copy.bidir",
    .version = 1,
    .summary = "bandwidth of large copies in both directions of a GPU's link at once",
    .block = BLOCK_COPY,
    .loads_link = true,
    .needs = {.gpus = 1},
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .prepare = copy_lanes_prepare,
    .sample = copy_lanes_sample,
    .verify = copy_lanes_verify,
    .finish = copy_lanes_finish,
};
