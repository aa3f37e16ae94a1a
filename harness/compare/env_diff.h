/* SPDX-License-Identifier: Apache-2.0 */
/* Two environments set against each other without any figures: gpuvet env diff. */
#ifndef GPUVET_COMPARE_ENV_DIFF_H
#define GPUVET_COMPARE_ENV_DIFF_H

#include "compare/compare.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Fills worse, differences, not_visible and notes only; what moves by itself is never a difference. Each side
 * has at least one run, of which only the header counts. Release with comparison_free. */
void env_diff(const struct run *before, size_t n_before, const struct run *after, size_t n_after,
              struct comparison *out);
bool env_diff_same(const struct comparison *c);
/* For people: what changed, what only one side has. */
void env_diff_print(const struct comparison *c, FILE *out);
/* gpuvet.env-diff/1, owned. */
js *env_diff_json(const struct comparison *c, const char *before, const char *after);

#endif
