/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/driver_probe.h"

#include "base/bounded.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "gpu/library.h"
#include "gpu/nvml.h"
#include "gpu/nvml_library.h"
#include "gpu/own_dev.h"
#include "system/gpus.h"

#include <dlfcn.h>
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

static void find_symbol(void *library, const char *name, void *to) {
    void *function = dlsym(library, name);
    memcpy(to, &function, sizeof function);
}

static bool is_exclusive(const js *gpu) {
    return text_starts(js_get_string(gpu, "compute_mode", ""), "exclusive");
}

/* Who holds a GPU that takes one process only. */
static void add_holders(const js *load, js *gpus) {
    for (size_t k = 0; k < js_length(gpus); k++)
        for (size_t i = 0; i < js_length(load) && is_exclusive(js_at(gpus, k)); i++)
            if (js_equal(js_get(js_at(load, i), "uuid"), js_get(js_at(gpus, k), "uuid")))
                js_set(js_at(gpus, k), "processes", js_copy(js_get(js_at(load, i), "processes")));
}

/* GPUs that are busy without a process: "utilization_percent" and "processes" in their entries. NVML's figure
 * is of the last second, so what just ended looks the same: asked again later. */
static void add_ghost_load(struct nvml *nvml, js *gpus) {
    static const int64_t later_ns = 1500 * NS_PER_MS;
    struct clock clock = clock_real();
    struct error err = {0};
    js *load = nvml_activity(nvml, &err);
    bool any = false;
    for (size_t i = 0; i < js_length(load); i++)
        any = any || gpu_is_busy_alone(js_at(load, i));
    add_holders(load, gpus);
    js_free(load);
    if (!any)
        return;
    clock_sleep(&clock, later_ns);
    load = nvml_activity(nvml, &err);
    for (size_t i = 0; i < js_length(load); i++)
        for (size_t k = 0; k < js_length(gpus) && gpu_is_busy_alone(js_at(load, i)); k++)
            if (js_equal(js_get(js_at(load, i), "uuid"), js_get(js_at(gpus, k), "uuid"))) {
                js_set(js_at(gpus, k), "utilization_percent",
                       js_copy(js_get(js_at(load, i), "utilization_percent")));
                js_set(js_at(gpus, k), "processes", js_new_array());
            }
    js_free(load);
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
    js *node = nvml_node_gpus(nvml, &err);
    if (node != NULL)
        add_ghost_load(nvml, js_get(node, "gpus"));
    for (struct js_member m = js_first(node); m.key != NULL; m = js_next(node, m))
        js_set(out, m.key, js_keep(m.value));
    js_free(node);
    say(fd, out);
}

/* ---- cuInit ---- */

struct question {
    js *probes; /* what is known so far, and where the answers go */
    bool container;
};

/* A held GPU refuses a second context; one that nobody holds is left alone. */
static void try_contexts(void *library, const struct question *question, js *out) {
    enum { FREE = 0 };
    int (*by_address)(int *, const char *) = NULL;
    int (*retain)(void **, int) = NULL;
    int (*release)(int) = NULL;
    find_symbol(library, "cuDeviceGetByPCIBusId", &by_address);
    find_symbol(library, "cuDevicePrimaryCtxRetain", &retain);
    find_symbol(library, "cuDevicePrimaryCtxRelease_v2", &release);
    const js *gpus = js_get(question->probes, "gpus");
    js *codes = js_new_object();
    int worst = FREE;
    for (size_t i = 0; by_address != NULL && retain != NULL && i < js_length(gpus); i++) {
        const js *gpu = js_at(gpus, i);
        const js *holders = js_get(gpu, "processes");
        const char *bdf = js_get_string(gpu, "bdf", "");
        bool unseen = question->container || !js_is_array(holders);
        void *context = NULL;
        int device = 0;
        if (!is_exclusive(gpu) || (!unseen && js_length(holders) == 0) || by_address(&device, bdf) != 0)
            continue;
        int code = retain(&context, device);
        if (code == FREE && release != NULL)
            release(device);
        worst = code != FREE ? code : worst;
        js_set_int(codes, bdf, code);
    }
    if (js_first(codes).key != NULL) {
        js *answer = js_new_object();
        js_set_int(answer, "code", worst);
        js_set(answer, "gpus", codes);
        js_set(out, "cuCtxCreate", answer);
    } else {
        js_free(codes);
    }
}

static void ask_cuda(void *argument, int fd) {
    int (*init)(unsigned) = NULL;
    int (*count)(int *) = NULL;
    int (*version)(int *) = NULL;
    int value = 0;
    struct error err = {0};
    struct strings before = {0};
    own_dev_enter(&before);
    js *out = js_new_object();
    js *answer = js_new_object();
    js_set(out, "cuInit", answer);
    void *library = library_open_driver("libcuda.so.1", "GPUVET_LIBCUDA", &err);
    if (library != NULL) {
        find_symbol(library, "cuInit", &init);
        find_symbol(library, "cuDeviceGetCount", &count);
        find_symbol(library, "cuDriverGetVersion", &version);
    }
    if (init == NULL) {
        js_set(answer, "code", js_new_null());
        js_set_bool(answer, "absent", true);
        js_set_string(answer, "reason", library == NULL ? err.text : "libcuda.so.1 has no cuInit");
        say(fd, out);
    }
    struct clock clock = clock_real();
    int64_t start = clock_now(&clock);
    int code = init(0);
    js_set_int(answer, "code", code);
    js_set_number(answer, "ms", (double)(clock_now(&clock) - start) / 1e6);
    if (code == 0 && count != NULL && count(&value) == 0)
        js_set_int(out, "cuda_devices", value);
    if (version != NULL && version(&value) == 0)
        js_set_int(answer, "driver_version", value);
    if (code == 0)
        try_contexts(library, argument, out);
    js_set(out, "made_by_probe", own_dev_new(&before));
    say(fd, out);
}

/* ---- both ---- */

static void ask(struct question *question, const char *name, void (*body)(void *, int), int64_t limit_ns) {
    js *probes = question->probes;
    struct text said = {0};
    struct error err = {0};
    struct bounded_end end = bounded_ask(body, question, limit_ns, limit_ns, BOUNDED_MOST, &said);
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

void driver_probe(js *probes, bool cuda, bool container, int64_t limit_ns) {
    struct question question = {.probes = probes, .container = container};
    struct clock clock = clock_real();
    int64_t start = clock_now(&clock);
    ask(&question, "nvmlInit", ask_nvml, cuda ? limit_ns / 2 : limit_ns);
    if (cuda)
        ask(&question, "cuInit", ask_cuda, limit_ns - (clock_now(&clock) - start));
}
