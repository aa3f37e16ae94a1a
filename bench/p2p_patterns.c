/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/p2p_patterns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 17 };

static void add(struct p2p_pattern *p, int from, int to) {
    p->lanes[p->n][0] = from;
    p->lanes[p->n][1] = to;
    p->n++;
}

void p2p_pattern_ring(int n, struct p2p_pattern *out) {
    *out = (struct p2p_pattern){.name = "ring", .hub = -1};
    for (int i = 0; i < n && out->n < LANES_MAX; i++)
        add(out, i, (i + 1) % n);
}

void p2p_pattern_star(int n, int hub, bool outward, struct p2p_pattern *out) {
    *out = (struct p2p_pattern){.name = outward ? "one_to_all" : "all_to_one", .hub = hub};
    for (int i = 0; i < n && out->n < LANES_MAX; i++)
        if (i != hub)
            add(out, outward ? hub : i, outward ? i : hub);
}

bool p2p_pattern_all(int n, struct p2p_pattern *out) {
    *out = (struct p2p_pattern){.name = "all_to_all", .hub = -1};
    if (n * (n - 1) > LANES_MAX)
        return false;
    /* In turns, so that no GPU's lanes are all queued before the next one's. */
    for (int step = 1; step < n; step++)
        for (int i = 0; i < n; i++)
            add(out, i, (i + step) % n);
    return true;
}

/* ---- roots ---- */

static bool root_port(const struct node *node, const char *bdf, char out[16]) {
    char key[64];
    const char *at = bdf;
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
        if (strlen(at) >= 16)
            return false;
        snprintf(key, sizeof key, "pci.%s.parent", at);
        const char *parent = node_text(node, key);
        if (parent == NULL || parent[0] == '\0') {
            snprintf(out, 16, "%s", at);
            return depth > 0;
        }
        at = parent;
    }
    return false; /* leads in a circle */
}

void p2p_find_roots(const struct p2p_party *party, struct p2p_roots *out) {
    const char *hypervisor = node_text(party->node, "hypervisor");
    bool guest = hypervisor != NULL && strcmp(hypervisor, "none") != 0;
    *out = (struct p2p_roots){0};
    for (int i = 0; i < party->n; i++) {
        char bdf[16] = "";
        out->root[i] = -1;
        if (guest || !root_port(party->node, party->gpus[i]->bdf, bdf))
            continue;
        for (int r = 0; r < out->n_roots; r++)
            if (strcmp(out->bdf[r], bdf) == 0)
                out->root[i] = r;
        if (out->root[i] < 0) {
            snprintf(out->bdf[out->n_roots], sizeof out->bdf[0], "%s", bdf);
            out->root[i] = out->n_roots++;
        }
    }
}

/* "0000:10" of "0000:10:01.1": ports of one root bus belong to one root complex. */
static bool same_complex(const char *a, const char *b) {
    return strncmp(a, b, strlen("0000:10")) == 0;
}

static int count_below(const struct p2p_party *party, const struct p2p_roots *roots, int root) {
    int count = 0;
    for (int g = 0; g < party->n; g++)
        count += roots->root[g] == root;
    return count;
}

/* The i-th GPU below a root port, round and round; -1: none. */
static int gpu_below(const struct p2p_party *party, const struct p2p_roots *roots, int root, int i) {
    int count = count_below(party, roots, root), seen = 0;
    for (int g = 0; g < party->n; g++)
        if (roots->root[g] == root && seen++ == i % (count > 0 ? count : 1))
            return g;
    return -1;
}

/* Root ports of other root complexes than `root`, each complex once. */
static int other_complexes(const struct p2p_roots *roots, int root, int *out) {
    int n = 0;
    for (int r = 0; r < roots->n_roots; r++) {
        bool is_new = r != root && !same_complex(roots->bdf[r], roots->bdf[root]);
        for (int i = 0; i < n; i++)
            is_new = is_new && !same_complex(roots->bdf[r], roots->bdf[out[i]]);
        if (is_new)
            out[n++] = r;
    }
    return n;
}

bool p2p_pattern_fan(const struct p2p_party *party, const struct p2p_roots *roots, int root, int sources,
                     int n_roots, struct p2p_pattern *out) {
    int others[WHERE_MAX_GPUS];
    *out = (struct p2p_pattern){.name = "fan", .hub = -1, .sources = sources, .roots = n_roots};
    if (root < 0 || root >= roots->n_roots || sources < 1 || n_roots < 1 || sources < n_roots ||
        count_below(party, roots, root) < sources || other_complexes(roots, root, others) < n_roots)
        return false;
    for (int i = 0; i < sources; i++)
        add(out, gpu_below(party, roots, root, i), gpu_below(party, roots, others[i % n_roots], i / n_roots));
    out->hub = out->lanes[0][0];
    return true;
}

/* ---- limits ---- */

/* NAN wins. */
static double larger(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
}

/* The sum over GPUs of what each can send (`end` 0) or take (1): its widest lane, not all of them. */
static struct link_limits sum_of_ends(const struct p2p_pattern *p, const struct p2p_path *paths, int n_paths,
                                      int end) {
    struct link_limits sum = {0, 0};
    for (int i = 0; i < p->n; i++) {
        struct link_limits widest = {0, 0};
        bool first = true;
        for (int k = 0; k < p->n; k++) {
            if (p->lanes[k][end] != p->lanes[i][end])
                continue;
            first = first && k >= i;
            const struct p2p_path *path = p2p_find_path(paths, n_paths, p->lanes[k][0], p->lanes[k][1]);
            widest.raw = larger(widest.raw, path == NULL ? NAN : path->limits.raw);
            widest.limit = larger(widest.limit, path == NULL ? NAN : path->limits.limit);
        }
        if (first) {
            sum.raw += widest.raw;
            sum.limit += widest.limit;
        }
    }
    return sum;
}

struct link_limits p2p_pattern_limits(const struct p2p_pattern *pattern, const struct p2p_path *paths,
                                      int n_paths) {
    struct link_limits out = sum_of_ends(pattern, paths, n_paths, 0);
    struct link_limits in = sum_of_ends(pattern, paths, n_paths, 1);
    return (struct link_limits){fmin(out.raw, in.raw), fmin(out.limit, in.limit)};
}
