/* SPDX-License-Identifier: Apache-2.0 */
#ifdef GPUVET_HAVE_CUDA
#include "gpu/cuda.h"

/* What the commoner codes mean on a real node, and what to do: CUDA's own strings do not say. */
static const struct {
    cudaError_t code;
    const char *meaning;
} meanings[] = {
    {cudaErrorMemoryAllocation,
     "the GPU's memory (or lockable host memory) is used up: see nvidia-smi and ulimit -l"},
    {cudaErrorInsufficientDriver, "no NVIDIA driver is loaded here, or it is older than this build's CUDA: "
                                  "run \"gpuvet doctor\""},
    {cudaErrorDevicesUnavailable,
     "the GPU is held by another process (exclusive compute mode) or is being reset"},
    {cudaErrorNoDevice,
     "the driver shows no GPU here: CUDA_VISIBLE_DEVICES, missing /dev/nvidia* nodes, or a GPU that "
     "fell off the bus: run \"gpuvet doctor\""},
    {cudaErrorInvalidDevice, "the GPU's number is not one of those CUDA sees: check CUDA_VISIBLE_DEVICES"},
    {cudaErrorNoKernelImageForDevice,
     "this build has no code for this GPU: build it with CMAKE_CUDA_ARCHITECTURES for "
     "its compute capability"},
    {cudaErrorUnsupportedPtxVersion,
     "the driver is older than the compiler of this build: newer driver, or older CUDA "
     "toolkit"},
    {cudaErrorSystemNotReady,
     "the fabric manager is not running (NVSwitch machines need it in the driver's version): "
     "run \"gpuvet doctor\""},
    {cudaErrorSystemDriverMismatch,
     "the libraries' version is not the loaded kernel module's: reboot or reload the "
     "modules; in a container, mount the host's libraries"},
    {cudaErrorECCUncorrectable, "an uncorrectable memory error: see nvidia-smi -q -d ECC and the kernel log"},
    {cudaErrorIllegalAddress,
     "a kernel touched memory that is not its own: a fault of this program or of the GPU"},
    {cudaErrorLaunchTimeout, "a kernel ran longer than the driver allows"},
    {cudaErrorLaunchFailure, "the GPU stopped the kernel: see the kernel log for an Xid"},
    {cudaErrorInitializationError, "the driver could not be started in this process: run \"gpuvet doctor\""},
    {cudaErrorUnknown, "most often a missing or wrong /dev/nvidia-uvm, or a GPU that needs a reset: "
                       "run \"gpuvet doctor\""},
};

static const char *meaning_of(cudaError_t code) {
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].code == code)
            return meanings[i].meaning;
    return NULL;
}

bool cuda_check(cudaError_t status, const char *what, struct error *err, const char *file, int line,
                const char *function) {
    if (status == cudaSuccess)
        return true;
    const char *meaning = meaning_of(status);
    return error_set(err, ERROR_GPU, (long)status, file, line, function, "%s: %s (%d): %s%s%s", what,
                     cudaGetErrorName(status), (int)status, cudaGetErrorString(status),
                     meaning == NULL ? "" : "; ", meaning == NULL ? "" : meaning);
}

bool gpu_check(int code, const char *what, struct error *err) {
    return CUDA((cudaError_t)code, what, err) || RELAY(err);
}
#endif
