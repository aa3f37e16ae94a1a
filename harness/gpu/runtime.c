/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and memory. */
#ifdef GPUVET_HAVE_CUDA
#include "gpu/cuda.h"
#include "kernels/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool gpu_built(void) {
    return true;
}

bool gpu_start(int *count, struct error *err) {
    *count = 0;
    if (!CUDA(cudaGetDeviceCount(count), "cannot start CUDA", err))
        return RELAY(err);
    return true;
}

static void format_uuid(const cudaUUID_t *uuid, char *out, size_t size) {
    int used = snprintf(out, size, "GPU-");
    for (int i = 0; i < 16; i++) {
        const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        used += snprintf(out + used, size - (size_t)used, "%s%02x", dash, (unsigned char)uuid->bytes[i]);
    }
}

static void describe(int ordinal, const struct cudaDeviceProp *prop, struct gpu_device *out) {
    *out = (struct gpu_device){
        .ordinal = ordinal,
        .cc_major = prop->major,
        .cc_minor = prop->minor,
        .sm_count = prop->multiProcessorCount,
        .l2_bytes = prop->l2CacheSize,
        .memory_bytes = (int64_t)prop->totalGlobalMem,
        .copy_engines = prop->asyncEngineCount,
    };
    snprintf(out->bdf, sizeof out->bdf, "%04x:%02x:%02x.0", (unsigned)prop->pciDomainID & 0xffffU,
             (unsigned)prop->pciBusID & 0xffU, (unsigned)prop->pciDeviceID & 0xffU);
    snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, prop->name);
    format_uuid(&prop->uuid, out->uuid, sizeof out->uuid);
}

/* What the devices are does not change while a process lives, and asking takes milliseconds a device: every
 * item opens its GPUs, so they are asked once. */
static bool all_devices(const struct gpu_device **out, int *count, struct error *err) {
    enum { MOST = 64 };
    static struct gpu_device known[MOST];
    static int n = -1;
    int found = 0;
    if (n < 0) {
        if (!gpu_start(&found, err))
            return RELAY(err);
        for (int i = 0; i < found && i < MOST; i++) {
            struct cudaDeviceProp prop;
            if (!CUDA(cudaGetDeviceProperties(&prop, i), "cannot ask for a GPU's properties", err))
                return RELAY(err);
            describe(i, &prop, &known[i]);
        }
        n = found < MOST ? found : MOST;
    }
    *out = known;
    *count = n;
    return true;
}

static bool find_device(const char *uuid, struct gpu_device *out, struct error *err) {
    const struct gpu_device *all = NULL;
    int count = 0;
    if (!all_devices(&all, &count, err))
        return RELAY(err);
    for (int i = 0; i < count; i++)
        if (strcasecmp(all[i].uuid, uuid) == 0) {
            *out = all[i];
            return true;
        }
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    return FAIL(err, ERROR_GPU,
                "CUDA does not see %s among the %d GPUs that it shows (CUDA_VISIBLE_DEVICES is %s)", uuid,
                count, visible == NULL ? "not set" : visible);
}

bool gpu_open(const char *uuid, struct gpu_device *out, struct error *err) {
    if (!find_device(uuid, out, err))
        return RELAY(err);
    /* The context is made with the spin schedule: waiting for a stream then costs no wake-up. */
    if (!CUDA(cudaInitDevice(out->ordinal, cudaDeviceScheduleSpin, cudaInitDeviceFlagsAreValid),
              "cannot make a context on the GPU", err) ||
        !gpu_use(out, err) || !gpu_check(kernels_load(), "cannot load gpuvet's kernels on the GPU", err))
        return error_context(err, "%s", out->bdf);
    return true;
}

bool gpu_use(const struct gpu_device *device, struct error *err) {
    return CUDA(cudaSetDevice(device->ordinal), "cannot select the GPU", err) || RELAY(err);
}

bool gpu_alive(struct error *err) {
    cudaGetLastError(); /* an old error that was no sticky one is forgotten */
    if (!CUDA(cudaDeviceSynchronize(), "the CUDA context no longer works", err))
        return RELAY(err);
    /* The synchronisation of an idle context may succeed after a sticky error; asking for memory does not. */
    void *probe = NULL;
    if (!CUDA(cudaMalloc(&probe, 256), "the CUDA context no longer works", err))
        return RELAY(err);
    return CUDA(cudaFree(probe), "the CUDA context no longer works", err) || RELAY(err);
}

bool gpu_synchronize(struct error *err) {
    return CUDA(cudaDeviceSynchronize(), "the GPU's work failed", err) || RELAY(err);
}

static double mib(size_t bytes) {
    return (double)bytes / (1 << 20);
}

bool gpu_alloc(size_t bytes, void **out, struct error *err) {
    *out = NULL;
    if (CUDA(cudaMalloc(out, bytes), "cannot allocate GPU memory", err))
        return true;
    cudaGetLastError();
    return error_context(err, "%.1f MiB", mib(bytes));
}

void gpu_free(void *p) {
    cudaFree(p);
}

bool gpu_register(void *p, size_t bytes, struct error *err) {
    if (CUDA(cudaHostRegister(p, bytes, cudaHostRegisterDefault), "cannot pin host memory (cudaHostRegister)",
             err))
        return true;
    cudaGetLastError();
    return error_context(err, "%.1f MiB", mib(bytes));
}

void gpu_unregister(void *p) {
    if (p != NULL)
        cudaHostUnregister(p);
}

bool gpu_host_alloc(size_t bytes, void **out, struct error *err) {
    *out = NULL;
    if (CUDA(cudaHostAlloc(out, bytes, cudaHostAllocDefault),
             "cannot allocate pinned host memory (cudaHostAlloc)", err))
        return true;
    cudaGetLastError();
    return error_context(err, "%.1f MiB", mib(bytes));
}

void gpu_host_free(void *p) {
    if (p != NULL)
        cudaFreeHost(p);
}

bool gpu_device_address(void *host, void **out, struct error *err) {
    *out = NULL;
    if (CUDA(cudaHostGetDevicePointer(out, host, 0), "the GPU cannot reach this host memory", err))
        return true;
    cudaGetLastError(); /* or the next kernel launch would be blamed for it */
    return RELAY(err);
}

bool gpu_memset(void *p, int byte, size_t bytes, struct error *err) {
    return (CUDA(cudaMemset(p, byte, bytes), "cannot set GPU memory", err) && gpu_synchronize(err)) ||
           RELAY(err);
}

bool gpu_copy_async(void *to, const void *from, size_t bytes, gpu_stream stream, struct error *err) {
    return CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cannot issue a copy", err) ||
           RELAY(err);
}

bool gpu_copy(void *to, const void *from, size_t bytes, struct error *err) {
    return (CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cannot copy", err) &&
            gpu_synchronize(err)) ||
           RELAY(err);
}
#endif
