/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of target/ say to each other. */
#ifndef GPUVET_TARGET_PARTS_H
#define GPUVET_TARGET_PARTS_H

#include "target/helper.h"
#include "target/target.h"

/* A helper's frame for this target: its environment, its interrupt, one minute. */
struct helper target_helper(const struct target *target, const struct strings *argv);

/* Files brought in are called so; the worker removes only what is. */
#define TARGET_FILE_PREFIX ".gpuvet-"

#endif
