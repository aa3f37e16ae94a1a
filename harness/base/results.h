/* SPDX-License-Identifier: Apache-2.0 */
/* Where results live: runs/ and baselines/ in one folder. */
#ifndef GPUVET_BASE_RESULTS_H
#define GPUVET_BASE_RESULTS_H

#include "base/error.h"

#include <stdbool.h>

/* `given` (--results; NULL: not given), else GPUVET_RESULTS, else ./results if it exists, else for root
 * /var/lib/gpuvet, else $XDG_STATE_HOME/gpuvet or ~/.local/state/gpuvet. `make` creates it with runs/ and
 * baselines/ and checks that it can be written; without it the folder must exist. Release with free; NULL
 * with `err`. */
char *results_folder(const char *given, bool make, struct error *err);

#endif
