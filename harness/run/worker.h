/* SPDX-License-Identifier: Apache-2.0 */
/* The worker: a supervisor inside its target (host, container, …) that talks JSON lines with the coordinator
 * over stdin and stdout, forks the child that touches CUDA, and ends that child itself when it hangs. */
#ifndef GPUVET_RUN_WORKER_H
#define GPUVET_RUN_WORKER_H

#include <stdbool.h>

enum { WORKER_PROTOCOL = 2 };

/* As busy as this after a hang, a GPU still works on what nobody runs any more: the worker asks again, and
 * the item is not run once more on it (run/control.h). */
enum { WORKER_STILL_BUSY_PERCENT = 99 };

struct worker_options {
    bool facts;          /* the hello carries the node and whether CUDA starts */
    bool unlink;         /* the program's file was brought in for this: remove it first of all */
    bool limits_of_init; /* take over the limits of process 1 */
    bool parked;         /* wait for "wake" before greeting */
};

/* Serves until the coordinator says bye, closes stdin or falls silent. Returns the exit status: 0 after bye,
 * 1 otherwise. */
int worker_main(const struct worker_options *options);

#endif
