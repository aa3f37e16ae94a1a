/* SPDX-License-Identifier: Apache-2.0 */
/* Doctor answers in time even where a file that it reads lies on a file system that is dead. */
#ifndef GPUVET_CLI_DOCTOR_GUARD_H
#define GPUVET_CLI_DOCTOR_GUARD_H

#include "base/json.h"

#include <stdbool.h>

/* An answer stands within 10 s of the start. With something dead in sight it needs what finding that left of
 * them; without, only the bounded questions take time. What asks them ends a little before. */
enum { DOCTOR_USUAL_MS = 9600, DOCTOR_DEAD_MS = 7000, DOCTOR_JUDGING_MS = 600 };

/* Runs `body` in a child and returns its exit status. When it is late it is killed, and one line says what is
 * dead
 * (`dead`: mount points, NULL none known): status 1. `slow`: writing a capture may take longer. */
int doctor_guarded(int (*body)(void *argument), void *argument, const js *dead, bool slow);

#endif
