/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/link_limit.h"
#include "cli/topo_view.h"

#include <math.h>
#include <stdio.h>

enum { MAX_PATH = 16 };

static void set_link_number(js *to, const char *key, const struct node *node, const char *bdf,
                            const char *what) {
    double value = node_number(node, "pci.%s.%s", bdf, what);
    if (value < 0)
        value = js_get_number(node->moving, key, -1);
    js_set(to, key, value > 0 ? js_new_int((int64_t)value) : js_new_null());
}

/* The generation falls while a GPU sleeps and is with what moves. */
static js *link_now(const struct node *node, const char *bdf) {
    char key[64];
    snprintf(key, sizeof key, "pci.%s.link_gen", bdf);
    double gen = js_get_number(node->moving, key, js_get_number(node->environment, key, -1));
    return gen > 0 ? js_new_int((int64_t)gen) : js_new_null();
}

static js *path_json(const struct node *node, const char *bdf) {
    js *out = js_new_array();
    char at[32];
    snprintf(at, sizeof at, "%.31s", bdf);
    for (int i = 0; at[0] != '\0' && i < MAX_PATH; i++) {
        char key[64];
        js *one = js_new_object();
        js_set_string(one, "bdf", at);
        js_set(one, "gen", link_now(node, at));
        set_link_number(one, "width", node, at, "link_width");
        set_link_number(one, "gen_max", node, at, "link_gen_max");
        set_link_number(one, "width_max", node, at, "link_width_max");
        js_append(out, one);
        snprintf(key, sizeof key, "pci.%s.parent", at);
        const char *parent = node_text(node, key);
        if (parent == NULL || parent[0] == '\0')
            break;
        snprintf(at, sizeof at, "%.31s", parent);
    }
    return out;
}

static void set_limits(js *to, struct link_limits limits) {
    js_set(to, "limit", isfinite(limits.limit) ? js_new_number(limits.limit) : js_new_null());
    js_set(to, "limit_raw", isfinite(limits.raw) ? js_new_number(limits.raw) : js_new_null());
}

static js *gpu_json(const struct node *node, const struct gpu_info *gpu) {
    js *out = js_new_object();
    js_set_int(out, "index", gpu->index);
    js_set_string(out, "uuid", gpu->uuid);
    js_set_string(out, "bdf", gpu->bdf[0] != '\0' ? gpu->bdf : NULL);
    js_set_string(out, "name", gpu->name);
    int near = topology_device_node(node->topology, gpu->bdf);
    js_set(out, "numa_node", near >= 0 ? js_new_int(near) : js_new_null());
    js_set(out, "path", path_json(node, gpu->bdf));
    set_limits(out, link_path_limits(node, gpu));
    return out;
}

static js *pair_json(const struct node *node, const struct gpu_info *from, const struct gpu_info *to) {
    js *out = js_new_object();
    char nvlink[16];
    int links = gpu_list_nvlinks(&node->gpus, from->index, to->index);
    snprintf(nvlink, sizeof nvlink, "NV%d", links);
    const char *class = links > 0 ? nvlink : topology_path_class(node->topology, from->bdf, to->bdf);
    js_set_int(out, "from", from->index);
    js_set_int(out, "to", to->index);
    js_set_string(out, "class", class[0] != '\0' ? class : NULL);
    js_set(out, "nvlinks", links >= 0 ? js_new_int(links) : js_new_null());
    const char *p2p = gpu_list_p2p(&node->gpus, from->index, to->index);
    js_set_string(out, "p2p", p2p[0] != '\0' ? p2p : NULL);
    set_limits(out, link_peer_limits(node, from, to, links));
    return out;
}

static js *numa_json(const struct node *node, int index) {
    js *out = js_new_object();
    char key[64];
    int os = topology_node_os_index(node->topology, index);
    js_set_int(out, "index", index);
    js_set_int(out, "os_index", os);
    snprintf(key, sizeof key, "numa.node%d.cpus", os);
    js_set_string(out, "cpus", node_text(node, key));
    js_set_int(out, "socket", topology_node_socket(node->topology, index));
    return out;
}

js *topo_json(const struct node *node) {
    js *out = js_new_object();
    js *nodes = js_new_array();
    js *gpus = js_new_array();
    js *pairs = js_new_array();
    js_set_string(out, "schema", "gpuvet.topo/1");
    js_set_string(out, "name", node->name);
    js_set_int(out, "sockets", topology_socket_count(node->topology));
    js_set_int(out, "cores", topology_core_count(node->topology));
    js_set_string(out, "hypervisor", node_text(node, "hypervisor"));
    for (int i = 0; i < topology_node_count(node->topology); i++)
        js_append(nodes, numa_json(node, i));
    for (size_t i = 0; i < node->gpus.count; i++)
        js_append(gpus, gpu_json(node, &node->gpus.items[i]));
    for (size_t i = 0; i < node->gpus.count; i++)
        for (size_t j = 0; j < node->gpus.count; j++)
            if (i != j)
                js_append(pairs, pair_json(node, &node->gpus.items[i], &node->gpus.items[j]));
    js_set(out, "numa_nodes", nodes);
    js_set(out, "gpus", gpus);
    js_set(out, "pairs", pairs);
    if (node->gpus.count == 0)
        js_set_string(out, "reason", node->gpus.reason);
    return out;
}
