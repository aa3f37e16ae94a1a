/* SPDX-License-Identifier: Apache-2.0 */
/* One gpuvet that measures at a time on a node. */
#ifndef GPUVET_RUN_LOCK_H
#define GPUVET_RUN_LOCK_H

#include "base/error.h"

#include <stdbool.h>

/* Takes the node's lock (flock on GPUVET_LOCK, else /run/lock/gpuvet.lock, else /tmp/gpuvet.lock) or says who
 * has it (ERROR_BUSY). The descriptor in `fd` holds it until closed; the kernel frees it with the process. */
bool lock_take(int *fd, struct error *err);

#endif
