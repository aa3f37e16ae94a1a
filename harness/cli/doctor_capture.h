/* SPDX-License-Identifier: Apache-2.0 */
/* doctor --capture: what was looked at and judged, kept for somebody else. */
#ifndef GPUVET_CLI_DOCTOR_CAPTURE_H
#define GPUVET_CLI_DOCTOR_CAPTURE_H

#include "base/error.h"
#include "doctor/scene.h"
#include "system/recording.h"

#include <stdbool.h>

/* Before anything is read: whether `dir` will do, and `source` (still empty) records. `dir` NULL: nothing. */
bool doctor_capture_begin(const char *dir, const char *from, struct source *source,
                          struct recording *recording, struct error *err);
/* After the judgement. `dir` NULL: nothing. */
bool doctor_capture_end(const char *dir, const struct scene *scene, struct error *err);

#endif
