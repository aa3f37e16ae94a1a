/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine was before: the environment that doctor sets numbers against. */
#ifndef GPUVET_CLI_DOCTOR_BASELINE_H
#define GPUVET_CLI_DOCTOR_BASELINE_H

#include "base/error.h"
#include "base/json.h"

#include <stdbool.h>

/* `given`: a saved baseline's name or a capture's folder; NULL: the newest saved one of this machine, if any.
 * `out`: its flat environment (owned), NULL where there is none. False when what was named cannot be read. */
bool doctor_baseline(const char *given, const char *results, const char *machine_id, js **out,
                     struct error *err);

#endif
