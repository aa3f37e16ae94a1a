/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the kernel rather than read from its files, in the form of a capture's probes.json. */
#ifndef GPUVET_SYSTEM_PROBE_LIVE_H
#define GPUVET_SYSTEM_PROBE_LIVE_H

#include "base/json.h"

/* {"uname":{…},"uid","gid","groups":[…],"rlimits":{…},"statfs":{"/dev/shm":…},"syscalls":{"get_mempolicy":
 * "ok"|errno name|"timeout"|"SIGSYS"},"env":{…}}. Owned. Bounded: a file system that does not answer is null
 * in statfs; a call that kills its process has the signal's name. */
js *probe_live(void);

#endif
