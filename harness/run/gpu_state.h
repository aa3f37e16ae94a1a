/* SPDX-License-Identifier: Apache-2.0 */
/* What happened to the GPUs of one item while it ran: counters read before and after, as differences. */
#ifndef GPUVET_RUN_GPU_STATE_H
#define GPUVET_RUN_GPU_STATE_H

#include "base/json.h"

#include <stdbool.h>

/* The UUIDs that a `where` names (run/where.h), as an array, owned. */
js *gpu_state_uuids(const js *where);

/* `before` and `after` are quiet_counters' objects (NULL: not known). The record's "gpu_state", owned; NULL
 * when `after` is not known:
 * {"GPU-…":{"replays":0,"aer":{"correctable":0,"nonfatal":0,"fatal":0},"throttled_us":{"sw_power_cap":0,…},
 * "pcie_gen":5,"pcie_width":16,"temperature_c":40,"power_w":120.5,"pstate":0}}. The first three are
 * differences, null where one of the two readings lacks them or a counter began anew; the others are as read
 * right after the item. "aer_at" names the devices with new errors, where there are any. */
js *gpu_state_between(const js *before, const js *after);

/* Adds what the measuring process saw of the links under load ({"GPU-…":{"gen":5,"width":16}}, not trusted)
 * as "link" to the GPUs of `uuids`. `state` may be NULL; returns it, or a new one when there is something to
 * add. */
js *gpu_state_add_links(js *state, const js *uuids, const js *links);

/* Whether heat or a power brake held a GPU's clocks down meanwhile. */
bool gpu_state_throttled(const js *state);

#endif
