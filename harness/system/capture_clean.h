/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture must not hold: secrets, and what identifies a machine or its people. Line numbers stay,
 * since findings name them; what rules read stays as it is. docs/capture.md says what is left out. */
#ifndef GPUVET_SYSTEM_CAPTURE_CLEAN_H
#define GPUVET_SYSTEM_CAPTURE_CLEAN_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Adds what of the file `path` may be kept. False: nothing of it (machine ids, serial numbers). */
bool capture_clean_file(const char *path, const char *bytes, size_t length, struct text *out);
/* The kernel log: no hardware and network addresses, no secrets. */
void capture_clean_log(const char *log, struct text *out);
/* hwloc's export: no names, serial numbers and addresses of the machine, its boards, disks and networks. */
void capture_clean_topology(const char *xml, struct text *out);

#endif
