/* SPDX-License-Identifier: Apache-2.0 */
/* Naming who disturbs: a process with its command and container, a cgroup with its quota. */
#ifndef GPUVET_RUN_WHO_H
#define GPUVET_RUN_WHO_H

#include "system/facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "docker container 0123456789ab", "lxc container web" from the text of /proc/PID/cgroup. False: no container
 * that is known here. */
bool who_container(const char *cgroup, char *out, size_t size);

/* "PID 4711 (python3, docker container 0123456789ab)". `name` is the command where it is known already, else
 * NULL: then /proc is asked. A process of another PID namespace has its number only. */
void who_process(int64_t pid, const char *name, char *out, size_t size);

/* A CPU quota over this process. */
struct who_quota {
    char group[128]; /* "/a/b" */
    int64_t quota_us, period_us;
};

/* The tightest one among the cgroup of the process and those above it. False: none. */
bool who_quota(const struct source *source, struct who_quota *out);

/* Where the tightest quota is less than the `cpus` that the process may run on: a line that says so. */
bool who_lacks_cpus(const struct source *source, int cpus, char *out, size_t size);

/* "the CPU quota of cgroup /a/b (20000 of 100000 us)": the tightest one here. */
void who_throttles(char *out, size_t size);

#endif
