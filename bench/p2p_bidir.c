/* SPDX-License-Identifier: Apache-2.0 */
/* p2p.bidir: both directions between two GPUs at once, both streams released together. direction=one: from →
 * to while the other way runs twice as long; both: the sum of the two, each over its first half. */
#include "bench/p2p_common.h"
#include "bench/peer_pair.h"

#include <stdlib.h>
#include <string.h>

struct maker {
    const struct p2p_party *party;
    struct instance_list *out;
};

static struct instance *add(const struct maker *m, const struct p2p_path *path, const char *direction,
                            enum level level, bool read, const char *engine) {
    bool both = strcmp(direction, "both") == 0;
    struct instance *instance = p2p_instance(m->party, path, p2p_bandwidth, level, read, m->out);
    p2p_set_copies(instance, path, read, engine, PEER_LARGE);
    js_set_string(instance->params, "access", read ? "read" : "write");
    js_set_string(instance->params, "direction", direction);
    /* Each way's timed half, and as much again behind it. */
    instance->seconds +=
        p2p_seconds((double)instance->samples * instance->operations, PEER_LARGE, path->limits.limit);
    link_set(instance, path->limits, both ? 2 : 1);
    return instance;
}

static void add_pair(const struct maker *m, const struct p2p_path *there, const struct p2p_path *back) {
    bool stands = there->stands_for_others;
    enum level level = stands ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH;
    struct instance *first = add(m, there, "both", stands ? LEVEL_PRIMARY : LEVEL_DESCRIPTIVE, false, "ce");
    if (first->skip != NULL)
        return;
    add(m, there, "one", level, false, "ce");
    add(m, back, "one", level, false, "ce");
    add(m, there, "both", level, true, "ce");
    add(m, there, "both", level, false, "sm");
}

static void instances(const struct node *node, struct instance_list *out) {
    struct p2p_party party;
    struct p2p_path *paths = NULL;
    p2p_gather(node, &party);
    int n = p2p_paths(&party, &paths);
    const struct maker m = {&party, out};
    bool none = p2p_skip_all(&party, 2, paths, n, p2p_bandwidth, out);
    for (int i = 0; !none && i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (paths[i].from == paths[k].to && paths[i].to == paths[k].from)
                add_pair(&m, &paths[i], &paths[k]);
    if (!none)
        js_set_string(add(&m, &paths[0], "both", LEVEL_HIDDEN, false, "ce")->params, "corrupt", "word");
    free(paths);
}

const struct bench_case case_p2p_bidir = {
    .name = "p2p.bidir",
    .version = 1,
    .summary = "bandwidth of copies between two GPUs in both directions at once",
    .block = BLOCK_P2P,
    .loads_link = true,
    .needs = {.gpus = 2, .peer = true},
    .metrics = p2p_bandwidth,
    .series = p2p_bandwidth_series,
    .instances = instances,
    .prepare = p2p_prepare,
    .sample = p2p_sample,
    .verify = p2p_verify,
    .finish = p2p_finish,
};
