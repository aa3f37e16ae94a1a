/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs an item touches. Everybody who asks (opening them, their liveness, hangs, filters) asks here. */
#ifndef GPUVET_RUN_WHERE_H
#define GPUVET_RUN_WHERE_H

#include "base/json.h"
#include "base/text.h"

/* Adds the UUIDs that `where` (any JSON) names, each once, in this order: "gpu", "from", "to", then "gpus"
 * (joined by '+'). At most WHERE_MAX_GPUS: what is beyond them comes from no plan of ours. */
enum { WHERE_MAX_GPUS = 64 };
void where_gpus(const js *where, struct strings *out);

#endif
