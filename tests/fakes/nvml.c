/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up libnvidia-ml.so.1. What it does is said in the file that GPUVET_FAKE_NVML names (settings.h):
 *     init N, count_code N    what these calls answer (nvmlReturn_t)
 *     count N                 GPUs; addresses fall with the index, so that sorting by address shows
 *     lost N                  this GPU answers 15 (lost)
 *     processes N             compute processes on each GPU, from PID 1000 on
 *     pid N                   this one instead
 *     hang WHERE              where = init, count, gpu, uuid (finding a GPU by it) or utilization
 *     crash WHERE             the same places
 *     delay_ms N              before init answers
 *     slowdowns WORD          which numbers the counters of throttled time have: earlier, later, both or
 *                             differ (both, but disagreeing)
 *     replays N               PCIe replays
 *     old_replays 1           these by their own function only
 *     throttled_us N          throttled time
 *     grow N                  both: by so much at each reading
 *     link_gen N, link_width N, power_mw N, temperature N, pstate N     not there when not set
 *     utilization N           of each GPU
 *     compute_mode N          0 default, 2 prohibited, 3 exclusive process; not there when not set
 * and, of pairs and links, see below. Built with FAKE_OLD it has no more functions than a very old driver. */
#define FAKE_SETTINGS "GPUVET_FAKE_NVML"
#include "settings.h"

#include <stdint.h>

/* GPU n is the pointer n + 1. */
typedef char *device;

static unsigned index_of(device d) {
    return (unsigned)(uintptr_t)d - 1;
}

EXPORT int nvmlInit_v2(void) {
    delay();
    misbehave("init");
    return number("init", 0);
}

EXPORT int nvmlShutdown(void) {
    return 0;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *out) {
    misbehave("count");
    *out = (unsigned)number("count", 1);
    return number("count_code", 0);
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, device *out) {
    misbehave("gpu");
    if ((int)index == number("lost", -1))
        return 15;
    *out = (device)((uintptr_t)index + 1);
    return 0;
}

EXPORT int nvmlDeviceGetUUID(device d, char *out, unsigned size) {
    snprintf(out, size, "GPU-00000000-0000-0000-0000-%012u", index_of(d));
    return 0;
}

struct pci {
    char legacy[16];
    unsigned domain, bus, slot, device_id, subsystem;
    char id[32];
};

EXPORT int nvmlDeviceGetPciInfo_v3(device d, struct pci *out) {
    memset(out, 0, sizeof *out);
    out->bus = 200 - index_of(d);
    return 0;
}

#ifndef FAKE_OLD
/* p2p N: its answer for every pair and capability, p2p_write N: for writes. links N: so many active links of
 * each GPU; link_far neighbour (the default), switch, nowhere (an address of no GPU, its kind not told) or
 * hidden (a GPU that is not in the list). no_links N: what asking for a link answers. */
EXPORT int nvmlDeviceGetP2PStatus(device a, device b, int capability, int *out) {
    (void)a, (void)b;
    *out = number("p2p", 0);
    if (capability == 1)
        *out = number("p2p_write", *out);
    return 0;
}

EXPORT int nvmlDeviceGetNvLinkState(device d, unsigned link, unsigned *up) {
    (void)d;
    if (link >= 18)
        return 2;
    *up = (int)link < number("links", 0);
    return number("no_links", 0);
}

static int leads_to(const char *where) {
    char value[64];
    return setting("link_far", value, sizeof value) ? strcmp(value, where) == 0
                                                    : strcmp(where, "neighbour") == 0;
}

EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(device d, unsigned link, struct pci *out) {
    (void)link;
    int status = nvmlDeviceGetPciInfo_v3((device)((uintptr_t)(index_of(d) ^ 1U) + 1), out);
    if (!leads_to("neighbour"))
        out->bus = 7; /* no GPU is there */
    return status;
}

EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(device d, unsigned link, int *out) {
    (void)d, (void)link;
    *out = leads_to("switch") ? 2 : leads_to("nowhere") ? 255 : 0;
    return 0;
}

EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned size) {
    snprintf(out, size, "580.159.04");
    return 0;
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, device *out) {
    char mine[64];
    misbehave("uuid");
    for (unsigned i = 0; i < (unsigned)number("count", 1); i++) {
        nvmlDeviceGetUUID((device)((uintptr_t)i + 1), mine, sizeof mine);
        if (strcmp(mine, uuid) == 0) {
            *out = (device)((uintptr_t)i + 1);
            return 0;
        }
    }
    return 6;
}

EXPORT int nvmlDeviceGetMinorNumber(device d, unsigned *out) {
    *out = 250 + index_of(d); /* no such node exists anywhere */
    return 0;
}

EXPORT int nvmlDeviceGetName(device d, char *out, unsigned size) {
    (void)d;
    snprintf(out, size, "Made-up GPU");
    return 0;
}

EXPORT int nvmlDeviceGetCudaComputeCapability(device d, int *major, int *minor) {
    (void)d;
    *major = 12;
    *minor = 0;
    return 0;
}

