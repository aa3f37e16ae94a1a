/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/scene.h"

#include "base/mem.h"
#include "doctor/access.h"

#include <stdlib.h>
#include <string.h>

/* Live, facts say in which container this process is; a capture says it in its manifest. */
static bool is_container(const struct source *source, const struct facts *facts) {
    if (source->where != NULL)
        return strcmp(source->where, "container") == 0;
    const char *container = facts->kernel.container.value;
    return container != NULL && strcmp(container, "none") != 0;
}

void scene_make(const struct source *source, const struct facts *facts, const struct device_nodes *nodes,
                const js *baseline, struct scene *out) {
    *out = (struct scene){.source = source, .facts = facts, .nodes = nodes, .baseline = baseline};
    out->probes = source->probes;
    out->container = is_container(source, facts);
    const char *container = facts->kernel.container.value;
    out->manager = source->manager != NULL ? source->manager : container != NULL ? container : "";
    containers_read(source, &out->containers);
    driver_state_read(source, &out->driver);
    kernel_log_read(source, &out->log);
    out->access = mem_zeroed(1, sizeof(struct access *));
}

void scene_free(struct scene *scene) {
    access_forget(scene);
    free(scene->access);
    scene->access = NULL;
    containers_free(&scene->containers);
    driver_state_free(&scene->driver);
    kernel_log_free(&scene->log);
}

enum probe_state scene_probe(const struct scene *scene, const char *name, int *code) {
    const js *probe = js_get(scene->probes, name);
    *code = -1;
    if (!js_is_object(probe))
        return PROBE_UNKNOWN;
    if (js_get_bool(probe, "timeout", false))
        return PROBE_TIMEOUT;
    if (js_get_int(probe, "signal", 0) > 0)
        return PROBE_DIED;
    int64_t value = js_get_int(probe, "code", -1);
    if (value < 0 || value > 1000000)
        return PROBE_UNKNOWN;
    *code = (int)value;
    return PROBE_ANSWERED;
}
