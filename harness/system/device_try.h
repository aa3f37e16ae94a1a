/* SPDX-License-Identifier: Apache-2.0 */
/* Trying a cgroup v2's device filter, level by level. Only device_cgroup.c uses it, in a child. */
#ifndef GPUVET_SYSTEM_DEVICE_TRY_H
#define GPUVET_SYSTEM_DEVICE_TRY_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { DEVICE_MAX_WISHES = 96 };

struct device_wish {
    char path[64];
    int major, minor;
};
struct device_wishes {
    struct device_wish items[DEVICE_MAX_WISHES];
    size_t count;
};

/* A file system without a mount point, for nodes to ask for; -1: none. */
int device_folder(void);

struct device_verdict {
    int error;     /* 0 ok, errno; -1: could not be tried */
    int denied_at; /* index of the first level that denies; -1: none, or not known */
};

/* `levels` from the root to the leaf, below `mount` (NULL: no cgroup v2 is mounted here). `own`: the leaf is
 * this process's group, so that it can be asked without a group being made. */
void device_try(int folder, const struct device_wishes *wishes, const char *mount,
                const struct strings *levels, bool own, pid_t pid, struct device_verdict *verdicts);

#endif
