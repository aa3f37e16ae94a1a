/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, starting and ending NVML, and the small questions that the rest of gpu/ asks it. */
#include "gpu/nvml.h"

#include "base/mem.h"
#include "gpu/library.h"
#include "gpu/nvml_library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GPUS = 64 };

const char *nvml_meaning(int status) {
    switch (status) {
    case NVML_NOT_SUPPORTED:
        return "not supported (3)";
    case NVML_NO_PERMISSION:
        return "no permission (4): the /dev/nvidia* nodes are closed to this user";
    case NVML_NOT_FOUND:
        return "not found (6)";
    case NVML_DRIVER_NOT_LOADED:
        return "driver not loaded (9): the nvidia kernel module is not loaded, or /dev/nvidiactl cannot be opened here";
    case NVML_LIBRARY_NOT_FOUND:
        return "library not found (12)";
    case NVML_FUNCTION_NOT_FOUND:
        return "function not found (13): the driver's library is too old";
    case NVML_GPU_IS_LOST:
        return "GPU is lost (15): it fell off the bus, see the kernel log for an Xid";
    case NVML_RESET_REQUIRED:
        return "GPU needs a reset (16)";
    case NVML_OPERATING_SYSTEM:
        return "the operating system refused (17): a device node denied, most often by a container's device rules";
    case NVML_VERSION_MISMATCH:
        return "driver and library versions differ (18): the driver was updated while its old module stays loaded, or a "
               "container has other libraries than its host";
    case NVML_UNKNOWN:
        return "unknown error (999)";
    default:
        return NULL;
    }
}

static bool nvml_fail(int status, const char *what, struct error *err) {
    const char *meaning = nvml_meaning(status);
    if (meaning == NULL)
        return FAIL_NATIVE(err, ERROR_GPU, status, "%s: NVML error %d", what, status);
    return FAIL_NATIVE(err, ERROR_GPU, status, "%s: NVML: %s", what, meaning);
}

static void resolve(struct nvml *nvml) {
    static const struct {
        const char *symbol, *older;
        size_t offset;
    } table[] = {
#define X(field, arguments, symbol, older) {symbol, older, offsetof(struct nvml, field)},
        NVML_FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *function = dlsym(nvml->library, table[i].symbol);
        if (function == NULL && table[i].older != NULL)
            function = dlsym(nvml->library, table[i].older);
        memcpy((char *)nvml + table[i].offset, &function, sizeof function);
    }
}

struct nvml *nvml_open(struct error *err) {
    struct nvml *nvml = mem_zeroed(1, sizeof *nvml);
    nvml->library = library_open_driver("libnvidia-ml.so.1", "GPUVET_NVML", err);
    if (nvml->library == NULL) {
        RELAY(err);
        nvml_close(nvml);
        return NULL;
    }
    resolve(nvml);
    int status = nvml->init == NULL ? NVML_FUNCTION_NOT_FOUND : nvml->init();
    if (status != NVML_OK) {
        nvml_fail(status, "the NVIDIA driver does not answer", err);
        nvml_close(nvml);
        return NULL;
    }
    nvml->started = true;
    return nvml;
}

void nvml_close(struct nvml *nvml) {
    if (nvml == NULL)
        return;
    if (nvml->started && nvml->shutdown != NULL)
        nvml->shutdown();
    if (nvml->library != NULL)
        dlclose(nvml->library);
    free(nvml);
}

bool nvml_count(const struct nvml *nvml, unsigned *out, struct error *err) {
    *out = 0;
    int status = nvml->count == NULL || nvml->by_index == NULL ? NVML_FUNCTION_NOT_FOUND : nvml->count(out);
    if (status != NVML_OK)
        return nvml_fail(status, "cannot count the GPUs", err);
    if (*out > MAX_GPUS)
        *out = MAX_GPUS;
    return true;
}

js *nvml_uint(int (*get)(nvml_device, unsigned *), nvml_device device) {
    unsigned value = 0;
    return get != NULL && get(device, &value) == NVML_OK ? js_new_int(value) : js_new_null();
}

js *nvml_power_w(int (*get)(nvml_device, unsigned *), nvml_device device) {
    unsigned milliwatts = 0;
    return get != NULL && get(device, &milliwatts) == NVML_OK ? js_new_number(milliwatts / 1e3)
                                                              : js_new_null();
}

js *nvml_pstate(const struct nvml *nvml, nvml_device device) {
    unsigned value = 0;
    bool known =
        nvml->pstate != NULL && nvml->pstate(device, &value) == NVML_OK && value < NVML_PSTATE_UNKNOWN;
    return known ? js_new_int(value) : js_new_null();
}

js *nvml_temperature(const struct nvml *nvml, nvml_device device) {
    unsigned value = 0;
    bool known =
        nvml->temperature != NULL && nvml->temperature(device, NVML_TEMPERATURE_GPU, &value) == NVML_OK;
    return known ? js_new_int(value) : js_new_null();
}

js *nvml_text(int (*get)(nvml_device, char *, unsigned), nvml_device device) {
    char text[96] = "";
    if (get == NULL || get(device, text, sizeof text) != NVML_OK)
        return js_new_null();
    text[sizeof text - 1] = '\0';
    return js_new_string(text);
}
