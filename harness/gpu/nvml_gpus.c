/* SPDX-License-Identifier: Apache-2.0 */
/* The "gpus" array of gpuvet.capture/1. */
#include "gpu/nvml.h"

#include "gpu/nvml_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BDF_SIZE = 20 };

/* "" when NVML does not say. */
static void read_bdf(const struct nvml *nvml, nvml_device device, char out[BDF_SIZE]) {
    struct nvml_pci pci;
    memset(&pci, 0, sizeof pci);
    out[0] = '\0';
    if (nvml->pci != NULL && nvml->pci(device, &pci) == NVML_OK)
        snprintf(out, BDF_SIZE, "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xffU, pci.device & 0xffU);
}

static js *flag(int (*get)(nvml_device, unsigned *), nvml_device device) {
    unsigned value = 0;
    return get != NULL && get(device, &value) == NVML_OK ? js_new_bool(value != 0) : js_new_null();
}

/* One of a current and a pending value, as NVML gives modes. `unsupported` is what a GPU without it has. */
static js *mode(int (*get)(nvml_device, unsigned *, unsigned *), nvml_device device, js *unsupported) {
    unsigned current = 0, pending = 0;
    int status = get == NULL ? NVML_FUNCTION_NOT_FOUND : get(device, &current, &pending);
    if (status == NVML_NOT_SUPPORTED)
        return unsupported;
    js_free(unsupported);
    return status == NVML_OK ? js_new_bool(current != 0) : js_new_null();
}

static js *megabytes(unsigned long long bytes) {
    return js_new_int((int64_t)(bytes >> 20));
}

static void add_identity(const struct nvml *nvml, nvml_device device, js *gpu) {
    char bdf[BDF_SIZE];
    read_bdf(nvml, device, bdf);
    js_set_string(gpu, "bdf", bdf[0] == '\0' ? NULL : bdf);
    js_set(gpu, "minor", nvml_uint(nvml->minor, device));
    js_set(gpu, "uuid", nvml_text(nvml->uuid, device));
    js_set(gpu, "name", nvml_text(nvml->name, device));
    js_set(gpu, "vbios", nvml_text(nvml->vbios, device));
    int major = 0, minor = 0;
    char cc[32] = "";
    if (nvml->compute_capability != NULL && nvml->compute_capability(device, &major, &minor) == NVML_OK)
        snprintf(cc, sizeof cc, "%d.%d", major, minor);
    js_set_string(gpu, "cc", cc[0] == '\0' ? NULL : cc);
}

static void add_memory(const struct nvml *nvml, nvml_device device, js *gpu) {
    struct nvml_memory memory = {0};
    struct nvml_bar1 bar1 = {0};
    bool known = nvml->memory != NULL && nvml->memory(device, &memory) == NVML_OK;
    js_set(gpu, "memory_mib", known ? megabytes(memory.total) : js_new_null());
    known = nvml->bar1 != NULL && nvml->bar1(device, &bar1) == NVML_OK;
    js_set(gpu, "bar1_mib", known ? megabytes(bar1.total) : js_new_null());
    js_set(gpu, "memory_bus_bits", nvml_uint(nvml->bus_width, device));
}

static js *compute_mode(const struct nvml *nvml, nvml_device device) {
    static const char *const names[] = {"default", "exclusive_thread", "prohibited", "exclusive_process"};
    unsigned value = 0;
    bool known = nvml->compute_mode != NULL && nvml->compute_mode(device, &value) == NVML_OK &&
                 value < sizeof names / sizeof *names;
    return known ? js_new_string(names[value]) : js_new_null();
}

static void add_modes(const struct nvml *nvml, nvml_device device, js *gpu) {
    unsigned value = 0;
    js_set(gpu, "persistence", flag(nvml->persistence, device));
    js_set(gpu, "pstate", nvml_pstate(nvml, device));
    js_set(gpu, "compute_mode", compute_mode(nvml, device));
    js_set(gpu, "mig", mode(nvml->mig, device, js_new_bool(false)));
    bool known = nvml->virtualization != NULL && nvml->virtualization(device, &value) == NVML_OK;
    js_set(gpu, "virtual", known ? js_new_bool(value == NVML_VIRTUALIZED_VGPU) : js_new_null());
}

static js *ecc_errors(const struct nvml *nvml, nvml_device device, int counter) {
    unsigned long long errors = 0;
    bool known =
        nvml->ecc_errors != NULL && nvml->ecc_errors(device, NVML_UNCORRECTED, counter, &errors) == NVML_OK;
    return known ? js_new_int((int64_t)errors) : js_new_null();
}

static js *remapped_rows(const struct nvml *nvml, nvml_device device) {
    unsigned correctable = 0, uncorrectable = 0, pending = 0, failure = 0;
    if (nvml->remapped_rows == NULL ||
        nvml->remapped_rows(device, &correctable, &uncorrectable, &pending, &failure) != NVML_OK)
        return js_new_null();
    js *out = js_new_object();
    js_set_int(out, "correctable", correctable);
    js_set_int(out, "uncorrectable", uncorrectable);
    js_set_bool(out, "pending", pending != 0);
    js_set_bool(out, "failure", failure != 0);
    return out;
}

static void add_health(const struct nvml *nvml, nvml_device device, js *gpu) {
    js *ecc = js_new_object();
    js_set(ecc, "enabled", mode(nvml->ecc, device, js_new_null()));
    js_set(ecc, "volatile_uncorrected", ecc_errors(nvml, device, NVML_ECC_VOLATILE));
    js_set(ecc, "aggregate_uncorrected", ecc_errors(nvml, device, NVML_ECC_AGGREGATE));
    js_set(gpu, "ecc", ecc);
    js_set(gpu, "remapped_rows", remapped_rows(nvml, device));
}

static void add_power(const struct nvml *nvml, nvml_device device, js *gpu) {
    unsigned min = 0, max = 0;
    bool range = nvml->power_range != NULL && nvml->power_range(device, &min, &max) == NVML_OK;
    js *power = js_new_object();
    js_set(power, "draw", nvml_power_w(nvml->power, device));
    js_set(power, "limit", nvml_power_w(nvml->power_limit, device));
    js_set(power, "default", nvml_power_w(nvml->power_default, device));
    js_set(power, "min", range ? js_new_number(min / 1e3) : js_new_null());
    js_set(power, "max", range ? js_new_number(max / 1e3) : js_new_null());
    js_set(gpu, "power_w", power);
}

static js *clock_mhz(int (*get)(nvml_device, int, unsigned *), nvml_device device, int type) {
    unsigned value = 0;
    return get != NULL && get(device, type, &value) == NVML_OK ? js_new_int(value) : js_new_null();
}

static js *throttle_reasons(const struct nvml *nvml, nvml_device device) {
    static const char *const names[] = {"gpu_idle",    "application_clocks", "sw_power_cap",
                                        "hw_slowdown", "sync_boost",         "sw_thermal",
                                        "hw_thermal",  "hw_power_brake",     "display_clocks"};
    unsigned long long reasons = 0;
    if (nvml->throttle == NULL || nvml->throttle(device, &reasons) != NVML_OK)
        return js_new_null();
    js *out = js_new_array();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((reasons >> i & 1) != 0)
            js_append_string(out, names[i]);
    return out;
}

static void add_clocks(const struct nvml *nvml, nvml_device device, js *gpu) {
    js *clocks = js_new_object();
    js_set(clocks, "sm", clock_mhz(nvml->clock, device, NVML_CLOCK_SM));
    js_set(clocks, "sm_max", clock_mhz(nvml->clock_max, device, NVML_CLOCK_SM));
    js_set(clocks, "mem", clock_mhz(nvml->clock, device, NVML_CLOCK_MEM));
    js_set(clocks, "mem_max", clock_mhz(nvml->clock_max, device, NVML_CLOCK_MEM));
    js_set(gpu, "clocks_mhz", clocks);
    js_set(gpu, "temperature_c", nvml_temperature(nvml, device));
    js_set(gpu, "throttle", throttle_reasons(nvml, device));
    js_set(gpu, "throttle_us", nvml_throttle_us(nvml, device, NULL));
}

static js *fabric_state(const struct nvml *nvml, nvml_device device) {
    static const char *const names[] = {"not_supported", "not_started", "in_progress", "completed"};
    struct nvml_fabric fabric;
    memset(&fabric, 0, sizeof fabric);
    bool known = nvml->fabric != NULL && nvml->fabric(device, &fabric) == NVML_OK &&
                 fabric.state < sizeof names / sizeof *names;
    return known ? js_new_string(names[fabric.state]) : js_new_null();
}

static js *conf_compute(const struct nvml *nvml) {
    struct nvml_conf_compute state;
    memset(&state, 0, sizeof state);
    if (nvml->conf_compute == NULL || nvml->conf_compute(&state) != NVML_OK)
        return js_new_null();
    unsigned ready = 0;
    bool known = nvml->conf_compute_ready != NULL && nvml->conf_compute_ready(&ready) == NVML_OK;
    js *out = js_new_object();
    js_set_bool(out, "enabled", state.feature != 0);
    js_set(out, "ready", known ? js_new_bool(ready != 0) : js_new_null());
    return out;
}

static void add_links(const struct nvml *nvml, nvml_device device, js *gpu) {
    js *pcie = js_new_object();
    js_set(pcie, "gen", nvml_uint(nvml->link_gen, device));
    js_set(pcie, "gen_max", nvml_uint(nvml->link_gen_max, device));
    js_set(pcie, "width", nvml_uint(nvml->link_width, device));
    js_set(pcie, "width_max", nvml_uint(nvml->link_width_max, device));
    js_set(gpu, "pcie", pcie);
    js_set(gpu, "fabric_state", fabric_state(nvml, device));
    js_set(gpu, "conf_compute", conf_compute(nvml));
}

static js *read_gpu(const struct nvml *nvml, unsigned index, const char *driver) {
    js *gpu = js_new_object();
    js_set_int(gpu, "index", index);
    js_set_string(gpu, "driver", driver[0] == '\0' ? NULL : driver);
    nvml_device device = NULL;
    int status = nvml->by_index(index, &device);
    if (status != NVML_OK) {
        char reason[160];
        const char *meaning = nvml_meaning(status);
        if (meaning != NULL)
            snprintf(reason, sizeof reason, "NVML: %s", meaning);
        else
            snprintf(reason, sizeof reason, "NVML error %d", status);
        js_set_string(gpu, "unusable", reason);
        return gpu;
    }
    add_identity(nvml, device, gpu);
    add_memory(nvml, device, gpu);
    add_modes(nvml, device, gpu);
    add_health(nvml, device, gpu);
    add_power(nvml, device, gpu);
    add_clocks(nvml, device, gpu);
    add_links(nvml, device, gpu);
    return gpu;
}

static int by_bdf(const void *a, const void *b) {
    return strcmp(js_get_string(*(js *const *)a, "bdf", ""), js_get_string(*(js *const *)b, "bdf", ""));
}

js *nvml_gpus(struct nvml *nvml, struct error *err) {
    unsigned count = 0;
    if (!nvml_count(nvml, &count, err)) {
        RELAY(err);
        return NULL;
    }
    char driver[96] = "";
    if (nvml->driver_version != NULL && nvml->driver_version(driver, sizeof driver) != NVML_OK)
        driver[0] = '\0';
    driver[sizeof driver - 1] = '\0';
    js *gpus[64];
    bool all_known = true;
    for (unsigned i = 0; i < count; i++) {
        gpus[i] = read_gpu(nvml, i, driver);
        all_known = all_known && js_get_string(gpus[i], "bdf", NULL) != NULL;
    }
    /* NVML counts in PCI order by custom, not by promise. A GPU without an address leaves its order as it is.
     */
    if (all_known && count > 1)
        qsort(gpus, count, sizeof *gpus, by_bdf);
    js *out = js_new_array();
    for (unsigned i = 0; i < count; i++) {
        js_set_int(gpus[i], "index", i);
        js_append(out, gpus[i]);
    }
    return out;
}
