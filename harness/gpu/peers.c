/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/peers.h"

#ifdef GPUVET_HAVE_CUDA
#include "gpu/cuda.h"

static enum gpu_peer refused(const struct gpu_device *from, const struct gpu_device *to, struct error *err) {
    cudaGetLastError(); /* or the next launch would be blamed for it */
    error_context(err, "%s to %s", from->bdf, to->bdf);
    return GPU_PEER_REFUSED;
}

/* What the driver answers where it cannot map; anything else went wrong. */
static bool is_refusal(cudaError_t status) {
    return status == cudaErrorPeerAccessUnsupported || status == cudaErrorTooManyPeers ||
           status == cudaErrorInvalidDevice || status == cudaErrorNotSupported;
}

enum gpu_peer gpu_peer_enable(const struct gpu_device *from, const struct gpu_device *to, struct error *err) {
    int can = 0;
    if (!gpu_use(from, err))
        return GPU_PEER_FAILED;
    cudaError_t status = cudaDeviceCanAccessPeer(&can, from->ordinal, to->ordinal);
    if (!CUDA(status, "cannot ask for peer access", err))
        return GPU_PEER_FAILED;
    if (can == 0) {
        FAIL(err, ERROR_GPU, "the driver offers no peer access (cudaDeviceCanAccessPeer says 0)");
        return refused(from, to, err);
    }
    status = cudaDeviceEnablePeerAccess(to->ordinal, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();
        return GPU_PEER_ON;
    }
    if (CUDA(status, "peer access was refused (cudaDeviceEnablePeerAccess)", err))
        return GPU_PEER_ON;
    if (is_refusal(status))
        return refused(from, to, err);
    cudaGetLastError();
    return GPU_PEER_FAILED;
}

bool gpu_peer_disable(const struct gpu_device *from, const struct gpu_device *to, struct error *err) {
    if (!gpu_use(from, err))
        return RELAY(err);
    cudaError_t status = cudaDeviceDisablePeerAccess(to->ordinal);
    if (status == cudaErrorPeerAccessNotEnabled || status == cudaErrorInvalidDevice) {
        cudaGetLastError();
        return true;
    }
    if (CUDA(status, "peer access cannot be taken back", err))
        return true;
    cudaGetLastError();
    return error_context(err, "%s to %s", from->bdf, to->bdf);
}

#else

enum gpu_peer gpu_peer_enable(const struct gpu_device *from, const struct gpu_device *to, struct error *err) {
    (void)to;
    gpu_use(from, err); /* says that this build has no CUDA */
    return GPU_PEER_FAILED;
}

bool gpu_peer_disable(const struct gpu_device *from, const struct gpu_device *to, struct error *err) {
    (void)to;
    return gpu_use(from, err) || RELAY(err);
}
#endif
