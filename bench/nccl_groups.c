/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs work together, and what is known of them beforehand. */
#include "base/mem.h"
#include "base/text.h"
#include "bench/host_common.h"
#include "bench/nccl_common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nccl_groups(const struct p2p_party *party, struct nccl_group *out) {
    static const int sizes[] = {2, 4, 8};
    int n = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] <= party->n)
            out[n++].n = sizes[i];
    if (party->n >= 2 && out[n - 1].n != party->n)
        out[n++].n = party->n;
    for (int i = 0; i < n; i++) {
        out[i].largest = i == n - 1;
        for (int k = 0; k < out[i].n; k++)
            out[i].gpus[k] = k;
    }
    return n;
}

/* The key has the GPUs sorted; ranks count in PCI order. */
static void set_where(const struct p2p_party *party, const struct nccl_group *group,
                      struct instance *instance) {
    struct strings uuids = {0};
    struct text joined = {0};
    js *order = js_new_array();
    js *bdfs = js_new_array();
    for (int i = 0; i < group->n; i++)
        strings_add(&uuids, party->gpus[group->gpus[i]]->uuid);
    strings_sort(&uuids);
    for (size_t i = 0; i < uuids.count; i++)
        text_addf(&joined, "%s%s", i > 0 ? "+" : "", uuids.items[i]);
    js_set_string(instance->where, "gpus", text_string(&joined));
    for (int i = 0; i < group->n; i++) {
        js_append(order, js_new_int(strings_find(&uuids, party->gpus[group->gpus[i]]->uuid)));
        js_append_string(bdfs, party->gpus[group->gpus[i]]->bdf);
    }
    js_set(instance->attributes, "order", order);
    js_set(instance->attributes, "bdfs", bdfs);
    strings_free(&uuids);
    text_free(&joined);
}

/* The farthest pair's. */
static void set_path_class(const struct p2p_party *party, const struct nccl_group *group,
                           struct instance *instance) {
    static const char *const classes[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
    int farthest = -1, fewest = 1 << 20;
    for (int i = 0; i < group->n; i++)
        for (int k = i + 1; k < group->n; k++) {
            const struct gpu_info *a = party->gpus[group->gpus[i]], *b = party->gpus[group->gpus[k]];
            int links = gpu_list_nvlinks(&party->node->gpus, a->index, b->index);
            fewest = links < fewest ? links : fewest;
            const char *class = topology_path_class(party->node->topology, a->bdf, b->bdf);
            for (int c = 0; c < 5; c++)
                if (strcmp(class, classes[c]) == 0 && c > farthest)
                    farthest = c;
        }
    char nvlink[16];
    snprintf(nvlink, sizeof nvlink, "NV%d", fewest);
    if (fewest > 0 && group->n > 1)
        js_set_string(instance->attributes, "path_class", nvlink);
    else if (farthest >= 0)
        js_set_string(instance->attributes, "path_class", classes[farthest]);
}

/* A core a rank near its GPU, none twice; none at all where there are too few. */
static void set_cores(const struct p2p_party *party, const struct nccl_group *group,
                      struct instance *instance) {
    int cpus[WHERE_MAX_GPUS];
    enum { CORES = 1024 };
    int *cores = mem_zeroed(CORES, sizeof *cores);
    for (int i = 0; i < group->n; i++) {
        int near = topology_device_node(party->node->topology, party->gpus[group->gpus[i]]->bdf);
        int n = topology_node_cores(party->node->topology, near, cores, CORES);
        cpus[i] = -1;
        for (int c = 1; c < n && cpus[i] < 0; c++) { /* the first one is left to the system */
            bool taken = false;
            for (int k = 0; k < i; k++)
                taken = taken || cpus[k] == cores[c];
            if (!taken)
                cpus[i] = cores[c];
        }
        if (cpus[i] < 0) {
            free(cores);
            return;
        }
    }
    free(cores);
    host_set_cpus(instance, cpus, group->n);
}

struct instance *nccl_instance(const struct p2p_party *party, const struct nccl_group *group,
                               const struct metric *metric, enum level level, struct instance_list *out) {
    struct instance *instance = instance_add(out, metric, level);
    set_where(party, group, instance);
    set_path_class(party, group, instance);
    set_cores(party, group, instance);
    js_set_int(instance->params, "ranks", group->n);
    return instance;
}

double nccl_join_estimate(int ranks) {
    return 0.1 + 0.1 * ranks;
}

double nccl_load_estimate(void) {
    return 0.25;
}

/* Of all_reduce each group has eight; the largest, which is in every plan, has two each of the six sisters
 * and a step that decodes two more. */
double nccl_join_share(const struct nccl_group *group) {
    enum { JUDGED = 8, OF_THE_LARGEST = JUDGED + 6 * 2 + 2 };
    double seconds = nccl_join_estimate(group->n);
    return group->largest ? (seconds + nccl_load_estimate()) / OF_THE_LARGEST : seconds / JUDGED;
}

double nccl_link_raw(const struct p2p_party *party, const struct nccl_group *group) {
    double most = NAN;
    for (int i = 0; i < group->n; i++)
        for (int k = 0; k < group->n; k++) {
            const struct gpu_info *a = party->gpus[group->gpus[i]], *b = party->gpus[group->gpus[k]];
            if (i != k)
                most = fmax(most, link_peer_limits(party->node, a, b,
                                                   gpu_list_nvlinks(&party->node->gpus, a->index, b->index))
                                      .raw);
        }
    return most;
}
