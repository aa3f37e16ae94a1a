/* SPDX-License-Identifier: Apache-2.0 */
/* Mounted file systems whose server does not answer: whoever looks below one hangs, and so would we. */
#ifndef GPUVET_SYSTEM_DEAD_MOUNTS_H
#define GPUVET_SYSTEM_DEAD_MOUNTS_H

#include "base/json.h"

/* Mount points of network and user-space file systems that do not answer a stat within two seconds. Owned;
 * NULL: none. */
js *dead_mounts(void);

#endif
