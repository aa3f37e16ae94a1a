/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, modules, device majors, libraries, cgroup, limits, variables. */
#include "base/files.h"
#include "base/hash.h"
#include "base/mem.h"
#include "system/facts_read.h"
#include "system/look.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

extern char **environ;

enum { MAX_NODES = 1024, LIBRARY_LIMIT = 1 << 30 };

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
    int64_t bytes = js_get_int(js_get(source->probes, "statfs"), "/dev/shm", -1);
    if (source->live && statvfs("/dev/shm", &fs) == 0)
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

/* ---- modules and device majors ---- */

void read_modules(const struct source *source, struct facts *out) {
    static const char *const wanted[] = {"nvidia",         "nvidia_uvm", "nvidia_modeset", "nvidia_drm",
                                         "nvidia_peermem", "vfio_pci",   "nouveau"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct text path = {0};
        struct strings parameters = {0};
        text_addf(&path, "/sys/module/%s", wanted[i]);
        if (look_exists(source, path.data)) {
            out->modules = mem_resize(out->modules, out->n_modules + 1, sizeof *out->modules);
            struct module_facts *m = &out->modules[out->n_modules++];
            *m = (struct module_facts){.name = mem_copy_string(wanted[i])};
            m->version = look_fact(source, "/sys/module/%s/version", wanted[i]);
            text_add(&path, "/parameters");
            if (look_list(source, path.data, &parameters))
                for (size_t p = 0; p < parameters.count; p++)
                    settings_add(&m->parameters, parameters.items[p],
                                 look_fact(source, "%s/%s", path.data, parameters.items[p]));
        }
        strings_free(&parameters);
        text_free(&path);
    }
}

/* Lines "195 nvidia" of the character devices. */
void read_chrdevs(const struct source *source, struct facts *out) {
    struct text text = {0};
    struct strings lines = {0};
    if (look_bytes(source, "/proc/devices", LOOK_LARGE, &text))
        strings_split(&lines, text_string(&text), '\n');
    for (size_t i = 0; i < lines.count && strcmp(lines.items[i], "Block devices:") != 0; i++) {
        int major = -1;
        char name[65];
        if (sscanf(lines.items[i], " %6d %64s", &major, name) != 2 || !text_starts(name, "nvidia"))
            continue;
        out->chrdevs = mem_resize(out->chrdevs, out->n_chrdevs + 1, sizeof *out->chrdevs);
        out->chrdevs[out->n_chrdevs++] = (struct chrdev){text_printable(name), major};
    }
    strings_free(&lines);
    text_free(&text);
}

/* ---- libraries ---- */

static const struct {
    const char *name, *file;
} libraries[N_LIBRARIES] = {
    {"cuda", "libcuda.so.1"},          {"nvml", "libnvidia-ml.so.1"},       {"nccl", "libnccl.so.2"},
    {"cublasLt", "libcublasLt.so.13"}, {"cublasLt12", "libcublasLt.so.12"},
};

/* Where the loader looks: LD_LIBRARY_PATH, the folders of ld.so.conf.d, the usual ones. */
static void library_folders(const struct source *source, struct strings *out) {
    static const char *const usual[] = {"/usr/local/nvidia/lib64",
                                        "/lib/x86_64-linux-gnu",
                                        "/usr/lib/x86_64-linux-gnu",
                                        "/lib64",
                                        "/usr/lib64",
                                        "/lib",
                                        "/usr/lib",
                                        "/usr/local/cuda/lib64"};
    const char *path = source->live ? getenv("LD_LIBRARY_PATH") : NULL;
    struct strings files = {0};
    if (path != NULL)
        strings_split(out, path, ':');
    if (look_list(source, "/etc/ld.so.conf.d", &files))
        for (size_t i = 0; i < files.count && i < 256; i++) {
            struct text name = {0};
            struct text text = {0};
            struct strings lines = {0};
            text_addf(&name, "/etc/ld.so.conf.d/%s", files.items[i]);
            if (look_bytes(source, name.data, LOOK_SMALL, &text))
                strings_split(&lines, text_string(&text), '\n');
            for (size_t l = 0; l < lines.count && l < 64; l++)
                if (text_trim(lines.items[l])[0] == '/')
                    strings_add(out, text_trim(lines.items[l]));
            strings_free(&lines);
            text_free(&text);
            text_free(&name);
        }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        strings_add(out, usual[i]);
    strings_free(&files);
}

