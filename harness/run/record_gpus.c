/* SPDX-License-Identifier: Apache-2.0 */
/* What the records of a run say of its GPUs ("gpu_state"), summed up as they are read. */
#include "base/mem.h"
#include "run/record_lines.h"

#include <stdlib.h>
#include <string.h>

static struct run_gpu *find_or_add(struct run *run, const char *uuid) {
    for (size_t i = 0; i < run->n_gpus; i++)
        if (strcmp(run->gpus[i].uuid, uuid) == 0)
            return &run->gpus[i];
    if (run->n_gpus >= RUN_MAX_GPUS || strlen(uuid) > 128)
        return NULL;
    run->gpus = mem_resize(run->gpus, run->n_gpus + 1, sizeof *run->gpus);
    struct run_gpu *gpu = &run->gpus[run->n_gpus++];
    *gpu = (struct run_gpu){.uuid = mem_copy_string(uuid)};
    return gpu;
}

static void add_count(struct run_count *sum, const js *from, const char *key) {
    static const int64_t most = INT64_C(1) << 40; /* a file may say anything: the sums must not overflow */
    int64_t count = js_get_int(from, key, -1);
    if (count < 0)
        return;
    sum->total += count < most ? count : most;
    sum->items++;
}

static void add_link(struct run_gpu *gpu, const js *link) {
    int64_t gen = js_get_int(link, "gen", 0);
    int64_t width = js_get_int(link, "width", 0);
    if (gen < 1 || gen > 16 || width < 1 || width > 32)
        return;
    if (gpu->link_gen == 0 || gen < gpu->link_gen)
        gpu->link_gen = (int)gen;
    if (gpu->link_width == 0 || width < gpu->link_width)
        gpu->link_width = (int)width;
}

/* A link that had not settled is no fact. */
static bool is_steady(const js *record) {
    const js *flags = js_get(record, "flags");
    for (size_t i = 0; i < js_length(flags); i++)
        if (strcmp(js_string(js_at(flags, i), ""), "not-steady") == 0)
            return false;
    return true;
}

void run_gpus_take(struct run *run, const js *record) {
    bool steady = is_steady(record);
    const js *state = js_get(record, "gpu_state");
    for (struct js_member m = js_first(state); m.key != NULL; m = js_next(state, m)) {
        struct run_gpu *gpu = find_or_add(run, m.key);
        if (gpu == NULL)
            return;
        const js *aer = js_get(m.value, "aer");
        const js *throttled = js_get(m.value, "throttled_us");
        add_count(&gpu->replays, m.value, "replays");
        add_count(&gpu->correctable, aer, "correctable");
        add_count(&gpu->nonfatal, aer, "nonfatal");
        add_count(&gpu->fatal, aer, "fatal");
        add_count(&gpu->heat_us, throttled, "sw_thermal");
        add_count(&gpu->heat_us, throttled, "hw_thermal");
        add_count(&gpu->brake_us, throttled, "hw_power_brake");
        if (steady)
            add_link(gpu, js_get(m.value, "link"));
    }
}

void run_gpus_free(struct run *run) {
    for (size_t i = 0; i < run->n_gpus; i++)
        free(run->gpus[i].uuid);
    free(run->gpus);
    run->gpus = NULL;
    run->n_gpus = 0;
}

const struct run_gpu *run_find_gpu(const struct run *run, const char *uuid) {
    for (size_t i = 0; i < run->n_gpus; i++)
        if (strcmp(run->gpus[i].uuid, uuid) == 0)
            return &run->gpus[i];
    return NULL;
}
