/* SPDX-License-Identifier: Apache-2.0 */
/* NVML asked in a child of its own, since a sick driver can hang or crash whoever asks. The caller needs no
 * thread, and nothing of NVML stays behind in it. */
#ifndef GPUVET_GPU_FACTS_CHILD_H
#define GPUVET_GPU_FACTS_CHILD_H

#include "base/error.h"
#include "base/json.h"
#include "system/gpus.h"

#include <stdbool.h>
#include <stdint.h>

/* How long it is waited for: who asked is told of a driver that hangs within ten seconds, all else included.
 */
#define GPU_FACTS_LIMIT_NS INT64_C(9000000000)

/* The GPUs of this node. No library, no driver, an error, a crash, no answer in time: all of them are an
 * answer
 * (`count` 0 and `out->reason`). False only when no child could be started. Release with gpu_list_free. */
bool gpu_facts_child(struct gpu_list *out, int64_t timeout_ns, struct error *err);

/* What gpu_facts_child filled has no GPU because the driver hung or crashed whoever asked: no state of a
 * healthy node, as the want of a driver is. */
bool gpu_facts_unanswered(const struct gpu_list *gpus);

/* nvml_activity's array (owned); NULL with `err` filled when it cannot be had. */
js *gpu_activity_child(int64_t timeout_ns, struct error *err);

#endif
