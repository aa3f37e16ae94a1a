/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUVET_SMOKE_LANES_H
#define GPUVET_SMOKE_LANES_H

#include "system/gpus.h"

/* Copies by a kernel, lanes on one GPU and on two, and that pinned memory serves a GPU whose context is made
 * after it. To be called before any context exists. Prints as smoke.c does; returns how many checks failed.
 */
int smoke_lanes(const struct gpu_list *list);

#endif
