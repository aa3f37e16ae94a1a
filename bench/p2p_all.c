/* SPDX-License-Identifier: Apache-2.0 */
/* p2p.all: many GPUs copy to each other at once, in patterns: ring, one_to_all, all_to_one, all_to_all, and
 * fan: several GPUs of one switch to GPUs behind one or more other root complexes, where writes may collapse
 * and reads hold. The sum of all lanes; detail has each, what it carries alone, and the sum over that. */
#include "base/mem.h"
#include "bench/cache_word.h"
#include "bench/p2p_patterns.h"

#include <stdlib.h>

enum { BYTES = 128 << 20, SAMPLES = 3, OPERATIONS = 1, NVLINK_OPERATIONS = 4, GPUS = 3 };
static const double lane_seconds = 0.006; /* making, filling and checking one */

static const struct series_row series[] = {
    {.metric = "bandwidth", .statistic = "", .delta_rel = 0.02, .between_rel = 0.02, .descriptive = true},
    {0},
};

struct maker {
    struct p2p_party party;
    struct p2p_path *paths;
    int n_paths;
    struct instance_list *out;
};

/* ---- one instance ---- */

static bool takes_part(const struct p2p_pattern *pattern, int gpu) {
    for (int i = 0; i < pattern->n; i++)
        if (pattern->lanes[i][0] == gpu || pattern->lanes[i][1] == gpu)
            return true;
    return false;
}

static void set_where(const struct maker *m, const struct p2p_pattern *pattern, js *where) {
    struct strings uuids = {0};
    struct text joined = {0};
    for (int i = 0; i < m->party.n; i++)
        if (takes_part(pattern, i))
            strings_add(&uuids, m->party.gpus[i]->uuid);
    strings_sort(&uuids);
    for (size_t i = 0; i < uuids.count; i++)
        text_addf(&joined, "%s%s", i > 0 ? "+" : "", uuids.items[i]);
    if (pattern->hub >= 0)
        js_set_string(where, "gpu", m->party.gpus[pattern->hub]->uuid);
    js_set_string(where, "gpus", text_string(&joined));
    strings_free(&uuids);
    text_free(&joined);
}

/* The lanes by places in the order in which the worker opens the GPUs. */
static void set_lanes(const struct maker *m, const struct p2p_pattern *pattern, struct instance *instance) {
    struct strings uuids = {0};
    js *lanes = js_new_array();
    where_gpus(instance->where, &uuids);
    for (int i = 0; i < pattern->n; i++) {
        js *lane = js_new_array();
        for (int end = 0; end < 2; end++)
            js_append(lane, js_new_int(strings_find(&uuids, m->party.gpus[pattern->lanes[i][end]]->uuid)));
        js_append(lanes, lane);
    }
    js_set(instance->attributes, "lanes", lanes);
    strings_free(&uuids);
}

/* Of a pattern of this party's, so that there is one. */
static const struct p2p_path *path_of(const struct maker *m, const int lane[2]) {
    return p2p_find_path(m->paths, m->n_paths, lane[0], lane[1]);
}

static bool is_refused(const struct maker *m, const struct p2p_pattern *pattern) {
    for (int i = 0; i < pattern->n; i++)
        if (p2p_is_refused(path_of(m, pattern->lanes[i])))
            return true;
    return false;
}

/* Lanes of the GPU that has most of them at one end. */
static int most_lanes(const struct p2p_pattern *pattern) {
    int most = 0;
    for (int i = 0; i < pattern->n; i++)
        for (int end = 0; end < 2; end++) {
            int n = 0;
            for (int k = 0; k < pattern->n; k++)
                n += pattern->lanes[k][end] == pattern->lanes[i][end];
            most = n > most ? n : most;
        }
    return most;
}

static void set_cost(const struct maker *m, const struct p2p_pattern *pattern, struct instance *instance) {
    double alone = path_of(m, pattern->lanes[0])->limits.limit;
    int each = instance->operations;
    double together = (SAMPLES * 2 * each + 2) * most_lanes(pattern);
    instance->seconds =
        p2p_seconds(together + (each + 0.5) * pattern->n, BYTES, alone) + lane_seconds * pattern->n;
}

