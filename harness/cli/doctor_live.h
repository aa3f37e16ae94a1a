/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that doctor wants to know of this machine, asked in the order in which asking changes nothing.
 */
#ifndef GPUVET_CLI_DOCTOR_LIVE_H
#define GPUVET_CLI_DOCTOR_LIVE_H

#include "base/error.h"
#include "system/device_nodes.h"
#include "system/facts.h"

#include <stdbool.h>

/* Listings, then open(), then the groups, then NVML and cuInit, then the listings again; `source` gets the
 * probes and keeps the recording that it has. At most 10 s, whatever hangs. False: nothing could be read. */
bool doctor_live(const js *dead, struct source *source, struct facts **facts, struct device_nodes *nodes,
                 struct error *err);

#endif