/* "libcuda.so.580.159.04" → "580.159.04" */
static struct fact library_version(const char *path) {
    const char *version = strstr(path, ".so.");
    return version == NULL ? (struct fact){0} : fact_text(version + 4);
}

static void hash_library(const char *path, struct library_facts *out) {
    struct text content = {0};
    struct error err = {0};
    char hex[SHA256_HEX_SIZE];
    if (file_read(path, LIBRARY_LIMIT, &content, &err)) {
        sha256_hex(text_string(&content), content.length, hex);
        out->sha256 = fact_text(hex);
    }
    text_free(&content);
}

void read_libraries(const struct source *source, struct library_facts out[N_LIBRARIES]) {
    struct strings folders = {0};
    library_folders(source, &folders);
    for (size_t i = 0; i < N_LIBRARIES; i++) {
        out[i] = (struct library_facts){.name = libraries[i].name};
        const char *probed = js_get_string(js_get(source->probes, "libs"), libraries[i].file, NULL);
        if (probed != NULL)
            out[i].path = fact_text(probed);
        for (size_t f = 0; f < folders.count && out[i].path.value == NULL && source->live; f++) {
            char *whole = path_join(folders.items[f], libraries[i].file);
            char *real = realpath(whole, NULL);
            if (real != NULL)
                out[i].path = fact_text(real);
            free(real);
            free(whole);
        }
        if (out[i].path.value == NULL)
            continue;
        out[i].version = library_version(out[i].path.value);
        if (source->live && source->hash_libraries)
            hash_library(out[i].path.value, &out[i]);
    }
    strings_free(&folders);
}

/* ---- cgroup, limits, variables ---- */

/* The caller's path in the hierarchy of a v1 controller, or in v2 (NULL). Release with free. */
static char *group_of(const struct source *source, const char *controller) {
    struct text text = {0};
    struct strings lines = {0};
    char *found = NULL;
    if (look_bytes(source, "/proc/self/cgroup", LOOK_LARGE, &text))
        strings_split(&lines, text_string(&text), '\n');
    for (size_t i = 0; i < lines.count && found == NULL; i++) {
        char *list = strchr(lines.items[i], ':');
        char *path = list == NULL ? NULL : strchr(list + 1, ':');
        if (path == NULL)
            continue;
        *path = '\0';
        struct strings names = {0};
        strings_split(&names, list + 1, ',');
        if (controller == NULL ? list[1] == '\0' : strings_contain(&names, controller))
            found = mem_copy_string(path + 1);
        strings_free(&names);
    }
    strings_free(&lines);
    text_free(&text);
    return found;
}

static struct fact v1_quota(const struct source *source) {
    char *group = group_of(source, "cpu");
    struct fact out = {0};
    if (group == NULL)
        return out;
    struct fact_number quota = look_number(source, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", group);
    struct fact_number period = look_number(source, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", group);
    char both[64];
    if (quota.known && quota.value < 0)
        out = fact_text("max");
    else if (quota.known && period.known) {
        snprintf(both, sizeof both, "%" PRId64 " %" PRId64, quota.value, period.value);
        out = fact_text(both);
    }
    free(group);
    return out;
}

void read_cgroup(const struct source *source, struct cgroup_facts *out) {
    char *v2 = group_of(source, NULL);
    char *cpuset = group_of(source, "cpuset");
    struct text status = {0};
    out->cpu_max = v1_quota(source);
    if (out->cpu_max.value == NULL && v2 != NULL)
        out->cpu_max = look_fact(source, "/sys/fs/cgroup%s/cpu.max", v2);
    if (cpuset != NULL)
        out->cpuset = look_fact(source, "/sys/fs/cgroup/cpuset%s/cpuset.effective_cpus", cpuset);
    if (out->cpuset.value == NULL && v2 != NULL)
        out->cpuset = look_fact(source, "/sys/fs/cgroup%s/cpuset.cpus.effective", v2);
    if (out->cpuset.value == NULL && look_bytes(source, "/proc/self/status", LOOK_LARGE, &status)) {
        char *allowed = look_field(text_string(&status), "Cpus_allowed_list");
        out->cpuset = fact_text(allowed);
        free(allowed);
    }
    text_free(&status);
    free(cpuset);
    free(v2);
}

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
    const js *probed = js_get(source->probes, "env");
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
