/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, limits, variables. */
#include "base/mem.h"
#include "system/facts_read.h"
#include "system/look.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MAX_NODES = 1024 };

/* ---- memory ---- */

/* "MemTotal:  263856 kB" → MiB. */
static struct fact_number meminfo(const char *text, const char *name) {
    char *value = text == NULL ? NULL : look_field(text, name);
    long long kib = 0;
    struct fact_number out = {0};
    if (value != NULL && sscanf(value, "%lld", &kib) == 1)
        out = (struct fact_number){.known = true, .value = kib / 1024};
    free(value);
    return out;
}

static void read_node(const struct source *source, int index, struct memory_facts *out) {
    struct text path = {0};
    struct text text = {0};
    char name[48];
    out->nodes = mem_resize(out->nodes, out->n_nodes + 1, sizeof *out->nodes);
    struct numa_node_facts *node = &out->nodes[out->n_nodes++];
    *node = (struct numa_node_facts){.os_index = index};
    node->cpus = look_fact(source, "/sys/devices/system/node/node%d/cpulist", index);
    text_addf(&path, "/sys/devices/system/node/node%d/meminfo", index);
    snprintf(name, sizeof name, "Node %d MemTotal", index);
    if (look_bytes(source, path.data, LOOK_SMALL, &text))
        node->memory_mib = meminfo(text_string(&text), name);
    text_free(&text);
    text_free(&path);
}

static void read_shm(const struct source *source, struct memory_facts *out) {
    struct statvfs fs;
    const js *probed = js_get(source->probes, "statfs"); /* live too, where it was asked in a child */
    int64_t bytes = js_get_int(probed, "/dev/shm", -1);
    if (source->live && probed == NULL && statvfs("/dev/shm", &fs) == 0)
        bytes = (int64_t)(fs.f_blocks * fs.f_frsize);
    if (bytes >= 0)
        out->shm_mib = (struct fact_number){.known = true, .value = bytes >> 20};
}

void read_memory(const struct source *source, struct memory_facts *out) {
    struct strings names = {0};
    struct text text = {0};
    if (look_list(source, "/sys/devices/system/node", &names))
        for (size_t i = 0; i < names.count && out->n_nodes < MAX_NODES; i++) {
            int64_t index = 0;
            if (text_starts(names.items[i], "node") && text_to_int(names.items[i] + 4, &index) &&
                index >= 0 && index < 65536)
                read_node(source, (int)index, out);
        }
    if (look_bytes(source, "/proc/meminfo", LOOK_LARGE, &text)) {
        out->total_mib = meminfo(text_string(&text), "MemTotal");
        out->available_mib = meminfo(text_string(&text), "MemAvailable");
    }
    read_shm(source, out);
    text_free(&text);
    strings_free(&names);
}

/* ---- limits, variables ---- */

static struct fact limit_text(int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    return fact_text(value < 0 ? "unlimited" : text);
}

static struct fact read_limit(const struct source *source, __rlimit_resource_t which, const char *name) {
    struct rlimit limit;
    const js *probed = js_get(js_get(source->probes, "rlimits"), name);
    if (!source->live)
        return js_is_number(probed) ? limit_text(js_int(probed, -1)) : (struct fact){0};
    if (getrlimit(which, &limit) != 0)
        return (struct fact){0};
    return limit_text(limit.rlim_cur == RLIM_INFINITY ? -1 : (int64_t)limit.rlim_cur);
}

void read_limits(const struct source *source, struct limit_facts *out) {
    out->nofile = read_limit(source, RLIMIT_NOFILE, "nofile");
    out->memlock = read_limit(source, RLIMIT_MEMLOCK, "memlock");
    out->address_space = read_limit(source, RLIMIT_AS, "as");
}

/* By allow-list: variables may hold secrets. */
static bool is_allowed(const char *name) {
    static const char *const prefixes[] = {"CUDA_", "NCCL_", "NVIDIA_VISIBLE_DEVICES",
                                           "NVIDIA_DRIVER_CAPABILITIES", "LD_LIBRARY_PATH"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (text_starts(name, prefixes[i]))
            return true;
    return false;
}

void read_variables(const struct source *source, struct settings *out) {
    const js *probed = source->live ? NULL : js_get(source->probes, "env");
    for (struct js_member m = js_first(probed); m.key != NULL; m = js_next(probed, m))
        if (is_allowed(m.key))
            settings_add(out, m.key, fact_text(js_string(m.value, "")));
    for (char **e = environ; source->live && *e != NULL; e++) {
        const char *equals = strchr(*e, '=');
        if (equals == NULL || !is_allowed(*e))
            continue;
        char *name = mem_copy_bytes(*e, (size_t)(equals - *e));
        settings_add(out, name, fact_text(equals + 1));
        free(name);
    }
}
