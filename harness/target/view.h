/* SPDX-License-Identifier: Apache-2.0 */
/* What a place is like from inside, beyond the machine itself: what explains a container's cost. */
#ifndef GPUVET_TARGET_VIEW_H
#define GPUVET_TARGET_VIEW_H

#include "base/json.h"

#include <stdbool.h>

/* {"capabilities": "000001ffffffffff", "sys_nice": true, "seccomp": "0", "no_new_privileges": "0",
 *  "user_namespace": false, "cpus": "0-7", "memory_nodes": "0", "shm_mib": 64, "tmp_noexec": false,
 *  "syscalls": {"get_mempolicy": "ok", "mbind": "EPERM"}, "limits": {"memlock": 65536, …},
 *  "init_limits": {…}}; owned. Unknown is null. */
js *view_read(void);

/* Takes over the limits of process 1, as what the container's manager starts has them. */
void view_take_init_limits(void);

#endif
