/* SPDX-License-Identifier: Apache-2.0 */
#include "system/gpus.h"

#include "base/mem.h"
#include "base/text.h"
#include "system/facts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GPUS = 64 };

static void take_text(const js *gpu, const char *key, char *out, size_t size) {
    char *clean = text_printable(js_get_string(gpu, key, ""));
    snprintf(out, size, "%s", clean);
    free(clean);
}

static int take_int(const js *object, const char *key) {
    int64_t value = js_get_int(object, key, -1);
    return value < 0 || value > 1000000000 ? -1 : (int)value;
}

static void take_gpu(const js *gpu, struct gpu_info *out, int position) {
    *out = (struct gpu_info){.index = take_int(gpu, "index"), .cc_major = -1, .cc_minor = -1};
    if (out->index < 0)
        out->index = position;
    take_text(gpu, "uuid", out->uuid, sizeof out->uuid);
    take_text(gpu, "bdf", out->bdf, sizeof out->bdf);
    take_text(gpu, "name", out->name, sizeof out->name);
    take_text(gpu, "driver", out->driver, sizeof out->driver);
    for (char *c = out->bdf; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    if (sscanf(js_get_string(gpu, "cc", ""), "%3d.%3d", &out->cc_major, &out->cc_minor) != 2)
        out->cc_major = out->cc_minor = -1;
    out->memory_mib = js_get_int(gpu, "memory_mib", -1);
    out->bar1_mib = js_get_int(gpu, "bar1_mib", -1);
    out->memory_bus_bits = take_int(gpu, "memory_bus_bits");
    out->mem_clock_max_mhz = take_int(js_get(gpu, "clocks_mhz"), "mem_max");
    out->sm_clock_max_mhz = take_int(js_get(gpu, "clocks_mhz"), "sm_max");
    out->pcie_gen_max = take_int(js_get(gpu, "pcie"), "gen_max");
    out->pcie_width_max = take_int(js_get(gpu, "pcie"), "width_max");
    out->mig = js_get_bool(gpu, "mig", false);
    take_text(gpu, "unusable", out->unusable, sizeof out->unusable);
    if (out->uuid[0] == '\0' && out->unusable[0] == '\0')
        snprintf(out->unusable, sizeof out->unusable, "the driver does not give its UUID");
}

void gpu_list_from_json(const js *array, struct gpu_list *out) {
    *out = (struct gpu_list){0};
    size_t count = js_length(array) < MAX_GPUS ? js_length(array) : MAX_GPUS;
    if (js_is_array(array))
        out->raw = js_copy(array);
    out->items = mem_zeroed(count, sizeof *out->items);
    for (size_t i = 0; i < count; i++)
        if (js_is_object(js_at(array, i)))
            take_gpu(js_at(array, i), &out->items[out->count++], (int)i);
    if (out->count == 0)
        snprintf(out->reason, sizeof out->reason, "no NVIDIA GPU was found");
}

void gpu_list_free(struct gpu_list *list) {
    free(list->items);
    js_free(list->raw);
    *list = (struct gpu_list){0};
}

static void put(js *to, const char *uuid, const char *key, js *value) {
    char name[160];
    if (value == NULL || js_is_null(value))
        return;
    snprintf(name, sizeof name, "gpu.%s.%s", uuid, key);
    js_set(to, name, js_copy(value));
}

/* NVML locks clocks (nvmlDeviceSetGpuLockedClocks) but has no call that reads the lock back: nobody shall
 * take the key's absence for "not locked". */
static void put_unknown(js *to, const char *uuid, const char *key) {
    char name[160];
    snprintf(name, sizeof name, "gpu.%s.%s", uuid, key);
    js_set_string(to, name, FACT_UNKNOWN);
}

void gpu_list_environment(const struct gpu_list *list, js *stable, js *moving) {
    for (size_t i = 0; i < js_length(list->raw); i++) {
        const js *gpu = js_at(list->raw, i);
        char uuid[80];
        take_text(gpu, "uuid", uuid, sizeof uuid);
        if (uuid[0] == '\0')
            continue;
        put(stable, uuid, "name", js_get(gpu, "name"));
        put(stable, uuid, "driver", js_get(gpu, "driver"));
        put(stable, uuid, "vbios", js_get(gpu, "vbios"));
        put(stable, uuid, "power_limit_w", js_get(js_get(gpu, "power_w"), "limit"));
        put(stable, uuid, "ecc", js_get(js_get(gpu, "ecc"), "enabled"));
        put(stable, uuid, "persistence", js_get(gpu, "persistence"));
        put_unknown(stable, uuid, "locked_clocks");
        put(stable, uuid, "locked_clocks", js_get(gpu, "locked_clocks"));
        put(stable, uuid, "bar1_mib", js_get(gpu, "bar1_mib"));
        put(stable, uuid, "mig", js_get(gpu, "mig"));
        put(moving, uuid, "temperature_c", js_get(gpu, "temperature_c"));
        put(moving, uuid, "pstate", js_get(gpu, "pstate"));
        put(moving, uuid, "power_draw_w", js_get(js_get(gpu, "power_w"), "draw"));
        put(moving, uuid, "sm_mhz", js_get(js_get(gpu, "clocks_mhz"), "sm"));
        put(moving, uuid, "pcie_gen", js_get(js_get(gpu, "pcie"), "gen"));
    }
}
