/* SPDX-License-Identifier: Apache-2.0 */
/* One item, measured in the process that calls: pin, prepare, warm up, time, verify. For the worker's child.
 */
#ifndef GPUVET_RUN_MEASURE_H
#define GPUVET_RUN_MEASURE_H

#include "base/json.h"

#include <stdbool.h>

struct shelf;

/* `item` is the message of the coordinator (docs/formats.md, "Messages"). Returns the record's measured part:
 * outcome, reason, samples, sm_mhz, flags, verify, pin, detail, link (owned). Never NULL. "sticky" is true
 * when a GPU's context no longer works: the process must be replaced. `shelf` holds what cases keep between
 * items.
 */
js *measure_item(const js *item, struct shelf *shelf);

/* The same from a seeded generator, without touching CPU or GPU: for --simulate. */
js *simulate_item(const js *item);

#endif
