/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up libcuda.so.1. What it does is read at each call from the file that GPUVET_FAKE_CUDA names, lines
 * of "key value": init N        what cuInit answers (CUresult) count N       how many devices it has delay_ms
 * N    before it answers hang init     it never answers;  crash init  it dies node PATH     cuInit makes this
 * character device (1:3), as root's real one makes those that it misses module no     cuInit answers 999
 * where the process may gain privileges or load kernel modules */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int setting(const char *key, char *out, size_t size) {
    const char *path = getenv("GPUVET_FAKE_CUDA");
    FILE *file = path == NULL ? NULL : fopen(path, "re");
    char line[128], name[64], value[64];
    int found = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%63s %63s", name, value) == 2 && strcmp(name, key) == 0) {
            snprintf(out, size, "%s", value);
            found = 1;
        }
    if (file != NULL)
        fclose(file);
    return found;
}

static int number(const char *key, int fallback) {
    char value[64];
    return setting(key, value, sizeof value) ? atoi(value) : fallback;
}

EXPORT int cuInit(unsigned flags) {
    enum { CAP_SYS_MODULE = 16 };
    char value[64];
    int ms = number("delay_ms", 0);
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
    (void)flags;
    if (setting("crash", value, sizeof value)) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would turn it into an exit status */
        raise(SIGSEGV);
    }
    while (setting("hang", value, sizeof value))
        pause();
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
