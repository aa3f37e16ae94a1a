/* SPDX-License-Identifier: Apache-2.0 */
/* copy.all: all GPUs copy at once, to them, from them, or both ways: what root ports, switches, sockets and
 * host memory carry together. where.gpus alone: the sum; with gpu: that GPU's part while all others run the
 * whole time. */
#include "base/mem.h"
#include "bench/copy_lanes.h"
#include "bench/link_limit.h"
#include "run/where.h"

#include <stdlib.h>
#include <string.h>

static const struct metric metrics[] = {{"bandwidth", QUANTITY_BANDWIDTH, TIMING_HOST}, {0}};

static const struct series_row series[] = {
    {.metric = "bandwidth",
     .statistic = "",
     .only = "direction=h2d|direction=d2h",
     .delta_rel = 0.02,
     .between_rel = 0.012},
    {.metric = "bandwidth",
     .statistic = "",
     .only = "direction=both",
     .delta_rel = 0.02,
     .between_rel = 0.02},
    {0},
};

/* The GPUs that take part. */
struct party {
    const struct node *node;
    const struct gpu_info *gpus[WHERE_MAX_GPUS];
    size_t n;
    char *joined; /* their UUIDs, sorted, by '+' */
};

static struct party gather(const struct node *node) {
    struct party party = {.node = node};
    struct strings uuids = {0};
    struct text joined = {0};
    for (size_t i = 0; i < node->gpus.count && party.n < WHERE_MAX_GPUS; i++) {
        const struct gpu_info *gpu = &node->gpus.items[i];
        if (gpu->mig || gpu->unusable[0] != '\0')
            continue;
        party.gpus[party.n++] = gpu;
        strings_add(&uuids, gpu->uuid);
    }
    strings_sort(&uuids);
    for (size_t i = 0; i < uuids.count; i++)
        text_addf(&joined, "%s%s", i > 0 ? "+" : "", uuids.items[i]);
    strings_free(&uuids);
    party.joined = text_take(&joined);
    return party;
}

static const struct gpu_info *find(const struct party *party, const char *uuid) {
    for (size_t i = 0; i < party->n; i++)
        if (strcmp(party->gpus[i]->uuid, uuid) == 0)
            return party->gpus[i];
    return NULL;
}

/* The nodes of their memory, in the order in which the worker opens them. */
static js *os_nodes(const struct party *party, const js *where) {
    js *list = js_new_array();
    struct strings uuids = {0};
    where_gpus(where, &uuids);
    for (size_t i = 0; i < uuids.count; i++) {
        const struct gpu_info *gpu = find(party, uuids.items[i]);
        int near = gpu == NULL ? -1 : topology_device_node(party->node->topology, gpu->bdf);
        js_append(list, js_new_int(topology_node_os_index(party->node->topology, near)));
    }
    strings_free(&uuids);
    return list;
}

enum { ALL = -1 };

/* `one`: whose part is measured; ALL: the sum. */
static struct instance *add(const struct party *party, int one, const char *engine, int direction,
                            enum level level, struct instance_list *out) {
    struct instance *instance = instance_add(out, &metrics[0], level);
    const struct topology *topology = party->node->topology;
    const struct gpu_info *gpu = party->gpus[one == ALL ? 0 : one];
    double times = direction == COPY_BOTH ? 2 : 1;
    if (one != ALL)
        js_set_string(instance->where, "gpu", gpu->uuid);
    js_set_string(instance->where, "gpus", party->joined);
    js_set_string(instance->where, "role", "local");
    js_set(instance->attributes, "os_nodes", os_nodes(party, instance->where));
    copy_lanes_set(instance, engine, direction);
    instance->cpu = topology_pin_cpu(topology, topology_device_node(topology, gpu->bdf));
    /* The sum of both ways needs the most memory: getting it, 0.05 s a lane, and filling it the first time
     * are its. */
    instance->seconds =
        direction == COPY_BOTH ? 0.28 + 0.01 * (double)party->n : 0.14 + 0.01 * (double)party->n;
    if (one == ALL && direction == COPY_BOTH && level == LEVEL_PRIMARY)
        instance->seconds += (2 * 0.05 + 0.02) * (double)party->n;
    if (one != ALL)
        link_set(instance, link_path_limits(party->node, gpu), times);
    else
        link_set(instance, link_shared_limits(party->node, party->gpus, party->n), times);
    return instance;
}

static void instances(const struct node *node, struct instance_list *out) {
    struct party party = gather(node);
    if (party.n < 2) {
        struct instance *instance = instance_add(out, &metrics[0], LEVEL_PRIMARY);
        js_set_string(instance->where, "role", "local");
        copy_lanes_set(instance, "ce", COPY_BOTH);
        instance->skip = mem_copy_string("needs 2 GPUs that can be used, and fewer are");
    }
    for (int direction = COPY_H2D; party.n >= 2 && direction <= COPY_BOTH; direction++) {
        /* As in copy.bidir the sum of both ways stands for each among the judged series. */
        add(&party, ALL, "ce", direction, direction == COPY_BOTH ? LEVEL_PRIMARY : LEVEL_DESCRIPTIVE, out);
        add(&party, ALL, "sm", direction, LEVEL_THOROUGH, out);
        for (int i = 0; i < (int)party.n; i++)
            add(&party, i, "ce", direction, LEVEL_THOROUGH, out); /* the sum's detail has each */
    }
    if (party.n >= 2)
        js_set_string(add(&party, ALL, "ce", COPY_BOTH, LEVEL_HIDDEN, out)->params, "corrupt", "word");
    free(party.joined);
}

const struct bench_case case_copy_all = {
    .name = "copy.all",
    .version = 1,
    .summary = "bandwidth of large copies of all GPUs at once, each way and both ways",
    .block = BLOCK_COPY,
    .loads_link = true,
    .needs = {.gpus = 2},
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .prepare = copy_lanes_prepare,
    .sample = copy_lanes_sample,
    .verify = copy_lanes_verify,
    .finish = copy_lanes_finish,
};
