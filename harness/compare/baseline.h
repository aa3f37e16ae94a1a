/* SPDX-License-Identifier: Apache-2.0 */
/* Baselines: RESULTS/baselines/NAME/ with baseline.json (gpuvet.baseline/1) and copies of its runs. */
#ifndef GPUVET_COMPARE_BASELINE_H
#define GPUVET_COMPARE_BASELINE_H

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "run/record.h"

#include <stdbool.h>
#include <stddef.h>

/* Saves copies of the run files `paths` under `name`, whole or not at all. `warnings` gets what makes the
 * baseline weaker than it could be. An existing one is replaced only with `force`. */
bool baseline_save(const char *results, const char *name, const struct strings *paths, bool force,
                   struct strings *warnings, struct error *err);

/* Reads all runs of a baseline (owned array) after checking them against their checksums. */
bool baseline_load(const char *results, const char *name, struct run **runs, size_t *n, struct error *err);

/* The manifest, checked in form but not against the run files; owned, NULL with `err`. */
js *baseline_manifest(const char *results, const char *name, struct error *err);

/* Letters, digits, . _ - only, no dot in front. */
bool baseline_check_name(const char *name, struct error *err);

/* Whether a baseline (sound or damaged) of that name is there. */
bool baseline_exists(const char *results, const char *name);

/* `name` NULL: the newest saved one of this machine, or *found NULL when there is none. Otherwise *found is a
 * copy of `name`, which must exist. Release with free. */
bool baseline_find(const char *results, const char *name, const char *machine_id, char **found,
                   struct error *err);

/* Names in alphabetical order; none when nothing was saved yet. */
bool baseline_names(const char *results, struct strings *names, struct error *err);
bool baseline_remove(const char *results, const char *name, struct error *err);

/* What the user calls a run: a path, the name of a file in RESULTS/runs/, or a baseline. Adds its runs to the
 * array. `results` NULL: only paths. */
bool runs_load(const char *results, const char *name, struct run **runs, size_t *n, struct error *err);
void runs_free(struct run *runs, size_t n);

#endif
