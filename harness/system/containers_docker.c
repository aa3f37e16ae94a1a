/* SPDX-License-Identifier: Apache-2.0 */
/* What Docker keeps of a container's devices, running or not: hostconfig.json in its folder. */
#include "base/json.h"
#include "base/mem.h"
#include "system/containers_parts.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 1024 };

static void take_node(const char *file, const char *path, const char *permissions, bool by_manager,
                      struct container *out) {
    if (!text_starts(path, "/dev/nvidia") || out->n_devices >= MAX_ENTRIES ||
        container_device(out, path) != NULL)
        return;
    struct device_entry *device = container_add_device(out, file, 0, path, path);
    device->by_manager = by_manager;
    device->denies_write = strchr(permissions, 'w') == NULL;
}

/* "/dev/nvidia-uvm:/dev/nvidia-uvm:ro": a bind brings the node and no rule. */
static void take_bind(const char *file, const char *bind, struct container *out) {
    char *source = mem_copy_bytes(bind, strcspn(bind, ":"));
    take_node(file, source, "rwm", false, out);
    free(source);
}

/* --gpus, or --runtime nvidia: NVIDIA's hook looks nodes and numbers up at each start. */
static bool has_hook(const js *config) {
    const js *requests = js_get(config, "DeviceRequests");
    return js_length(requests) > 0 || strcmp(js_get_string(config, "Runtime", ""), "nvidia") == 0;
}

static void take_lists(const char *file, const js *config, struct container *out) {
    const js *devices = js_get(config, "Devices"), *binds = js_get(config, "Binds");
    const js *mounts = js_get(config, "Mounts"), *rules = js_get(config, "DeviceCgroupRules");
    for (size_t i = 0; i < js_length(devices); i++)
        take_node(file, js_get_string(js_at(devices, i), "PathOnHost", ""),
                  js_get_string(js_at(devices, i), "CgroupPermissions", "rwm"), true, out);
    for (size_t i = 0; i < js_length(binds); i++)
        take_bind(file, js_string(js_at(binds, i), ""), out);
    for (size_t i = 0; i < js_length(mounts); i++)
        take_bind(file, js_get_string(js_at(mounts, i), "Source", ""), out);
    for (size_t i = 0; i < js_length(rules) && out->n_rules < MAX_ENTRIES; i++)
        container_fill_rule(
            container_add_rule(out, file, 0, "DeviceCgroupRules", js_string(js_at(rules, i), "")), true);
    if (js_get_bool(config, "Privileged", false))
        container_fill_rule(container_add_rule(out, file, 0, "Privileged", "a"), true);
}

void container_parse_docker(const char *file, const char *text, size_t length, struct container *out) {
    struct error err = {0};
    js *config = js_parse(text, length, &err);
    out->denies_first = true;
    if (config == NULL)
        out->problem = mem_copy_string(err.text);
    else
        take_lists(file, config, out);
    out->by_hook = has_hook(config);
    js_free(config);
}
