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

bool gpu_bdf(const char *said, char out[16]) {
#define HEX "[0-9a-fA-F]"
    size_t domain = strspn(said, "0123456789abcdefABCDEF");
    const char *at = domain == 8 && strncmp(said, "0000", 4) == 0 ? said + 4 : said;
    out[0] = '\0';
    if (domain < 4 || strlen(at) > 15 || !text_matches(":" HEX HEX ":" HEX HEX ".[0-7]", said + domain))
        return false;
    for (size_t i = 0; i <= strlen(at); i++)
        out[i] = (char)tolower((unsigned char)at[i]);
    return true;
#undef HEX
}

static void take_gpu(const js *gpu, struct gpu_info *out, int position) {
    *out = (struct gpu_info){.index = take_int(gpu, "index"), .cc_major = -1, .cc_minor = -1};
    if (out->index < 0)
        out->index = position;
    take_text(gpu, "uuid", out->uuid, sizeof out->uuid);
    gpu_bdf(js_get_string(gpu, "bdf", ""), out->bdf);
    take_text(gpu, "name", out->name, sizeof out->name);
    take_text(gpu, "driver", out->driver, sizeof out->driver);
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
    js_free(list->p2p);
    js_free(list->nvlink);
    *list = (struct gpu_list){0};
}

/* ---- pairs ---- */

enum { MAX_NVLINKS = 64 };

void gpu_list_set_pairs(struct gpu_list *list, const js *p2p, const js *nvlink) {
    js_free(list->p2p);
    js_free(list->nvlink);
    list->p2p = js_is_array(p2p) ? js_copy(p2p) : NULL;
    list->nvlink = js_is_array(nvlink) ? js_copy(nvlink) : NULL;
}

const char *gpu_list_p2p(const struct gpu_list *list, int from, int to) {
    static const char *const words[] = {"OK", "CNS", "GNS", "TNS", "DR", "NS"};
    if (from < 0 || to < 0 || from == to)
        return "";
    const char *said = js_string(js_at(js_at(list->p2p, (size_t)from), (size_t)to), "");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(said, words[i]) == 0)
            return words[i];
    return "";
}

const char *gpu_p2p_meaning(const char *word) {
    static const char *const meanings[][2] = {
        {"CNS", "chipset not supported"},  {"GNS", "GPU not supported"},
        {"TNS", "topology not supported"}, {"DR", "disabled by a registry key of the module"},
        {"NS", "not supported"},
    };
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strcmp(word, meanings[i][0]) == 0)
            return meanings[i][1];
    return "";
}

bool gpu_is_busy_alone(const js *gpu) {
    const js *processes = js_get(gpu, "processes");
    return js_get_int(gpu, "utilization_percent", -1) >= 99 && js_is_array(processes) &&
           js_length(processes) == 0;
}

int gpu_list_nvlinks(const struct gpu_list *list, int from, int to) {
    if (list->nvlink == NULL || from < 0 || to < 0 || from == to)
        return -1;
    for (size_t i = 0; i < js_length(list->nvlink); i++) {
        const js *one = js_at(list->nvlink, i);
        if (js_get_int(one, "from", -1) != from || js_get_int(one, "to", -1) != to)
            continue;
        int64_t links = js_get_int(one, "links", -1);
        return links < 0 || links > MAX_NVLINKS ? -1 : (int)links;
    }
    return 0;
}

/* One word where all are the same, else each with how often: "OK:6,CNS:1". */
static void put_counted(js *to, const char *key, const struct strings *words) {
    struct text text = {0};
    struct strings seen = {0};
    for (size_t i = 0; i < words->count; i++) {
        size_t n = 0;
        if (strings_contain(&seen, words->items[i]))
            continue;
        strings_add(&seen, words->items[i]);
        for (size_t k = 0; k < words->count; k++)
            n += strcmp(words->items[k], words->items[i]) == 0;
        if (n == words->count)
            text_add(&text, words->items[i]);
        else
            text_addf(&text, "%s%s:%zu", text.length > 0 ? "," : "", words->items[i], n);
    }
    if (words->count > 0)
        js_set_string(to, key, text_string(&text));
    strings_free(&seen);
    text_free(&text);
}

static void put_pairs(const struct gpu_list *list, const struct gpu_info *gpu, js *to) {
    struct strings status = {0}, links = {0};
    char key[96], number[16];
    for (size_t i = 0; i < list->count && gpu->uuid[0] != '\0'; i++) {
        const struct gpu_info *other = &list->items[i];
        if (other->index == gpu->index)
            continue;
        const char *word = gpu_list_p2p(list, gpu->index, other->index);
        int n = gpu_list_nvlinks(list, gpu->index, other->index);
        snprintf(number, sizeof number, "%d", n);
        if (list->p2p != NULL)
            strings_add(&status, word[0] == '\0' ? FACT_UNKNOWN : word);
        if (list->nvlink != NULL)
            strings_add(&links, n < 0 ? FACT_UNKNOWN : number);
    }
    snprintf(key, sizeof key, "p2p.%s", gpu->uuid);
    put_counted(to, key, &status);
    snprintf(key, sizeof key, "nvlinks.%s", gpu->uuid);
    put_counted(to, key, &links);
    strings_free(&status);
    strings_free(&links);
}

/* ---- environment ---- */

static void put(js *to, const char *uuid, const char *key, js *value) {
    char name[160];
    if (value == NULL || js_is_null(value))
        return;
    snprintf(name, sizeof name, "gpu.%s.%s", uuid, key);
    js_set(to, name, js_copy(value));
}

void gpu_list_environment(const struct gpu_list *list, js *stable, js *moving) {
    for (size_t i = 0; i < list->count; i++)
        put_pairs(list, &list->items[i], stable);
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
        put(stable, uuid, "bar1_mib", js_get(gpu, "bar1_mib"));
        put(stable, uuid, "mig", js_get(gpu, "mig"));
        put(moving, uuid, "temperature_c", js_get(gpu, "temperature_c"));
        put(moving, uuid, "pstate", js_get(gpu, "pstate"));
        put(moving, uuid, "power_draw_w", js_get(js_get(gpu, "power_w"), "draw"));
        put(moving, uuid, "sm_mhz", js_get(js_get(gpu, "clocks_mhz"), "sm"));
        put(moving, uuid, "pcie_gen", js_get(js_get(gpu, "pcie"), "gen"));
    }
}
