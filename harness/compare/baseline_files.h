/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind baseline.h share. */
#ifndef GPUVET_COMPARE_BASELINE_FILES_H
#define GPUVET_COMPARE_BASELINE_FILES_H

#include "compare/baseline.h"

enum {
    BASELINE_MAX_NAME = 120,
    BASELINE_MAX_NAMES = 10000,
    BASELINE_MAX_RUNS = 1000,
    BASELINE_MAX_MANIFEST = 1 << 20,
};

/* [A-Za-z0-9._-], without a leading dot: safe as one part of a path. */
bool baseline_name_is_good(const char *name);

/* RESULTS/baselines[/name[/file]]; release with free. */
char *baseline_path(const char *results, const char *name, const char *file);

/* Removes the files of a folder and the folder. */
bool baseline_remove_folder(const char *path, struct error *err);

/* Reads one run to the end of the array. */
bool runs_add(const char *path, struct run **runs, size_t *n, struct error *err);

/* The path of a run file: `name` itself, or the file of that name in RESULTS/runs/ (`results` NULL: none).
 * Release with free; NULL: neither is there. */
char *run_path(const char *results, const char *name);

#endif
