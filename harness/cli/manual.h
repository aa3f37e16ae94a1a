/* SPDX-License-Identifier: Apache-2.0 */
/* The man page (docs/gpuvet.1) and bash's completion, made from the commands' option rows, so that neither
 * can say what the program does not do. */
#ifndef GPUVET_CLI_MANUAL_H
#define GPUVET_CLI_MANUAL_H

#include "base/options.h"

#include <stdio.h>

/* roff, for man(1). Hidden commands and options are left out. */
void manual_print(const struct command *const *commands, size_t count, FILE *out);

/* For `source <(gpuvet help --completion)`. */
void manual_print_completion(const struct command *const *commands, size_t count, FILE *out);

#endif
