/* SPDX-License-Identifier: Apache-2.0 */
/* From names on the command line to two environments (compare/env_diff.h sets them against each other). */
#ifndef GPUVET_CLI_ENV_DIFF_H
#define GPUVET_CLI_ENV_DIFF_H

#include <stdbool.h>

/* gpuvet env diff: each side a capture's folder, a run file, a saved baseline (by name or folder), or a file
 * of env --json. Exit status: 0 the same, 1 something differs, 2 one could not be read. */
int env_diff_main(const char *results, const char *before, const char *after, bool json);

#endif
