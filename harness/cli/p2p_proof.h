/* SPDX-License-Identifier: Apache-2.0 */
/* What the records of a run prove about P2P, and the findings that follow: the rules know then that a bridge
 * or an IOMMU is not only suspicious, but that something between these GPUs is broken. */
#ifndef GPUVET_CLI_P2P_PROOF_H
#define GPUVET_CLI_P2P_PROOF_H

#include "base/error.h"
#include "base/json.h"
#include "run/record.h"

/* Adds to `proof`, an array, what a record of a p2p case proves: {"from","to","finding","why","round"}, GPUs
 * by address, each finding once a pair. What a record damaged on purpose proves nothing. */
void p2p_proof_take(js *proof, const js *record);

/* Judges this machine with that proof, writes the p2p findings to the run and says the first ones on stderr.
 * False only when the run cannot be written. */
bool p2p_proof_find(const js *proof, const char *target, struct run_writer *writer, struct error *err);

#endif
