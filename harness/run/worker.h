/* SPDX-License-Identifier: Apache-2.0 */
/* The worker: a supervisor inside its target (host, container, …) that talks JSON lines with the coordinator
 * over stdin and stdout, forks the child that touches CUDA, and ends that child itself when it hangs. */
#ifndef GPUVET_RUN_WORKER_H
#define GPUVET_RUN_WORKER_H

#include <stdbool.h>

enum { WORKER_PROTOCOL = 1 };

/* Serves until the coordinator says bye, closes stdin or falls silent. `facts`: the hello carries the node
 * and whether CUDA starts. Returns the exit status: 0 after bye, 1 otherwise. */
int worker_main(bool facts);

#endif
