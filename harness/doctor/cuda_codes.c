/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/cuda_codes.h"

#include <stddef.h>

/* From measured faults and public threads; each meaning names what was seen to give the code at cuInit. */
static const struct cuda_code codes[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "the driver library refused its own call",
     "another library that wraps libcuda (LD_PRELOAD), or a damaged installation"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY",
     "CUDA could not reserve address space or memory: RLIMIT_AS, strict overcommit, a full cgroup, or a GPU whose memory "
     "is taken",
     "ulimit -v; sysctl vm.overcommit_memory; memory.max of the cgroup; nvidia-smi: memory in use"},
    {3, "CUDA_ERROR_NOT_INITIALIZED",
     "nvidia-uvm could not start although its node opens; seen with HMM on some kernels. It is also the answer to every "
     "call after a cuInit that failed",
     "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm; dmesg | grep -i uvm; the first error of the process, not the "
     "last"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "the toolkit's link-time libcuda was loaded, which only answers this",
     "ldd and LD_DEBUG=libs of the program: which libcuda.so.1; LD_LIBRARY_PATH with …/stubs"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "the GPU is busy or unavailable: exclusive compute mode with another process on it, or a GPU that must be reset",
     "nvidia-smi -q -d COMPUTE,PIDS; processes in other containers; dmesg | grep Xid"},
    {100, "CUDA_ERROR_NO_DEVICE",
     "no GPU is left for CUDA: the nodes of the GPUs or /dev/nvidiactl cannot be opened, CUDA_VISIBLE_DEVICES hides all, "
     "the module is not loaded, or it could start no GPU",
     "CUDA_VISIBLE_DEVICES; ls -l /dev/nvidia*; dmesg | grep NVRM"},
    {101, "CUDA_ERROR_INVALID_DEVICE",
     "a GPU that is listed cannot be used: it fell off the bus, needs a reset, or its MIG instance is gone",
     "dmesg | grep -E 'NVRM|Xid'; nvidia-smi -L; leave that GPU out by CUDA_VISIBLE_DEVICES"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "the process has no context, or one that was destroyed",
     "the program's own order of calls"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "a library has no code for this GPU: it was built for other architectures and holds no PTX for a newer one",
     "which library was being loaded (CUDA_LOG_FILE, strace -e openat); cuobjdump --list-elf of it beside "
     "nvidia-smi --query-gpu=compute_cap"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "a GPU's memory has an error that cannot be corrected",
     "nvidia-smi -q -d ECC,ROW_REMAPPER; reset the GPU; the kernel log's Xid 48, 63, 64, 94, 95"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM",
     "a call to the system failed: too few open files, /proc not mounted, or a sandbox that refuses the call",
     "ulimit -n; ls /proc/self; strace -f of the program to the first EPERM, EMFILE or ENOENT"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY",
     "the system is not ready: on machines with NVSwitches their fabric is not set up yet; elsewhere confidential "
     "computing is not set ready, or a GPU's NVLinks did not come up",
     "nvidia-smi -q | grep -A2 Fabric; nvidia-smi conf-compute -grs; nvidia-smi nvlink -s; dmesg | grep NVRM"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "libcuda and the loaded kernel module are of two versions",
     "cat /proc/driver/nvidia/version beside the file that libcuda.so.1 leads to; reboot after an upgrade"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "a libcuda of the forward compatibility package was loaded, and this GPU or driver does not allow it",
     "LD_LIBRARY_PATH and /etc/ld.so.conf.d for …/compat; a newer host driver"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED",
     "CUDA found the pipe of a multi-process service and could not reach its daemon",
     "/tmp/nvidia-mps, CUDA_MPS_PIPE_DIRECTORY; is nvidia-cuda-mps-control alive, of the same user?"},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE", "the server of the multi-process service did not answer a request",
     "its server.log in CUDA_MPS_LOG_DIRECTORY; restart nvidia-cuda-mps-control"},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY",
     "the server of the multi-process service is starting, or recovers from a client's fault",
     "try again; its control.log"},
    {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "the multi-process service has all the clients that it takes",
     "fewer processes on this GPU"},
    {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED",
     "the GPU has all the connections of the multi-process service that it takes",
     "fewer processes on this GPU"},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the multi-process service ended this client",
     "its control.log says who asked for it"},
    {999, "CUDA_ERROR_UNKNOWN",
     "nvidia-uvm could not be used: its node is missing, stale or refused, the module is not loaded, or it lost its "
     "state in a suspend",
     "ls -l /dev/nvidia-uvm beside /proc/devices; strace -e openat of the program; dmesg | grep -i uvm"},
};

const struct cuda_code *cuda_code_find(int code) {
    static const struct cuda_code other = {-1, "CUDA error", "no rule knows why, and the code says no more",
                                           "dmesg | grep -E 'NVRM|Xid'; gpuvet doctor --capture DIR"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == code)
            return &codes[i];
    return &other;
}
