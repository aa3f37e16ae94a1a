/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/p2p_common.h"

#include "base/mem.h"
#include "base/text.h"
#include "bench/peer_pair.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ALL_PAIRS = 8 };
enum {
    FEW_OPERATIONS = 1,
    NVLINK_OPERATIONS = 8,
    JUDGED_NVLINK_OPERATIONS = 4,
    MAX_OPERATIONS = 128,
    JUDGED_SAMPLES = 1,
    SAMPLES = 2
};
static const double assumed_gbps = 25;      /* where the limit is not known */
static const double set_up_seconds = 0.008; /* gate, events, filling and checking */

const struct metric p2p_bandwidth[] = {{"bandwidth", QUANTITY_BANDWIDTH, TIMING_HOST}, {0}};

const struct series_row p2p_bandwidth_series[] = {
    {.metric = "bandwidth", .statistic = "", .delta_rel = 0.02, .between_rel = 0.01},
    {0},
};

/* ---- pairs ---- */

void p2p_gather(const struct node *node, struct p2p_party *out) {
    *out = (struct p2p_party){.node = node};
    for (size_t i = 0; i < node->gpus.count && out->n < WHERE_MAX_GPUS; i++)
        if (!node->gpus.items[i].mig && node->gpus.items[i].unusable[0] == '\0')
            out->gpus[out->n++] = &node->gpus.items[i];
}

bool p2p_is_nvlink(const struct p2p_path *path) {
    return path->nvlinks > 0;
}

bool p2p_is_judged(const struct p2p_party *party, const struct p2p_path *path) {
    bool neighbours = path->to == (path->from + 1) % party->n;
    return party->n <= MAX_ALL_PAIRS || neighbours || path->stands_for_others;
}

static void name_class(const struct p2p_party *party, struct p2p_path *p) {
    if (p->nvlinks > 0)
        snprintf(p->path_class, sizeof p->path_class, "NV%d", p->nvlinks);
    else
        snprintf(
            p->path_class, sizeof p->path_class, "%s",
            topology_path_class(party->node->topology, party->gpus[p->from]->bdf, party->gpus[p->to]->bdf));
}

static bool is_like(const struct p2p_path *a, const struct p2p_path *b) {
    bool same = a->nodes[0] == b->nodes[0] && a->nodes[1] == b->nodes[1];
    bool turned = a->nodes[0] == b->nodes[1] && a->nodes[1] == b->nodes[0];
    return (same || turned) && strcmp(a->path_class, b->path_class) == 0;
}

static void look_at_path(const struct p2p_party *party, struct p2p_path *p) {
    const struct gpu_info *from = party->gpus[p->from], *to = party->gpus[p->to];
    const struct gpu_list *list = &party->node->gpus;
    p->nvlinks = gpu_list_nvlinks(list, from->index, to->index);
    p->status = gpu_list_p2p(list, from->index, to->index);
    p->nodes[0] = topology_device_node(party->node->topology, from->bdf);
    p->nodes[1] = topology_device_node(party->node->topology, to->bdf);
    p->limits = link_peer_limits(party->node, from, to, p->nvlinks);
    name_class(party, p);
}

int p2p_paths(const struct p2p_party *party, struct p2p_path **out) {
    struct p2p_path *paths = mem_zeroed((size_t)party->n * (size_t)party->n + 1, sizeof *paths);
    int n = 0;
    for (int from = 0; from < party->n; from++)
        for (int to = 0; to < party->n; to++) {
            struct p2p_path *p = &paths[n];
            if (from == to)
                continue;
            *p = (struct p2p_path){.from = from, .to = to};
            look_at_path(party, p);
            p->stands_for_others = from < to;
            for (int i = 0; i < n; i++)
                if (paths[i].stands_for_others && is_like(&paths[i], p))
                    p->stands_for_others = false;
            n++;
        }
    *out = paths;
    return n;
}

const struct p2p_path *p2p_find_path(const struct p2p_path *paths, int n, int from, int to) {
    for (int i = 0; i < n; i++)
        if (paths[i].from == from && paths[i].to == to)
            return &paths[i];
    return NULL;
}

