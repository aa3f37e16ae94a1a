/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up libcuda.so.1. What it does is said in the file that GPUVET_FAKE_CUDA names (settings.h):
 *     init N           what cuInit answers (CUresult)
 *     count N          how many devices it has
 *     context N        what making a context answers
 *     delay_ms N       before cuInit answers
 *     hang init        it never answers
 *     crash init       it dies
 *     node PATH        cuInit makes this character device (1:3), as root's real one makes missing ones
 *     module no        cuInit answers 999 where the process may gain privileges or load modules */
#define FAKE_SETTINGS "GPUVET_FAKE_CUDA"
#include "settings.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

EXPORT int cuInit(unsigned flags) {
    enum { CAP_SYS_MODULE = 16 };
    char value[64];
    (void)flags;
    delay();
    misbehave("init");
    if (setting("node", value, sizeof value) && mknod(value, S_IFCHR | 0666, makedev(1, 3)) != 0)
        return 999;
    if (setting("module", value, sizeof value) &&
        (prctl(PR_CAPBSET_READ, CAP_SYS_MODULE) == 1 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1))
        return 999;
    return number("init", 0);
}

EXPORT int cuDeviceGetCount(int *out) {
    *out = number("count", 1);
    return 0;
}

EXPORT int cuDriverGetVersion(int *out) {
    *out = 13000;
    return 0;
}

EXPORT int cuDeviceGetByPCIBusId(int *out, const char *address) {
    *out = 0;
    return address[0] == '\0' ? 101 : 0;
}

EXPORT int cuDevicePrimaryCtxRetain(void **out, int device) {
    *out = NULL;
    return device != 0 ? 101 : number("context", 0);
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
    return device != 0 ? 101 : 0;
}
