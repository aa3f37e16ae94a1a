/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of target/ say to each other. */
#ifndef GPUVET_TARGET_PARTS_H
#define GPUVET_TARGET_PARTS_H

#include "target/helper.h"
#include "target/target.h"

/* A helper's frame for this target: its environment, its interrupt, one minute. */
struct helper target_helper(const struct target *target, const struct strings *argv);

/* Folders that we make are called so; the worker removes only what is. */
#define TARGET_FOLDER_PREFIX ".gpuvet-"

/* "gpuvet-" and 16 hexadecimal digits that nobody can foresee. */
enum { TARGET_NAME_SIZE = 24 };
bool target_random_name(char out[TARGET_NAME_SIZE], struct error *err);

#endif
