/* SPDX-License-Identifier: Apache-2.0 */
/* copy.d2h: large copies device to host by the copy engine, and beside it by a kernel. */
#include "bench/copy_common.h"

static const struct metric metrics[] = {{"bandwidth", QUANTITY_BANDWIDTH, TIMING_GATED}, {0}};

static const struct series_row series[] = {
    {.metric = "bandwidth", .statistic = "", .delta_rel = 0.02, .between_rel = 0.003},
    {0},
};

static void instances(const struct node *node, struct instance_list *out) {
    copy_bandwidth_instances(node, &metrics[0], out);
}

const struct bench_case case_copy_d2h = {
    .name = "copy.d2h",
    .version = 1,
    .summary = "bandwidth of large copies, device to host",
    .block = BLOCK_COPY,
    .loads_link = true,
    .needs = {.gpus = 1},
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .prepare = copy_prepare_d2h,
    .poison = copy_poison,
    .enqueue = copy_enqueue,
    .sample = copy_sample_pageable,
    .by_host = copy_is_pageable,
    .verify = copy_verify,
    .work = copy_work,
    .finish = copy_finish,
};
