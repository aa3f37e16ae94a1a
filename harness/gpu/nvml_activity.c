/* SPDX-License-Identifier: Apache-2.0 */
/* What moves: who uses the GPUs now, and the counters around an item. */
#include "gpu/nvml.h"

#include "base/mem.h"
#include "gpu/nvml_library.h"

#include <stdlib.h>
#include <string.h>

enum { USUAL_PROCESSES = 64, MAX_PROCESSES = 4096 };

static js *process_json(const struct nvml_process *process) {
    js *out = js_new_object();
    js_set_int(out, "pid", process->pid);
    bool known = process->used_memory != ~0ULL;
    js_set(out, "used_mib", known ? js_new_int((int64_t)(process->used_memory >> 20)) : js_new_null());
    return out;
}

/* Null when NVML does not say (as in some containers). */
static js *processes(const struct nvml *nvml, nvml_device device) {
    if (nvml->processes == NULL)
        return js_new_null();
    unsigned room = USUAL_PROCESSES, count = room;
    struct nvml_process *list = mem_zeroed(room, sizeof *list);
    int status = nvml->processes(device, &count, list);
    if (status == NVML_INSUFFICIENT_SIZE && count < MAX_PROCESSES) {
        room = count + USUAL_PROCESSES; /* some may start in between */
        list = mem_resize(list, room, sizeof *list);
        count = room;
        status = nvml->processes(device, &count, list);
    }
    js *out = status == NVML_OK ? js_new_array() : js_new_null();
    for (unsigned i = 0; status == NVML_OK && i < count && i < room; i++)
        js_append(out, process_json(&list[i]));
    free(list);
    return out;
}

static js *device_activity(const struct nvml *nvml, nvml_device device) {
    struct nvml_utilization utilization = {0};
    struct nvml_memory memory = {0};
    bool busy_known = nvml->utilization != NULL && nvml->utilization(device, &utilization) == NVML_OK;
    bool memory_known = nvml->memory != NULL && nvml->memory(device, &memory) == NVML_OK;
    js *out = js_new_object();
    js_set(out, "uuid", nvml_text(nvml->uuid, device));
    js_set(out, "utilization_percent", busy_known ? js_new_int(utilization.gpu) : js_new_null());
    js_set(out, "memory_used_mib", memory_known ? js_new_int((int64_t)(memory.used >> 20)) : js_new_null());
    js_set(out, "processes", processes(nvml, device));
    return out;
}

js *nvml_activity(struct nvml *nvml, struct error *err) {
    unsigned count = 0;
    if (!nvml_count(nvml, &count, err)) {
        RELAY(err);
        return NULL;
    }
    js *out = js_new_array();
    for (unsigned i = 0; i < count; i++) {
        nvml_device device = NULL;
        if (nvml->by_index(i, &device) == NVML_OK)
            js_append(out, device_activity(nvml, device));
    }
    return out;
}

/* NULL: no such GPU here, or NVML cannot say. */
static nvml_device find_device(struct nvml *nvml, const char *uuid) {
    nvml_device device = NULL;
    for (size_t i = 0; i < nvml->n_kept; i++)
        if (strcmp(nvml->kept[i].uuid, uuid) == 0)
            return nvml->kept[i].device;
    if (nvml->by_uuid == NULL || strlen(uuid) >= NVML_UUID_SIZE || nvml->by_uuid(uuid, &device) != NVML_OK)
        return NULL;
    if (nvml->n_kept < NVML_KEPT_HANDLES) {
        strcpy(nvml->kept[nvml->n_kept].uuid, uuid);
        nvml->kept[nvml->n_kept++].device = device;
    }
    return device;
}

js *nvml_counters(struct nvml *nvml, const char *uuid, unsigned parts) {
    /* Without a device every function is asked as if it were absent, so that all keys are there, null. */
    static const struct nvml nothing = {0};
    nvml_device device = find_device(nvml, uuid);
    const struct nvml *from = device != NULL ? nvml : &nothing;
    int64_t replays = -1;
    js *out = js_new_object();
    js_set(out, "throttled_us", nvml_throttle_us(from, device, &replays));
    js_set(out, "replays", replays >= 0 ? js_new_int(replays) : nvml_uint(from->replays, device));
    if ((parts & NVML_STATE) != 0) {
        js_set(out, "temperature_c", nvml_temperature(from, device));
        js_set(out, "power_w", nvml_power_w(from->power, device));
        js_set(out, "pstate", nvml_pstate(from, device));
    }
    if ((parts & NVML_LINK) != 0) {
        js_set(out, "pcie_gen", nvml_uint(from->link_gen, device));
        js_set(out, "pcie_width", nvml_uint(from->link_width, device));
    }
    return out;
}
