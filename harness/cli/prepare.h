/* SPDX-License-Identifier: Apache-2.0 */
/* From a command line to a node and a plan: what `run` and `list` share. */
#ifndef GPUVET_CLI_PREPARE_H
#define GPUVET_CLI_PREPARE_H

#include "run/coordinator.h"

struct prepare_options {
    const char *from; /* a capture's folder; NULL: the live machine */
    const char *in;   /* the target; "host" */
    const struct strings *gpus;
    struct plan_options plan;
};

struct prepared {
    struct target target;
    struct node node;
    js *all_gpus; /* the "gpus" array before it was narrowed, owned */
    struct cuda_probe cuda;
    double worker_seconds; /* what starting a worker takes, measured (live) or estimated */
    struct plan plan;
};

bool prepare(const struct prepare_options *options, struct interrupt *interrupt, struct prepared *out,
             struct error *err);
void prepared_free(struct prepared *p);

/* Predicted seconds of the whole run. */
double prepared_seconds(const struct prepared *p);

#endif
