/* SPDX-License-Identifier: Apache-2.0 */
/* CDI specifications (cdiVersion 0.3 to 0.8), YAML or JSON: the nodes and libraries that go into a container.
 */
#include "base/mem.h"
#include "base/yaml.h"
#include "system/containers_parts.h"

enum { MAX_ENTRIES = 4096 };

static void take_edits(const char *file, const js *edits, struct container *out) {
    const js *nodes = js_get(edits, "deviceNodes");
    const js *mounts = js_get(edits, "mounts");
    for (size_t i = 0; i < js_length(nodes) && out->n_devices < MAX_ENTRIES; i++) {
        const js *node = js_at(nodes, i);
        const char *path = js_get_string(node, "path", NULL);
        const char *host = js_get_string(node, "hostPath", path);
        if (host == NULL || container_device(out, host) != NULL)
            continue;
        struct device_entry *device = container_add_device(out, file, 0, path == NULL ? host : path, host);
        int64_t major = js_get_int(node, "major", -1);
        int64_t minor = js_get_int(node, "minor", -1);
        device->by_manager = true;
        device->major = major >= 0 && major <= 0xfffff ? (int)major : -1;
        device->minor = minor >= 0 && minor <= 0xfffff ? (int)minor : -1;
    }
    for (size_t i = 0; i < js_length(mounts) && out->n_mounts < MAX_ENTRIES; i++) {
        const char *host = js_get_string(js_at(mounts, i), "hostPath", NULL);
        if (host == NULL)
            continue;
        out->mounts = mem_grow(out->mounts, out->n_mounts, &out->mounts_capacity, sizeof *out->mounts);
        out->mounts[out->n_mounts++].host_path = mem_copy_string(host);
    }
}

void container_parse_cdi(const char *file, const char *text, size_t length, struct container *out) {
    struct error err = {0};
    js *spec = text_ends(file, ".json") ? js_parse(text, length, &err) : yaml_parse(text, length, &err);
    if (spec == NULL) {
        out->problem = mem_copy_string(err.text);
        return;
    }
    const js *devices = js_get(spec, "devices");
    const char *kind = js_get_string(spec, "kind", NULL);
    out->cdi_kind = kind == NULL ? NULL : mem_copy_string(kind);
    take_edits(file, js_get(spec, "containerEdits"), out);
    for (size_t i = 0; i < js_length(devices); i++) {
        const char *name = js_get_string(js_at(devices, i), "name", NULL);
        if (name != NULL && i < MAX_ENTRIES)
            strings_add(&out->cdi_names, name);
        take_edits(file, js_get(js_at(devices, i), "containerEdits"), out);
    }
    js_free(spec);
}
