/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_live.h"

#include "base/clock.h"
#include "gpu/driver_probe.h"
#include "system/device_cgroup.h"
#include "system/probe_live.h"

#include <string.h>

/* What is left of 10 s after nodes that hung; a driver that works has answered long before. */
static const int64_t whole_ns = 9300 * NS_PER_MS, least_ns = 1500 * NS_PER_MS;

static bool is_host(const struct facts *facts) {
    const char *container = facts->kernel.container.value;
    return container == NULL || strcmp(container, "none") == 0;
}

bool doctor_live(const js *dead, struct source *source, struct facts **facts, struct device_nodes *nodes,
                 struct error *err) {
    struct clock clock = clock_real();
    int64_t start = clock_now(&clock);
    struct recording *recording = source->recording;
    if (!source_live(source, err))
        return RELAY(err);
    source->recording = recording;
    source->probes = probe_live();
    if (dead != NULL)
        js_set(source->probes, "dead_mounts", js_copy(dead));
    *facts = facts_read(source, err);
    if (*facts == NULL || !device_nodes_read(source, nodes, err))
        return RELAY(err);
    js *cgroup = device_cgroup_probe(source, *facts, nodes, is_host(*facts));
    if (cgroup != NULL)
        js_set(source->probes, "device_cgroup", cgroup);
    int64_t left = whole_ns - (clock_now(&clock) - start);
    driver_probe(source->probes, left > least_ns ? left : least_ns);
    device_nodes_again(nodes);
    return true;
}
