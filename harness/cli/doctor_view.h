/* SPDX-License-Identifier: Apache-2.0 */
/* A scene to judge, with all that it borrows: this machine or a capture, and what is known of before. */
#ifndef GPUVET_CLI_DOCTOR_VIEW_H
#define GPUVET_CLI_DOCTOR_VIEW_H

#include "base/error.h"
#include "base/json.h"
#include "doctor/scene.h"

#include <stdbool.h>

struct doctor_view {
    struct source source;
    struct facts *facts;
    struct device_nodes nodes;
    js *before;
    bool before_is_seen; /* no baseline's, but what --after-upgrade saw before the last change */
    struct scene scene;
    bool made; /* the scene */
};

struct doctor_view_options {
    const char *from;               /* a capture; NULL: this machine */
    const char *baseline, *results; /* as doctor_baseline takes them */
    bool probe;                     /* live: ask the driver too, up to 10 s */
    const js *dead;                 /* live: mount points that do not answer; NULL none known */
};

bool doctor_view_open(const struct doctor_view_options *options, struct doctor_view *out, struct error *err);
/* Safe after a failed opening. */
void doctor_view_close(struct doctor_view *view);

#endif
