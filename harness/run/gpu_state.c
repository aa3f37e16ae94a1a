/* SPDX-License-Identifier: Apache-2.0 */
#include "run/gpu_state.h"

#include "base/text.h"
#include "run/where.h"

#include <stddef.h>

js *gpu_state_uuids(const js *where) {
    js *out = js_new_array();
    struct strings uuids = {0};
    where_gpus(where, &uuids);
    for (size_t i = 0; i < uuids.count; i++)
        js_append_string(out, uuids.items[i]);
    strings_free(&uuids);
    return out;
}

/* Null unless both are numbers and the counter did not begin anew. */
static js *grown(const js *before, const js *after, const char *key) {
    int64_t x = js_get_int(before, key, -1);
    int64_t y = js_get_int(after, key, -1);
    return x >= 0 && y >= x ? js_new_int(y - x) : js_new_null();
}

static js *grown_times(const js *before, const js *after) {
    static const char *const causes[] = {"sw_power_cap", "sw_thermal", "hw_thermal", "hw_power_brake"};
    js *out = js_new_object();
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        js_set(out, causes[i], grown(before, after, causes[i]));
    return out;
}

static void set_errors(js *out, const js *before, const js *after) {
    static const char *const kinds[] = {"correctable", "nonfatal", "fatal"};
    js *sums = js_new_object();
    js *places = js_new_object();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int64_t sum = 0;
        bool known = false;
        for (struct js_member m = js_first(after); m.key != NULL; m = js_next(after, m)) {
            js *new = grown(js_get(before, m.key), m.value, kinds[i]);
            int64_t count = js_int(new, -1);
            js_free(new);
            known = known || count >= 0;
            sum += count > 0 ? count : 0;
            if (count <= 0)
                continue;
            if (js_get(places, m.key) == NULL)
                js_set(places, m.key, js_new_object());
            js_set_int(js_get(places, m.key), kinds[i], count);
        }
        js_set(sums, kinds[i], known ? js_new_int(sum) : js_new_null());
    }
    js_set(out, "aer", sums);
    if (js_length(places) > 0)
        js_set(out, "aer_at", places);
    else
        js_free(places);
}

js *gpu_state_between(const js *before, const js *after) {
    static const char *const now[] = {"pcie_gen", "pcie_width", "temperature_c", "power_w", "pstate"};
    if (after == NULL)
        return NULL;
    js *out = js_new_object();
    for (struct js_member m = js_first(after); m.key != NULL; m = js_next(after, m)) {
        const js *old = js_get(before, m.key);
        js *gpu = js_new_object();
        js_set(gpu, "replays", grown(old, m.value, "replays"));
        set_errors(gpu, js_get(old, "aer"), js_get(m.value, "aer"));
        js_set(gpu, "throttled_us",
               grown_times(js_get(old, "throttled_us"), js_get(m.value, "throttled_us")));
        for (size_t i = 0; i < sizeof now / sizeof *now; i++)
            js_set(gpu, now[i],
                   js_get(m.value, now[i]) == NULL ? js_new_null() : js_copy(js_get(m.value, now[i])));
        js_set(out, m.key, gpu);
    }
    return out;
}

js *gpu_state_add_links(js *state, const js *uuids, const js *links) {
    for (size_t i = 0; i < js_length(uuids); i++) {
        const char *uuid = js_string(js_at(uuids, i), "");
        int64_t gen = js_get_int(js_get(links, uuid), "gen", 0);
        int64_t width = js_get_int(js_get(links, uuid), "width", 0);
        if (gen < 1 || gen > 16 || width < 1 || width > 32)
            continue;
        js *link = js_new_object();
        js_set_int(link, "gen", gen);
        js_set_int(link, "width", width);
        if (state == NULL)
            state = js_new_object();
        if (js_get(state, uuid) == NULL)
            js_set(state, uuid, js_new_object());
        js_set(js_get(state, uuid), "link", link);
    }
    return state;
}

bool gpu_state_throttled(const js *state) {
    static const char *const causes[] = {"sw_thermal", "hw_thermal", "hw_power_brake"};
    for (struct js_member m = js_first(state); m.key != NULL; m = js_next(state, m))
        for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
            if (js_get_int(js_get(m.value, "throttled_us"), causes[i], 0) > 0)
                return true;
    return false;
}
