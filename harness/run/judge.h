/* SPDX-License-Identifier: Apache-2.0 */
/* Turning what a worker answered into a record: identity and limits come from the plan, never from the
 * worker. */
#ifndef GPUVET_RUN_JUDGE_H
#define GPUVET_RUN_JUDGE_H

#include "base/json.h"
#include "run/plan.h"

/* A record of gpuvet.run/1 for one item. `measured` is the worker's record (borrowed, NULL: none came);
 * `outcome` and `reason` hold when none came. Samples that are not finite and positive make an error, samples
 * above the raw limit a fail ("impossible"), samples between limit and raw limit the flag above-header-limit.
 * Owned. */
js *judge_record(const struct plan_item *item, const char *target, int round, const js *measured,
                 const char *outcome, const char *reason);

/* A record for a case that cannot run here at all. Owned. */
js *judge_absence(const struct plan_absence *absence, const char *target);

#endif
