/* SPDX-License-Identifier: Apache-2.0 */
/* Inside gpu/ only: what is used of NVML, declared by us. Layouts and numbers are those of NVML's public
 * interface, which only ever grows; a function that a driver does not have is NULL here and its value
 * unknown. */
#ifndef GPUVET_GPU_NVML_LIBRARY_H
#define GPUVET_GPU_NVML_LIBRARY_H

#include "base/error.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct nvml_handle *nvml_device; /* nvmlDevice_t */

enum { /* nvmlReturn_t */
       NVML_OK = 0,
       NVML_INVALID = 2,
       NVML_NOT_SUPPORTED = 3,
       NVML_NO_PERMISSION = 4,
       NVML_NOT_FOUND = 6,
       NVML_INSUFFICIENT_SIZE = 7,
       NVML_DRIVER_NOT_LOADED = 9,
       NVML_LIBRARY_NOT_FOUND = 12,
       NVML_FUNCTION_NOT_FOUND = 13,
       NVML_GPU_IS_LOST = 15,
       NVML_RESET_REQUIRED = 16,
       NVML_OPERATING_SYSTEM = 17,
       NVML_VERSION_MISMATCH = 18,
       NVML_UNKNOWN = 999,
};

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };         /* nvmlClockType_t */
enum { NVML_UNCORRECTED = 1 };                          /* nvmlMemoryErrorType_t */
enum { NVML_ECC_VOLATILE = 0, NVML_ECC_AGGREGATE = 1 }; /* nvmlEccCounterType_t */
enum { NVML_TEMPERATURE_GPU = 0, NVML_VIRTUALIZED_VGPU = 2, NVML_PSTATE_UNKNOWN = 32 };
/* Fields of nvmlDeviceGetFieldValues: PCIe replays, and throttled time (nvml_throttle.c says why three have
 * two numbers). */
enum {
    NVML_FIELD_SW_POWER_CAP = 74, /* NVML_FI_DEV_PERF_POLICY_POWER */
    NVML_FIELD_SW_THERMAL = 75,   /* NVML_FI_DEV_PERF_POLICY_THERMAL */
    NVML_FIELD_REPLAYS = 94,      /* NVML_FI_DEV_PCIE_REPLAY_COUNTER */
    NVML_FIELD_SLOWDOWNS = 251,   /* …CLOCKS_EVENT_REASON_SW_THERM_, HW_THERM_, HW_POWER_BRAKE_SLOWDOWN */
    NVML_FIELD_SLOWDOWNS_LATER = 269,
};
enum { NVML_TYPE_UINT = 1, NVML_TYPE_UL, NVML_TYPE_ULL }; /* nvmlValueType_t */

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_bar1 {
    unsigned long long total, free, used;
};

struct nvml_utilization {
    unsigned gpu, memory;
};

struct nvml_process {
    unsigned pid;
    unsigned long long used_memory; /* all ones: not known */
    unsigned gpu_instance, compute_instance;
};

struct nvml_field {
    unsigned id, scope;
    long long timestamp, latency_us;
    int value_type; /* 0 double, 1 unsigned, 2 unsigned long, 3 unsigned long long, 4 long long, 5 int */
    int status;
    union {
        double real;
        unsigned u;
        unsigned long ul;
        unsigned long long ull;
        long long sll;
        int i;
    } value;
};

struct nvml_fabric {
    unsigned char cluster_uuid[16];
    int status;
    unsigned clique;
    unsigned char state;    /* 0 not supported, 1 not started, 2 in progress, 3 completed */
    unsigned char room[64]; /* should a driver write a longer form */
};

struct nvml_conf_compute {
    unsigned environment, feature, dev_tools;
    unsigned room[8];
};

