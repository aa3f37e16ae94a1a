/* SPDX-License-Identifier: Apache-2.0 */
/* Naming who disturbs: a process with its command and container, a cgroup with its quota. */
#ifndef GPUVET_RUN_WHO_H
#define GPUVET_RUN_WHO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "docker container 0123456789ab", "lxc container web" from the text of /proc/PID/cgroup. False: no container
 * that is known here. */
bool who_container(const char *cgroup, char *out, size_t size);

/* "PID 4711 (python3, docker container 0123456789ab)". `name` is the command where it is known already, else
 * NULL: then /proc is asked. A process of another PID namespace has its number only. */
void who_process(int64_t pid, const char *name, char *out, size_t size);

/* "the CPU quota of cgroup /a/b (20000 of 100000 us)": the nearest group of this process that has one. */
void who_throttles(char *out, size_t size);

#endif