bool p2p_is_refused(const struct p2p_path *path) {
    return path->status[0] != '\0' && strcmp(path->status, "OK") != 0;
}

/* ---- instances ---- */

struct instance *p2p_instance(const struct p2p_party *party, const struct p2p_path *path,
                              const struct metric *metric, enum level level, bool read,
                              struct instance_list *out) {
    const struct gpu_info *from = party->gpus[path->from], *to = party->gpus[path->to];
    const struct topology *topology = party->node->topology;
    struct instance *instance = instance_add(out, metric, level);
    js_set_string(instance->where, "from", from->uuid);
    js_set_string(instance->where, "to", to->uuid);
    js_set_string(instance->attributes, "from_bdf", from->bdf);
    js_set_string(instance->attributes, "to_bdf", to->bdf);
    js_set_string(instance->attributes, "path_class", path->path_class[0] == '\0' ? NULL : path->path_class);
    js_set(instance->attributes, "nvlinks", path->nvlinks < 0 ? js_new_null() : js_new_int(path->nvlinks));
    js_set_string(instance->attributes, "driver_status", path->status[0] == '\0' ? NULL : path->status);
    instance->cpu = topology_pin_cpu(topology, path->nodes[read ? 1 : 0]);
    if (p2p_is_refused(path)) {
        struct text why = {0};
        text_addf(&why, "the driver offers no P2P from GPU %d to GPU %d: %s (%s)", from->index, to->index,
                  path->status, gpu_p2p_meaning(path->status));
        instance->skip = text_take(&why);
    }
    return instance;
}

bool p2p_skip_all(const struct p2p_party *party, int gpus, const struct p2p_path *paths, int n_paths,
                  const struct metric *metric, struct instance_list *out) {
    struct text why = {0};
    int refused = 0;
    for (int i = 0; i < n_paths; i++)
        refused += p2p_is_refused(&paths[i]);
    if (party->n < gpus)
        text_addf(&why, "needs %d GPUs that can be used, and %d %s", gpus, party->n,
                  party->n == 1 ? "is" : "are");
    else if (refused == n_paths)
        text_addf(&why, "the driver offers no P2P between any of the %d GPUs: %s (%s)", party->n,
                  paths[0].status, gpu_p2p_meaning(paths[0].status));
    if (why.length == 0)
        return false;
    struct instance *instance = instance_add(out, metric, LEVEL_PRIMARY);
    js_set_string(instance->params, "peer", "on");
    instance->skip = text_take(&why);
    return true;
}

double p2p_seconds(double copies, double bytes, double gbps) {
    double rate = isfinite(gbps) && gbps > 0 ? gbps : assumed_gbps;
    return set_up_seconds + copies * bytes / rate / 1e9;
}

void p2p_set_copies(struct instance *instance, const struct p2p_path *path, bool read, const char *engine,
                    int64_t bytes) {
    bool judged = instance->level == LEVEL_PRIMARY;
    int operations = !p2p_is_nvlink(path) ? FEW_OPERATIONS
                     : judged             ? JUDGED_NVLINK_OPERATIONS
                                          : NVLINK_OPERATIONS;
    int64_t fit = PEER_LARGE / bytes * operations;
    js_set_string(instance->attributes, "access", read ? "read" : "write");
    js_set_int(instance->params, "bytes", bytes);
    js_set_string(instance->params, "engine", engine);
    js_set_string(instance->params, "peer", "on");
    js_set_string(instance->params, "cache", "cold");
    instance->operations = fit > MAX_OPERATIONS ? MAX_OPERATIONS : fit < 1 ? 1 : (int)fit;
    instance->samples = judged ? JUDGED_SAMPLES : SAMPLES;
    double warm = 3.0 * (instance->operations > 4 ? instance->operations / 4 : 1);
    double part = bytes < PEER_WARM ? (double)bytes : (double)PEER_WARM;
    instance->seconds =
        p2p_seconds(instance->samples * (double)instance->operations, (double)bytes, path->limits.limit) +
        p2p_seconds(warm, part, path->limits.limit) - set_up_seconds;
}
