/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of the driver's parts: as whole texts, since 570.124.04 and 570.124.06 do not work together. */
#ifndef GPUVET_DOCTOR_VERSIONS_H
#define GPUVET_DOCTOR_VERSIONS_H

#include "doctor/scene.h"

/* Of the loaded kernel module nvidia; NULL: not loaded, or not known. Borrowed. */
const char *versions_loaded(const struct scene *scene);

#endif
