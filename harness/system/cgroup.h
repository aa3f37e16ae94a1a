/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroup of the calling process for one controller, v1 or v2. */
#ifndef GPUVET_SYSTEM_CGROUP_H
#define GPUVET_SYSTEM_CGROUP_H

#include "system/facts.h"

#include <stdbool.h>

struct cgroup_place {
    char *mount; /* "/sys/fs/cgroup" */
    char *path;  /* below it: "/a/b", "" for the mount's own group */
    bool v2;
};

/* A v1 hierarchy that has the controller comes first, then v2. Release with cgroup_place_free. */
bool cgroup_find(const struct source *source, const char *controller, struct cgroup_place *out);
void cgroup_place_free(struct cgroup_place *place);
bool cgroup_up(struct cgroup_place *place); /* to the parent; false at the mount */
/* A file of the group; NULL when it cannot be read. Release with free. */
char *cgroup_text(const struct source *source, const struct cgroup_place *place, const char *file);

#endif
