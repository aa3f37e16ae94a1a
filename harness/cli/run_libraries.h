/* SPDX-License-Identifier: Apache-2.0 */
/* Which libraries a run measures with, down to their hashes. */
#ifndef GPUVET_CLI_RUN_LIBRARIES_H
#define GPUVET_CLI_RUN_LIBRARIES_H

#include "cli/prepare.h"

/* Adds lib.NAME.{path,version,sha256} of the libraries that the planned items load to a header's environment:
 * libcuda where a GPU is measured, NCCL and cuBLASLt where a case needs them, as the first place loads them
 * (--nccl may name another NCCL than the loader finds). Of this machine only; takes half a second where all
 * three are read, so it is for the time before anything is measured. What cannot be loaded is left as it is.
 */
void run_libraries_add(const struct prepared *p, js *environment);

#endif
