/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/nodes_optional.h"

#include "doctor/access.h"

/* Each is made by a call of its own: nvidia-modprobe does one of -u, -l and -s at a time. */
static const struct {
    const char *path, *or_path, *device, *flag, *of;
} optional_nodes[] = {
    {"/dev/nvidia-modeset", NULL, "nvidia-modeset", "-m", "graphics"},
    {"/dev/nvidia-uvm-tools", NULL, "nvidia-uvm", "-u -c 0", "debuggers and profilers"},
    {"/dev/nvidia-nvlink", NULL, "nvidia-nvlink", "-l", "tools that look at NVLinks"},
    {"/dev/nvidia-nvswitchctl", "/dev/nvidia-nvswitch0", "nvidia-nvswitch", "-s -c 255 -c 0",
     "the fabric manager and tools of the NVSwitches"},
};

/* The driver has the device; one that is not in /proc/devices has no node. Of modeset, which shares a major,
 * it may not say. */
static bool is_registered(const struct scene *scene, const char *device) {
    const char *const names[] = {device, NULL};
    bool own = text_starts(device, "nvidia-nv");
    return !own || access_major(scene, names) >= 0;
}

void nodes_optional_check(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    for (size_t i = 0; access != NULL && access->wanted && access->driver && !scene->container &&
                       i < sizeof optional_nodes / sizeof *optional_nodes;
         i++) {
        const char *path = optional_nodes[i].path, *or_path = optional_nodes[i].or_path;
        if (device_nodes_find(scene->nodes, path) != NULL ||
            (or_path != NULL && device_nodes_find(scene->nodes, or_path) != NULL) ||
            !is_registered(scene, optional_nodes[i].device))
            continue;
        struct finding *f = finding_add(out, "nodes.optional-missing", SEVERITY_INFO,
                                        "%s is missing, which only %s need", path, optional_nodes[i].of);
        finding_remedy(f, "nvidia-modprobe %s", optional_nodes[i].flag);
        finding_remedy(
            f,
            "where a container or service needs it at boot: ExecStart=/usr/bin/nvidia-modprobe %s in a unit, "
            "After=systemd-modules-load.service, before pve-guests.service (Before=pve-guests.service "
            "lxc.service docker.service), a line for each flag",
            optional_nodes[i].flag);
    }
    access_free(access);
}
