/* SPDX-License-Identifier: Apache-2.0 */
/* doctor --fix: the change that mends a container's configuration, shown, and with --apply made. */
#ifndef GPUVET_CLI_DOCTOR_FIX_H
#define GPUVET_CLI_DOCTOR_FIX_H

#include "cli/doctor_view.h"

struct doctor_fix_options {
    const char *what; /* "lxc:NAME" or a container's name; "cdi", "udev" */
    struct doctor_view_options view;
    bool apply, json;
};

/* The exit status: 0 nothing is to be done, or it was done; 1 there is something to change, or the container
 * is broken still; 2 refused. */
int doctor_fix(const struct doctor_fix_options *options);

/* For CDI specifications and udev rules: shown only. */
int doctor_fix_shown(const struct doctor_fix_options *options, struct error *err);

#endif
