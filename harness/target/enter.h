/* SPDX-License-Identifier: Apache-2.0 */
/* Running this very program as if the same manager had started it beside a running process: in its cgroups
 * and namespaces, as its user, within its limits, on its CPUs. No file is needed there. */
#ifndef GPUVET_TARGET_ENTER_H
#define GPUVET_TARGET_ENTER_H

#include "base/error.h"
#include "base/text.h"

#include <sys/types.h>

/* Runs "gpuvet ARGUMENTS…" there and passes its exit status on. Returns 126 with one line on stderr when it
 * cannot. */
int enter_main(pid_t pid, const struct strings *arguments);

#endif
