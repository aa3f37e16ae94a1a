/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_live.h"

#include "base/clock.h"
#include "cli/doctor_guard.h"
#include "doctor/fabric_manager.h"
#include "gpu/driver_probe.h"
#include "system/device_cgroup.h"
#include "system/probe_live.h"

#include <string.h>

/* A driver that works has answered long before; after nodes that hung it has what is left. The device cgroup
 * is tried where that leaves the driver its time. */
static const int64_t least_ns = 700 * NS_PER_MS, cgroup_ns = 2100 * NS_PER_MS;

static bool is_host(const struct facts *facts) {
    const char *container = facts->kernel.container.value;
    return container == NULL || strcmp(container, "none") == 0;
}

static bool has_device(const struct facts *facts, const char *name) {
    for (size_t i = 0; i < facts->n_chrdevs; i++)
        if (strcmp(facts->chrdevs[i].name, name) == 0)
            return true;
    return false;
}

/* On a host the first CUDA program has nvidia_uvm loaded and its node made, as root or by the setuid
 * nvidia-modprobe. A child that may change nothing would fail there, where no program fails: it is not asked
 * then. */
static bool would_be_made(const js *probes, const struct facts *facts, const struct device_nodes *nodes) {
    bool setuid = strcmp(js_get_string(probes, "nvidia_modprobe", ""), "setuid") == 0;
    bool root = js_get_int(probes, "uid", -1) == 0;
    if (!is_host(facts) || (!has_device(facts, "nvidia") && !has_device(facts, "nvidia-frontend")))
        return false;
    if (!has_device(facts, "nvidia-uvm"))
        return root || setuid;
    return !root && setuid && device_nodes_find(nodes, "/dev/nvidia-uvm") == NULL;
}

/* Where CUDA says that the system is not ready: whose manager is installed. */
static void add_fabric_manager(js *probes, const struct device_nodes *nodes) {
    enum { NOT_READY = 802 };
    js *manager = js_get_int(js_get(probes, "cuInit"), "code", -1) == NOT_READY
                      ? fabric_manager_installed(nodes, "")
                      : NULL;
    if (manager != NULL)
        js_set(probes, "fabric_manager", manager);
}

bool doctor_live(const js *dead, struct source *source, struct facts **facts, struct device_nodes *nodes,
                 struct error *err) {
    struct clock clock = clock_real();
    int64_t limit_ms = (js_length(dead) > 0 ? DOCTOR_DEAD_MS : DOCTOR_USUAL_MS) - DOCTOR_JUDGING_MS;
    int64_t end = clock_now(&clock) + limit_ms * NS_PER_MS;
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
    js *cgroup = end - clock_now(&clock) < cgroup_ns
                     ? NULL
                     : device_cgroup_probe(source, *facts, nodes, is_host(*facts));
    if (cgroup != NULL)
        js_set(source->probes, "device_cgroup", cgroup);
    int64_t left = end - clock_now(&clock);
    bool ask_cuda = !would_be_made(source->probes, *facts, nodes);
    driver_probe(source->probes, ask_cuda, !is_host(*facts), left > least_ns ? left : least_ns);
    device_nodes_again(nodes);
    if (is_host(*facts))
        add_fabric_manager(source->probes, nodes);
    return true;
}
