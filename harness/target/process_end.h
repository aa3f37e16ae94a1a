/* SPDX-License-Identifier: Apache-2.0 */
/* Ending a program that was started in a process group of its own, so that it can tidy up: srun cancels its
 * step, a script takes away what it made. */
#ifndef GPUVET_TARGET_PROCESS_END_H
#define GPUVET_TARGET_PROCESS_END_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Waits for it to end by itself; false: it runs on. What comes meanwhile out of `talk` (-1: nothing; not
 * blocking) is read and dropped, so that last words hold nobody up. */
bool process_wait(pid_t pid, int64_t limit_ns, int talk);

/* Asks its group to end (SIGTERM), ends it when two seconds were not enough (SIGKILL), and reaps the program
 * itself, which may take two seconds more: one may be stuck in the kernel. True when it is gone; `status` as
 * waitpid gives it. */
bool process_end(pid_t pid, int talk, int *status);

#endif
