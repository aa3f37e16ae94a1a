/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUVET_SMOKE_PEERS_H
#define GPUVET_SMOKE_PEERS_H

#include "system/gpus.h"

/* Exchanges of flags between two streams of the first GPU, also one that must give up. On two GPUs and more:
 * every P2P item of the plan that this machine gives for the first two (primary, descriptive, and those that
 * are damaged on purpose), measured as a worker would, with a refused and a taken-back mapping. Prints as
 * smoke.c does; returns how many checks failed. */
int smoke_peers(const struct gpu_list *list);

#endif
