/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/p2p_copies.h"

#include "bench/host_common.h"
#include "bench/peer_pair.h"

#include <math.h>
#include <stdlib.h>

enum { SMALLEST = 4096, STAGED_SAMPLES = 3 };

struct maker {
    const struct p2p_party *party;
    bool read;
    struct instance_list *out;
};

static struct instance *add(const struct maker *m, const struct p2p_path *path, enum level level,
                            const char *engine, int64_t bytes) {
    struct instance *instance = p2p_instance(m->party, path, p2p_bandwidth, level, m->read, m->out);
    p2p_set_copies(instance, path, m->read, engine, bytes);
    link_set(instance, path->limits, 1);
    return instance;
}

/* Every pair's writes are judged, and of reads those of one pair of each kind. */
static enum level level_of(const struct maker *m, const struct p2p_path *path) {
    bool judged = m->read ? path->stands_for_others : p2p_is_judged(m->party, path);
    return judged ? LEVEL_PRIMARY : LEVEL_DESCRIPTIVE;
}

static void add_sizes(const struct maker *m, const struct p2p_path *path) {
    for (int64_t bytes = SMALLEST; bytes < PEER_LARGE; bytes *= 4)
        add(m, path, LEVEL_DESCRIPTIVE, "ce", bytes);
}

/* Peer access off: the driver stages through the host, at whose clock it is timed. */
static void add_staged(const struct maker *m, const struct p2p_path *path) {
    struct instance *instance = add(m, path, LEVEL_DESCRIPTIVE, "ce", PEER_LARGE);
    js_set_string(instance->params, "peer", "off");
    instance->operations = 1;
    instance->samples = STAGED_SAMPLES;
    instance->seconds = p2p_seconds(STAGED_SAMPLES + 1, PEER_LARGE, NAN);
    instance->limit = instance->limit_raw = NAN; /* through the host and its memory */
    host_mark(m->party->node, instance);
}

static void add_damaged(const struct maker *m, const struct p2p_path *path) {
    static const char *const damages[] = {"word", "shift", "pair"};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        js_set_string(add(m, path, LEVEL_HIDDEN, "ce", PEER_LARGE)->params, "corrupt", damages[i]);
}

void p2p_copies_instances(const struct node *node, bool read, struct instance_list *out) {
    struct p2p_party party;
    struct p2p_path *paths = NULL;
    p2p_gather(node, &party);
    int n = p2p_paths(&party, &paths);
    const struct maker m = {&party, read, out};
    bool none = p2p_skip_all(&party, 2, paths, n, p2p_bandwidth, out);
    for (int i = 0; !none && i < n; i++) {
        const struct p2p_path *path = &paths[i];
        struct instance *first = add(&m, path, level_of(&m, path), "ce", PEER_LARGE);
        if (first->skip != NULL)
            continue;
        add(&m, path, path->stands_for_others ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH, "sm", PEER_LARGE);
        if (path->stands_for_others)
            add_sizes(&m, path);
        if (path->stands_for_others && !read)
            add_staged(&m, path);
        if (i == 0)
            add_damaged(&m, path);
    }
    free(paths);
}
