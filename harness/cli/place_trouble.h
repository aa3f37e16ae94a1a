/* SPDX-License-Identifier: Apache-2.0 */
/* Why a place of the machine cannot use the GPUs that the host has: the rules' word from both sides, in one
 * line that its skips carry. */
#ifndef GPUVET_CLI_PLACE_TROUBLE_H
#define GPUVET_CLI_PLACE_TROUBLE_H

#include "cli/prepare.h"

/* Where a place is broken: has doctor look from every place, keeps what it found with each, and puts whose
 * fault it is into `broken`. False only on an interrupt. */
bool place_trouble_find(struct prepared *p, struct interrupt *interrupt, struct error *err);

/* The first finding at fail level, which is the cause; NULL: none. Borrowed. */
const js *place_trouble_cause(const js *doctor);

/* Among what the host's doctor says: of the host itself; of that container. NULL: nothing. Borrowed. */
const js *place_trouble_of_host(const js *doctor);
const js *place_trouble_from_host(const js *doctor, const struct target *target);

#endif
