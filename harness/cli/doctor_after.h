/* SPDX-License-Identifier: Apache-2.0 */
/* doctor --after-upgrade: at boot, before the jobs; judges when kernel, driver or the numbers of devices are
 * not what they were, and leaves the verdict where somebody sees it. */
#ifndef GPUVET_CLI_DOCTOR_AFTER_H
#define GPUVET_CLI_DOCTOR_AFTER_H

#include "base/json.h"
#include "cli/doctor_view.h"

struct doctor_after_options {
    struct doctor_view_options view;
    const char *motd;  /* a file; NULL: /run/motd.d/gpuvet, of a capture none; "-": none */
    const char *state; /* what was seen last; NULL: /var/lib/gpuvet/last-seen.json, of a capture none */
    bool strict;       /* a warn is a 1 too, and judged again */
};

/* The exit status: 0 nothing changed, or no fail; 1 a fail (strict: or warn); 2 it could not be judged or
 * told. */
int doctor_after(const struct doctor_after_options *options);

/* The environment that was seen before the last change here, for machines without a baseline; owned, NULL:
 * not known. */
js *doctor_after_before(void);

#endif