EXPORT int nvmlDeviceGetMemoryInfo(device d, unsigned long long out[3]) {
    (void)d;
    out[0] = 97887ULL << 20; /* total, free, used */
    out[1] = 97000ULL << 20;
    out[2] = 887ULL << 20;
    return 0;
}

EXPORT int nvmlDeviceGetMigMode(device d, unsigned *current, unsigned *pending) {
    (void)d, (void)current, (void)pending;
    return 3;
}

EXPORT int nvmlDeviceGetEccMode(device d, unsigned *current, unsigned *pending) {
    (void)d;
    *current = *pending = 1;
    return 0;
}

EXPORT int nvmlDeviceGetPowerManagementLimit(device d, unsigned *out) {
    (void)d;
    *out = 600000;
    return 0;
}

EXPORT int nvmlDeviceGetMaxClockInfo(device d, int type, unsigned *out) {
    (void)d;
    *out = type == 1 ? 2430 : 12481;
    return 0;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(device d, unsigned long long *out) {
    (void)d;
    *out = 0x1 | 0x4; /* under its older name only */
    return 0;
}

struct field {
    unsigned id, scope;
    long long timestamp, latency;
    int type, status;
    unsigned long long value;
};

/* Throttled time in ns: 5 ms of power cap; heat, and then each cause, 1 ms more. */
static void answer_field(struct field *f, unsigned long long more_ns) {
    char named[64] = "";
    int known = setting("slowdowns", named, sizeof named);
    int both = strcmp(named, "both") == 0 || strcmp(named, "differ") == 0;
    unsigned first = f->id >= 269 && f->id <= 271 ? 269 : f->id >= 251 && f->id <= 253 ? 251 : 0;
    f->type = 3;
    f->status = 3;
    f->value = 5000000 + more_ns;
    if (f->id == 94) {
        char replays[64];
        f->type = 1;
        f->status = setting("replays", replays, sizeof replays) && number("old_replays", 0) == 0 ? 0 : 3;
        f->value = (unsigned)number("replays", 0) + more_ns / 1000 - (unsigned)number("throttled_us", 0);
    } else if (f->id == 74) {
        f->status = 0;
    } else if (f->id == 75) {
        f->status = known ? 0 : 3;
        f->value += 1000000;
    } else if (first != 0) {
        f->status = known && (both || strcmp(named, first == 251 ? "earlier" : "later") == 0) ? 0 : 3;
        f->value += 1000000 + (f->id - first) * 1000000ULL;
        if (first == 251 && f->id != 251 && strcmp(named, "differ") == 0)
            f->value += 1000000000;
        if (f->status != 0 && first == 251 && known) { /* power smoothing, as this numbering has it there */
            f->status = 0;
            f->type = 1;
        }
    }
}

EXPORT int nvmlDeviceGetFieldValues(device d, int count, struct field *fields) {
    static unsigned long long readings;
    (void)d;
    unsigned long long more = (unsigned long long)number("throttled_us", 0) * 1000;
    more += (unsigned long long)number("grow", 0) * 1000 * readings++;
    for (int i = 0; i < count; i++)
        answer_field(&fields[i], more);
    return 0;
}

static int optional(const char *key, unsigned *out) {
    char value[64];
    if (!setting(key, value, sizeof value))
        return 3;
    *out = (unsigned)atoi(value);
    return 0;
}

EXPORT int nvmlDeviceGetPcieReplayCounter(device d, unsigned *out) {
    static unsigned readings;
    (void)d;
    int status = optional("replays", out);
    *out += (unsigned)number("grow", 0) * readings++;
    return status;
}

EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(device d, unsigned *out) {
    (void)d;
    return optional("link_gen", out);
}

EXPORT int nvmlDeviceGetCurrPcieLinkWidth(device d, unsigned *out) {
    (void)d;
    return optional("link_width", out);
}

EXPORT int nvmlDeviceGetPowerUsage(device d, unsigned *out) {
    (void)d;
    return optional("power_mw", out);
}

EXPORT int nvmlDeviceGetPerformanceState(device d, unsigned *out) {
    (void)d;
    return optional("pstate", out);
}

EXPORT int nvmlDeviceGetTemperature(device d, int sensor, unsigned *out) {
    (void)d, (void)sensor;
    return optional("temperature", out);
}

EXPORT int nvmlDeviceGetComputeMode(device d, unsigned *out) {
    (void)d;
    return optional("compute_mode", out);
}

EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(device d, unsigned *out) {
    (void)d;
    *out = 5;
    return 0;
}

EXPORT int nvmlDeviceGetUtilizationRates(device d, unsigned out[2]) {
    misbehave("utilization");
    out[0] = (unsigned)number("utilization", 7 + (int)index_of(d));
    out[1] = 1;
    return 0;
}

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(device d, unsigned *count, struct process *out) {
    unsigned there = (unsigned)number("processes", 0), room = *count;
    (void)d;
    *count = there;
    if (there > room)
        return 7;
    for (unsigned i = 0; i < there; i++)
        out[i] = (struct process){.pid = (unsigned)number("pid", 1000 + (int)i),
                                  .used = i == 0 ? ~0ULL : 64ULL << 20};
    return 0;
}
#endif
