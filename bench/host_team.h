/* SPDX-License-Identifier: Apache-2.0 */
/* Threads on chosen CPUs, for host cases. */
#ifndef GPUVET_BENCH_HOST_TEAM_H
#define GPUVET_BENCH_HOST_TEAM_H

#include "base/error.h"

#include <stdbool.h>

struct host_team;

/* Runs body(team, shared, index) on `n` threads, thread i pinned to cpus[i], and joins them. None begins
 * before all are there; where one cannot be started none runs. One that could not be pinned runs all the
 * same, since the others may wait for it, and its error is handed back. */
bool host_team_run(const int *cpus, int n, void (*body)(struct host_team *team, void *shared, int index),
                   void *shared, struct error *err);

/* Waits, spinning, until all threads are here. */
void host_team_meet(struct host_team *team);

/* One turn of a waiting loop. */
static inline void host_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif
