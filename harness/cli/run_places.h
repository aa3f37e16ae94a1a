/* SPDX-License-Identifier: Apache-2.0 */
/* What `gpuvet run` does once for each place: a table, the rules' findings where CUDA is broken. */
#ifndef GPUVET_CLI_RUN_PLACES_H
#define GPUVET_CLI_RUN_PLACES_H

#include "cli/prepare.h"
#include "cli/run_view.h"

struct run_places {
    const struct prepared *prepared;
    struct run_table *tables;  /* one a place */
    struct run_place *places;  /* the coordinator's */
    js **proof;                /* one a place: what its records prove about P2P (cli/p2p_proof.h) */
    struct run_writer *writer; /* for the findings at the end; NULL: none, as for a simulated run */
    size_t n;
    bool
        broken; /* CUDA does not start in at least one of them, where another place of the machine has GPUs */
};

void run_places_make(struct run_places *r, const struct prepared *prepared, bool simulate,
                     struct clock *clock);
void run_places_free(struct run_places *r);

/* Callbacks for the coordinator, which hand each word to the table it is for. */
struct run_view run_places_view(struct run_places *r);

/* Where CUDA is broken: has the rules look from each place of that machine, writes what they found to the run
 * (type finding, with the place as target), and says on stderr whose fault it is. False only when the run
 * cannot be written, or on an interrupt. */
bool run_places_doctor(struct run_places *r, struct interrupt *interrupt, struct run_writer *writer,
                       struct error *err);

void run_places_print(const struct run_places *r, FILE *out);
void run_places_print_plan(const struct prepared *prepared);

#endif
