/* SPDX-License-Identifier: Apache-2.0 */
/* Doctor answers in time even where a file that it reads lies on a file system that is dead. */
#ifndef GPUVET_CLI_DOCTOR_GUARD_H
#define GPUVET_CLI_DOCTOR_GUARD_H

#include "base/json.h"

#include <stdbool.h>

/* Runs `body` in a child and returns its exit status. When it is late it is killed, and one line says what is
 * dead
 * (`dead`: mount points, NULL none known): status 1. `slow`: writing a capture may take longer. */
int doctor_guarded(int (*body)(void *argument), void *argument, const js *dead, bool slow);

#endif
