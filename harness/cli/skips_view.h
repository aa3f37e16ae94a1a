/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan leaves out, by reason: most often one reason (no driver, no GPU) has many cases. */
#ifndef GPUVET_CLI_SKIPS_VIEW_H
#define GPUVET_CLI_SKIPS_VIEW_H

#include "run/plan.h"

#include <stdio.h>

/* Each reason once, with the number of its items, and below it their cases; `word` says what they are
 * ("skipped", "not here"). Prints nothing where nothing is left out. */
void skips_print(const struct plan *plan, const struct node *node, const char *word, FILE *out);

#endif
