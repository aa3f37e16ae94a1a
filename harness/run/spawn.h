/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a program by argv (never through a shell), with pipes on its three standard descriptors, in a
 * process group of its own, so that an interrupt from the terminal reaches the coordinator alone. */
#ifndef GPUVET_RUN_SPAWN_H
#define GPUVET_RUN_SPAWN_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct spawned {
    pid_t pid;            /* 0: none */
    int to, from, errors; /* owned: its stdin, stdout, stderr; -1 closed */
};

/* `environment`: all that it gets, "NAME=value"; NULL: ours. */
bool spawn_with(const struct strings *argv, const struct strings *environment, struct spawned *out,
                struct error *err);
bool spawn(const struct strings *argv, struct spawned *out, struct error *err);

/* Closes what is open, waits `patience_ns` for it to end by itself, then ends it (process_end: within four
 * seconds). True when it is gone; `status` (may be NULL) as waitpid gives it. */
bool spawned_end(struct spawned *process, int64_t patience_ns, int *status);

/* SIGINT, SIGTERM and SIGHUP as something to poll for. */
struct interrupt {
    int fd;     /* readable when one came */
    int signal; /* which; 0: none yet */
};
bool interrupt_open(struct interrupt *interrupt, struct error *err);
/* True once a signal came; never waits. */
bool interrupt_came(struct interrupt *interrupt);
void interrupt_close(struct interrupt *interrupt);

#endif
