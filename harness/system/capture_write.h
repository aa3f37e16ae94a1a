/* SPDX-License-Identifier: Apache-2.0 */
/* Writing gpuvet.capture/1 of the live machine (docs/capture.md): what was recorded while facts were read and
 * rules judged, so that `--from` reads the same again. */
#ifndef GPUVET_SYSTEM_CAPTURE_WRITE_H
#define GPUVET_SYSTEM_CAPTURE_WRITE_H

#include "base/error.h"
#include "system/device_nodes.h"
#include "system/driver_state.h"
#include "system/facts.h"

#include <stdbool.h>

struct capture {
    const struct source *source; /* live, with its recording and probes */
    const struct facts *facts;
    const struct device_nodes *nodes;
    const struct driver_state *driver;
    const char *where, *manager;
    char *topology;   /* hwloc's export; NULL: none */
    char *kernel_log; /* NULL: it may not be read */
};

/* Whether `dir` can become a capture: it is not there, or an empty folder. Asked before minutes are spent. */
bool capture_check(const char *dir, struct error *err);
/* The folder, with mode 0700, appears whole or not at all. */
bool capture_write(const char *dir, const struct capture *capture, struct error *err);

#endif
