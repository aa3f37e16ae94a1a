/* SPDX-License-Identifier: Apache-2.0 */
/* From a command line to places and plans: what `run` and `list` share. */
#ifndef GPUVET_CLI_PREPARE_H
#define GPUVET_CLI_PREPARE_H

#include "run/coordinator.h"
#include "target/undo.h"

struct prepare_options {
    const char *from;         /* a capture's folder; NULL: the live machine */
    const struct strings *in; /* the targets; NULL or empty: the host */
    bool simulate;            /* with `from`: workers are started in the targets all the same */
    bool may_start;           /* stopped containers and images */
    bool own_placement;       /* items of a container a second time, where it puts them itself */
    const struct strings *gpus;
    struct plan_options plan;
};

/* One target with what it sees and what is to be measured there. */
struct prepared_place {
    struct target target;
    struct node node;
    js *all_gpus; /* the "gpus" array before it was narrowed, owned */
    struct cuda_probe cuda;
    bool same_machine;    /* as the first place */
    char broken[900];     /* why nothing that needs a GPU runs there although the first place has GPUs; "": it
                             does */
    js *doctor;           /* where a place is broken: what the rules found here, owned; NULL: not asked */
    char no_doctor[1024]; /* or why they found nothing */
    struct plan plan;
};

struct prepared {
    struct prepared_place *places; /* the host comes first where it is among them */
    size_t n_places;
    double worker_seconds; /* what starting a worker takes, measured (live) or estimated */
    struct undo undo;
};

bool prepare(const struct prepare_options *options, struct interrupt *interrupt, struct prepared *out,
             struct error *err);
/* Also waits until containers that were started are stopped again. */
void prepared_free(struct prepared *p);

/* Predicted seconds of the whole run, from its header to its footer. */
double prepared_seconds(const struct prepared *p);

#endif
