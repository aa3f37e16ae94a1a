/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/host_common.h"

#include <string.h>

void host_mark(const struct node *node, struct instance *instance) {
    const char *hypervisor = node_text(node, "hypervisor");
    const char *clocksource = node_text(node, "kernel.clocksource");
    if (hypervisor != NULL && strcmp(hypervisor, "none") != 0)
        js_set_string(instance->attributes, "guest", hypervisor);
    if (clocksource != NULL && strcmp(clocksource, "tsc") != 0)
        js_set_string(instance->attributes, "clocksource", clocksource);
}

int host_gpu_nodes(const struct node *node, int *out, int capacity) {
    int n = 0;
    int nodes = topology_node_count(node->topology);
    for (int candidate = 0; candidate < nodes && n < capacity; candidate++)
        for (size_t i = 0; i < node->gpus.count; i++)
            if (topology_device_node(node->topology, node->gpus.items[i].bdf) == candidate) {
                out[n++] = candidate;
                break;
            }
    if (n == 0 && capacity > 0)
        out[n++] = 0;
    return n;
}
