/* SPDX-License-Identifier: Apache-2.0 */
/* What the node is busy with, from counters that only grow: two readings and their difference. Reads /proc
 * and the cgroup of the caller; a counter that is not there is unknown, never zero. */
#ifndef GPUVET_SYSTEM_ACTIVITY_H
#define GPUVET_SYSTEM_ACTIVITY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ACTIVITY_MAX_PROCESSES = 8192 };

struct activity_process {
    pid_t pid;
    pid_t parent;
    int64_t cpu_ns; /* user and system, its own */
    char name[20];
};

struct activity {
    int64_t at_ns;   /* CLOCK_MONOTONIC */
    int64_t busy_ns; /* all CPUs together: everything but idle, iowait and steal */
    int64_t steal_ns;
    int64_t total_ns;
    int64_t psi_cpu_us, psi_io_us, psi_memory_us; /* "some" totals of /proc/pressure; -1 unknown */
    int64_t throttled_ns;                         /* activity_throttled_ns; -1 unknown */
    size_t n_processes;
    struct activity_process *processes; /* owned; by PID */
};

/* `root` is "" live, or the folder of a captured tree. */
bool activity_read(const char *root, struct activity *out, struct error *err);
void activity_free(struct activity *activity);

/* How long quotas have held the caller's cgroup (v1 or v2) and those above it back so far, summed over CPUs;
 * -1 unknown. */
int64_t activity_throttled_ns(const char *root);

struct activity_report {
    double seconds;
    double cpu_share; /* of all CPUs, used by others than us: 0 … 1 */
    double steal_share;
    double psi_cpu, psi_io, psi_memory; /* share of the time; NAN unknown */
    bool throttled;                     /* our cgroup was held back by its quota, or that of one above */
    pid_t top_pid;                      /* the foreign process with the most CPU time; 0: none */
    double top_share;                   /* in CPUs: 1.0 is one CPU's whole time */
    char top_name[20];
};

/* `self` and all its descendants (as seen in `to`) are us; `own_ended_ns` is the CPU time of descendants that
 * ended in between (they are in no list any more). */
void activity_between(const struct activity *from, const struct activity *to, pid_t self,
                      int64_t own_ended_ns, struct activity_report *out);

#endif
