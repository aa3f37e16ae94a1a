/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/driver_probe.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "gpu/nvml.h"
#include "gpu/nvml_library.h"
#include "gpu/own_dev.h"
#include "system/bounded.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void say(int fd, js *answer) {
    struct error err = {0};
    char *text = js_text(answer);
    fd_write_all(fd, text, strlen(text), &err);
    /* Whatever the library started goes with the process; ending it in order may hang as well. */
    _exit(0);
}

/* ---- NVML ---- */

enum { P2P_READ = 0, P2P_NVLINK = 2, MAX_LINKS = 18, MAX_PAIRS = 64 };

struct links {
    int (*p2p)(nvml_device, nvml_device, int, int *);
    int (*state)(nvml_device, unsigned, unsigned *);
    int (*remote)(nvml_device, unsigned, struct nvml_pci *);
};

static void find_symbol(void *library, const char *name, void *to) {
    void *function = dlsym(library, name);
    memcpy(to, &function, sizeof function);
}

/* The words of nvidia-smi topo -p2p. */
static const char *p2p_word(int status) {
    static const char *const words[] = {"OK", "CNS", "GNS", "TNS", "DR", "NS", "U"};
    return status >= 0 && status < (int)(sizeof words / sizeof *words) ? words[status] : "U";
}

static js *p2p_matrix(const struct links *links, const nvml_device *gpus, size_t count) {
    js *out = js_new_array();
    for (size_t i = 0; i < count; i++) {
        js *row = js_new_array();
        for (size_t k = 0; k < count; k++) {
            int status = 6;
            if (i != k && links->p2p(gpus[i], gpus[k], P2P_READ, &status) != NVML_OK)
                status = 6;
            js_append_string(row, i == k ? "X" : p2p_word(status));
        }
        js_append(out, row);
    }
    return out;
}

static bool is_same_device(const struct nvml_pci *a, const struct nvml_pci *b) {
    return a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

/* Links between two GPUs; through a switch every active link leads to every GPU. */
static int count_links(const struct nvml *nvml, const struct links *links, const nvml_device *gpus,
                       size_t count, size_t from, size_t to) {
    int direct = 0, active = 0, other = 0;
    for (unsigned link = 0; link < MAX_LINKS; link++) {
        struct nvml_pci far = {0}, pci = {0};
        unsigned up = 0;
        if (links->state(gpus[from], link, &up) != NVML_OK || up == 0)
            continue;
        active++;
        if (links->remote(gpus[from], link, &far) != NVML_OK)
            continue;
        bool is_gpu = false;
        for (size_t i = 0; i < count; i++)
            if (nvml->pci(gpus[i], &pci) == NVML_OK && is_same_device(&pci, &far)) {
                is_gpu = true;
                direct += i == to;
            }
        other += is_gpu;
    }
    int status = -1;
    bool reaches = links->p2p(gpus[from], gpus[to], P2P_NVLINK, &status) == NVML_OK && status == 0;
    return direct > 0 ? direct : other == 0 && reaches ? active : 0;
}

static js *nvlink_list(const struct nvml *nvml, const struct links *links, const nvml_device *gpus,
                       size_t count) {
    js *out = js_new_array();
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            int n = i == k ? 0 : count_links(nvml, links, gpus, count, i, k);
            if (n == 0)
                continue;
            js *one = js_new_object();
            js_set_int(one, "from", (int64_t)i);
            js_set_int(one, "to", (int64_t)k);
            js_set_int(one, "links", n);
            js_append(out, one);
        }
    return out;
}

/* In the order of "gpus"; nothing is set when a GPU of it cannot be had. */
static void add_pairs(const struct nvml *nvml, const js *list, js *out) {
    struct links links;
    nvml_device gpus[MAX_PAIRS];
    size_t count = js_length(list);
    find_symbol(nvml->library, "nvmlDeviceGetP2PStatus", &links.p2p);
    find_symbol(nvml->library, "nvmlDeviceGetNvLinkState", &links.state);
    find_symbol(nvml->library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", &links.remote);
    bool good = count >= 2 && count <= MAX_PAIRS && links.p2p != NULL && nvml->by_uuid != NULL;
    for (size_t i = 0; good && i < count; i++) {
        const char *uuid = js_get_string(js_at(list, i), "uuid", NULL);
        good = uuid != NULL && nvml->by_uuid(uuid, &gpus[i]) == NVML_OK;
    }
    if (!good)
        return;
    js_set(out, "p2p", p2p_matrix(&links, gpus, count));
    if (links.state != NULL && links.remote != NULL && nvml->pci != NULL)
        js_set(out, "nvlink", nvlink_list(nvml, &links, gpus, count));
}

static void ask_nvml(void *argument, int fd) {
    struct error err = {0};
    (void)argument;
    struct strings before = {0};
    own_dev_enter(&before);
    js *out = js_new_object();
    js *init = js_new_object();
    struct nvml *nvml = nvml_open(&err);
    js_set(out, "nvmlInit", init);
    if (nvml == NULL) {
        js_set(init, "code", err.native > 0 ? js_new_int(err.native) : js_new_null());
        if (err.native <= 0)
            js_set_bool(init, "absent", true);
        js_set_string(init, "reason", err.text);
        say(fd, out);
    }
    js_set_int(init, "code", 0);
    unsigned count = 0;
    if (nvml_count(nvml, &count, &err))
        js_set_int(init, "count", count);
    js *gpus = nvml_gpus(nvml, &err);
    if (gpus != NULL) {
        js_set(out, "gpus", gpus);
        add_pairs(nvml, gpus, out);
    }
    say(fd, out);
}

/* ---- cuInit ---- */

static void *find_libcuda(void) {
    static const char *const folders[] = {
        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
        "/usr/local/nvidia/lib64",   "/usr/lib/wsl/lib",           "/run/opengl-driver/lib"};
    const char *chosen = getenv("GPUVET_LIBCUDA");
    if (chosen != NULL && *chosen != '\0')
        return dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library == NULL && i < sizeof folders / sizeof *folders; i++) {
        struct text path = {0};
        text_addf(&path, "%s/libcuda.so.1", folders[i]);
        library = dlopen(text_string(&path), RTLD_NOW | RTLD_LOCAL);
        text_free(&path);
    }
    return library;
}

static void ask_cuda(void *argument, int fd) {
    int (*init)(unsigned) = NULL;
    int (*count)(int *) = NULL;
    int (*version)(int *) = NULL;
    int value = 0;
    (void)argument;
    struct strings before = {0};
    own_dev_enter(&before);
    js *out = js_new_object();
    js *answer = js_new_object();
    js_set(out, "cuInit", answer);
    void *library = find_libcuda();
    if (library != NULL) {
        find_symbol(library, "cuInit", &init);
        find_symbol(library, "cuDeviceGetCount", &count);
        find_symbol(library, "cuDriverGetVersion", &version);
    }
    if (init == NULL) {
        const char *why = library == NULL ? dlerror() : "it has no cuInit";
        js_set(answer, "code", js_new_null());
        js_set_bool(answer, "absent", true);
        js_set_string(answer, "reason", why == NULL ? "libcuda.so.1 is not found" : why);
        say(fd, out);
    }
    struct clock clock = clock_real();
    int64_t start = clock_now(&clock);
    int code = init(0);
    js_set_int(answer, "code", code);
    js_set_number(answer, "ms", (double)((clock_now(&clock) - start) / NS_PER_US) / 1e3);
    if (code == 0 && count != NULL && count(&value) == 0)
        js_set_int(out, "cuda_devices", value);
    if (version != NULL && version(&value) == 0)
        js_set_int(answer, "driver_version", value);
    js_set(out, "made_by_probe", own_dev_new(&before));
    say(fd, out);
}

/* ---- both ---- */

static void ask(js *probes, const char *name, void (*body)(void *, int), int64_t limit_ns) {
    struct text said = {0};
    struct error err = {0};
    struct bounded_end end = bounded_ask(body, NULL, limit_ns, limit_ns, &said);
    js *answer = end.how != BOUNDED_LATE && said.length > 0 ? js_parse(said.data, said.length, &err) : NULL;
    for (struct js_member m = js_first(answer); m.key != NULL; m = js_next(answer, m))
        js_set(probes, m.key, js_keep(m.value));
    if (answer == NULL && end.how != BOUNDED_NO_CHILD) {
        js *none = js_new_object();
        js_set(none, "code", js_new_null());
        if (end.how == BOUNDED_LATE)
            js_set_bool(none, "timeout", true);
        else
            js_set_int(none, "signal", end.how == BOUNDED_DIED ? end.signal : 0);
        js_set(probes, name, none);
    }
    js_free(answer);
    text_free(&said);
}

void driver_probe(js *probes, int64_t limit_ns) {
    struct clock clock = clock_real();
    int64_t start = clock_now(&clock);
    ask(probes, "nvmlInit", ask_nvml, limit_ns / 2);
    ask(probes, "cuInit", ask_cuda, limit_ns - (clock_now(&clock) - start));
}
