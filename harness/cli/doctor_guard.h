/* SPDX-License-Identifier: Apache-2.0 */
/* Doctor answers in time even where a file that it reads lies on a file system that is dead. */
#ifndef GPUVET_CLI_DOCTOR_GUARD_H
#define GPUVET_CLI_DOCTOR_GUARD_H

#include "base/json.h"

#include <stdbool.h>

/* Milliseconds in the guarded child. An answer stands within 10 s of the start; where a dead mount was found,
 * finding it took some of them. Who asks questions there stops so much earlier that judging and printing have
 * their time. */
enum { DOCTOR_USUAL_MS = 9600, DOCTOR_DEAD_MS = 7000, DOCTOR_JUDGING_MS = 600 };

/* Runs `body` in a child and returns its exit status. A child that is late is killed, and one line says what
 * is dead (`dead`: an array of mount points, NULL none known): status 1. `slow`: two minutes instead, for a
 * capture that is written. */
int doctor_guarded(int (*body)(void *argument), void *argument, const js *dead, bool slow);

#endif