static struct instance *add(const struct maker *m, const struct p2p_pattern *pattern, bool read,
                            const char *engine, enum level level) {
    struct instance *instance = instance_add(m->out, p2p_bandwidth, level);
    const struct p2p_path *first = path_of(m, pattern->lanes[0]);
    const struct topology *topology = m->party.node->topology;
    set_where(m, pattern, instance->where);
    set_lanes(m, pattern, instance);
    js_set_string(instance->attributes, "path_class",
                  first->path_class[0] == '\0' ? NULL : first->path_class);
    js_set_string(instance->params, "pattern", pattern->name);
    js_set_string(instance->params, "access", read ? "read" : "write");
    js_set_int(instance->params, "bytes", BYTES);
    js_set_string(instance->params, "engine", engine);
    cache_set(instance, cache_word_gpu(m->party.gpus[pattern->lanes[0][0]], BYTES));
    js_set_string(instance->params, "peer", "on");
    if (pattern->sources > 0) {
        js_set_int(instance->params, "sources", pattern->sources);
        js_set_int(instance->params, "roots", pattern->roots);
    }
    instance->samples = SAMPLES;
    instance->operations = p2p_is_nvlink(first) ? NVLINK_OPERATIONS : OPERATIONS;
    instance->cpu = topology_pin_cpu(topology, first->nodes[0]);
    set_cost(m, pattern, instance);
    link_set(instance, p2p_pattern_limits(pattern, m->paths, m->n_paths), 1);
    if (is_refused(m, pattern))
        instance->skip = mem_copy_string("the driver offers no P2P between some of these GPUs");
    return instance;
}

static void add_both(const struct maker *m, const struct p2p_pattern *pattern, enum level level) {
    add(m, pattern, false, "ce", level);
    add(m, pattern, true, "ce", level);
}

/* ---- all of them ---- */

/* From the first root port with several GPUs on to one and to two complexes; all else when there is time. */
static void add_fans(const struct maker *m) {
    struct p2p_roots roots;
    bool first = true;
    p2p_find_roots(&m->party, &roots);
    for (int root = 0; root < roots.n_roots; root++) {
        int below = 0;
        for (int i = 0; i < m->party.n; i++)
            below += roots.root[i] == root;
        for (int sources = 2; sources <= below; sources++)
            for (int to = 1; to <= sources; to++) {
                struct p2p_pattern fan;
                bool usual = first && sources == below && to <= 2;
                if (p2p_pattern_fan(&m->party, &roots, root, sources, to, &fan))
                    add_both(m, &fan, usual ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH);
            }
        first = first && below < 2;
    }
}

static void add_patterns(const struct maker *m) {
    struct p2p_pattern pattern;
    int n = m->party.n;
    p2p_pattern_ring(n, &pattern);
    add_both(m, &pattern, LEVEL_DESCRIPTIVE);
    js_set_string(add(m, &pattern, false, "ce", LEVEL_HIDDEN)->params, "corrupt", "word");
    p2p_pattern_star(n, 0, true, &pattern);
    add_both(m, &pattern, LEVEL_DESCRIPTIVE);
    p2p_pattern_star(n, 0, false, &pattern);
    add_both(m, &pattern, LEVEL_DESCRIPTIVE);
    if (p2p_pattern_all(n, &pattern)) {
        add_both(m, &pattern, LEVEL_DESCRIPTIVE);
        add(m, &pattern, false, "sm", LEVEL_THOROUGH);
        add(m, &pattern, true, "sm", LEVEL_THOROUGH);
    }
    if (!p2p_is_nvlink(&m->paths[0]))
        add_fans(m);
}

static void instances(const struct node *node, struct instance_list *out) {
    struct maker m = {.out = out};
    p2p_gather(node, &m.party);
    m.n_paths = p2p_paths(&m.party, &m.paths);
    if (!p2p_skip_all(&m.party, GPUS, m.paths, m.n_paths, p2p_bandwidth, out))
        add_patterns(&m);
    free(m.paths);
}

const struct bench_case case_p2p_all = {
    .name = "p2p.all",
    .version = 1,
    .summary =
        "bandwidth of copies between many GPUs at once: rings, stars, all to all, several into few roots",
    .block = BLOCK_P2P,
    .loads_link = true,
    .needs = {.gpus = GPUS, .peer = true},
    .metrics = p2p_bandwidth,
    .series = series,
    .instances = instances,
    .prepare = p2p_prepare,
    .sample = p2p_sample,
    .verify = p2p_verify,
    .finish = p2p_finish,
};