/* X(field, its arguments, the symbol, an older name of the same). Every function returns an nvmlReturn_t. */
#define NVML_FUNCTIONS(X)                                                                                    \
    X(init, (void), "nvmlInit_v2", NULL)                                                                     \
    X(shutdown, (void), "nvmlShutdown", NULL)                                                                \
    X(driver_version, (char *, unsigned), "nvmlSystemGetDriverVersion", NULL)                                \
    X(count, (unsigned *), "nvmlDeviceGetCount_v2", NULL)                                                    \
    X(by_index, (unsigned, nvml_device *), "nvmlDeviceGetHandleByIndex_v2", NULL)                            \
    X(by_uuid, (const char *, nvml_device *), "nvmlDeviceGetHandleByUUID", NULL)                             \
    X(pci, (nvml_device, struct nvml_pci *), "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2")           \
    X(minor, (nvml_device, unsigned *), "nvmlDeviceGetMinorNumber", NULL)                                    \
    X(uuid, (nvml_device, char *, unsigned), "nvmlDeviceGetUUID", NULL)                                      \
    X(name, (nvml_device, char *, unsigned), "nvmlDeviceGetName", NULL)                                      \
    X(vbios, (nvml_device, char *, unsigned), "nvmlDeviceGetVbiosVersion", NULL)                             \
    X(compute_capability, (nvml_device, int *, int *), "nvmlDeviceGetCudaComputeCapability", NULL)           \
    X(memory, (nvml_device, struct nvml_memory *), "nvmlDeviceGetMemoryInfo", NULL)                          \
    X(bar1, (nvml_device, struct nvml_bar1 *), "nvmlDeviceGetBAR1MemoryInfo", NULL)                          \
    X(bus_width, (nvml_device, unsigned *), "nvmlDeviceGetMemoryBusWidth", NULL)                             \
    X(persistence, (nvml_device, unsigned *), "nvmlDeviceGetPersistenceMode", NULL)                          \
    X(pstate, (nvml_device, unsigned *), "nvmlDeviceGetPerformanceState", NULL)                              \
    X(compute_mode, (nvml_device, unsigned *), "nvmlDeviceGetComputeMode", NULL)                             \
    X(mig, (nvml_device, unsigned *, unsigned *), "nvmlDeviceGetMigMode", NULL)                              \
    X(virtualization, (nvml_device, unsigned *), "nvmlDeviceGetVirtualizationMode", NULL)                    \
    X(ecc, (nvml_device, unsigned *, unsigned *), "nvmlDeviceGetEccMode", NULL)                              \
    X(ecc_errors, (nvml_device, int, int, unsigned long long *), "nvmlDeviceGetTotalEccErrors", NULL)        \
    X(remapped_rows, (nvml_device, unsigned *, unsigned *, unsigned *, unsigned *),                          \
      "nvmlDeviceGetRemappedRows", NULL)                                                                     \
    X(power, (nvml_device, unsigned *), "nvmlDeviceGetPowerUsage", NULL)                                     \
    X(power_limit, (nvml_device, unsigned *), "nvmlDeviceGetPowerManagementLimit", NULL)                     \
    X(power_default, (nvml_device, unsigned *), "nvmlDeviceGetPowerManagementDefaultLimit", NULL)            \
    X(power_range, (nvml_device, unsigned *, unsigned *), "nvmlDeviceGetPowerManagementLimitConstraints",    \
      NULL)                                                                                                  \
    X(clock, (nvml_device, int, unsigned *), "nvmlDeviceGetClockInfo", NULL)                                 \
    X(clock_max, (nvml_device, int, unsigned *), "nvmlDeviceGetMaxClockInfo", NULL)                          \
    X(temperature, (nvml_device, int, unsigned *), "nvmlDeviceGetTemperature", NULL)                         \
    X(throttle, (nvml_device, unsigned long long *), "nvmlDeviceGetCurrentClocksEventReasons",               \
      "nvmlDeviceGetCurrentClocksThrottleReasons")                                                           \
    X(fields, (nvml_device, int, struct nvml_field *), "nvmlDeviceGetFieldValues", NULL)                     \
    X(link_gen, (nvml_device, unsigned *), "nvmlDeviceGetCurrPcieLinkGeneration", NULL)                      \
    X(link_gen_max, (nvml_device, unsigned *), "nvmlDeviceGetMaxPcieLinkGeneration", NULL)                   \
    X(link_width, (nvml_device, unsigned *), "nvmlDeviceGetCurrPcieLinkWidth", NULL)                         \
    X(link_width_max, (nvml_device, unsigned *), "nvmlDeviceGetMaxPcieLinkWidth", NULL)                      \
    X(replays, (nvml_device, unsigned *), "nvmlDeviceGetPcieReplayCounter", NULL)                            \
    X(p2p_status, (nvml_device, nvml_device, int, int *), "nvmlDeviceGetP2PStatus", NULL)                    \
    X(nvlink_state, (nvml_device, unsigned, unsigned *), "nvmlDeviceGetNvLinkState", NULL)                   \
    X(nvlink_remote, (nvml_device, unsigned, struct nvml_pci *), "nvmlDeviceGetNvLinkRemotePciInfo_v2",      \
      NULL)                                                                                                  \
    X(nvlink_remote_type, (nvml_device, unsigned, int *), "nvmlDeviceGetNvLinkRemoteDeviceType", NULL)       \
    X(fabric, (nvml_device, struct nvml_fabric *), "nvmlDeviceGetGpuFabricInfo", NULL)                       \
    X(conf_compute, (struct nvml_conf_compute *), "nvmlSystemGetConfComputeState", NULL)                     \
    X(conf_compute_ready, (unsigned *), "nvmlSystemGetConfComputeGpusReadyState", NULL)                      \
    X(utilization, (nvml_device, struct nvml_utilization *), "nvmlDeviceGetUtilizationRates", NULL)          \
    X(processes, (nvml_device, unsigned *, struct nvml_process *),                                           \
      "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")

enum { NVML_KEPT_HANDLES = 64, NVML_UUID_SIZE = 96 };

struct nvml {
    void *library;
    bool started;
    struct {
        char uuid[NVML_UUID_SIZE];
        nvml_device device;
    } kept[NVML_KEPT_HANDLES]; /* finding a handle looks through all GPUs: once each */
    size_t n_kept;
#define X(field, arguments, symbol, older) int(*field) arguments;
    NVML_FUNCTIONS(X)
#undef X
};

/* "GPU is lost (15): it fell off the bus, see the kernel log" … for use inside a sentence; static text. */
const char *nvml_meaning(int status);

/* How many GPUs there are, at most 64; false with `err` filled when NVML does not say. */
bool nvml_count(const struct nvml *nvml, unsigned *out, struct error *err);

/* {"sw_power_cap","sw_thermal","hw_thermal","hw_power_brake"}: microseconds, null where unknown. Owned. From
 * the same one call `replays` (may be NULL): the count of PCIe replays, -1 where it does not say. */
js *nvml_throttle_us(const struct nvml *nvml, nvml_device device, int64_t *replays);

/* Null when the function is absent or answers with an error. Owned. */
js *nvml_uint(int (*get)(nvml_device, unsigned *), nvml_device device);
js *nvml_power_w(int (*get)(nvml_device, unsigned *), nvml_device device);
js *nvml_pstate(const struct nvml *nvml, nvml_device device);
js *nvml_temperature(const struct nvml *nvml, nvml_device device);
js *nvml_text(int (*get)(nvml_device, char *, unsigned), nvml_device device);

#endif
