/* SPDX-License-Identifier: Apache-2.0 */
/* The report that gpuvet run writes at its end (--report DIR), by the same way as gpuvet report. */
#ifndef GPUVET_CLI_REPORT_H
#define GPUVET_CLI_REPORT_H

#include "compare/compare.h"

/* Before anything is measured: makes the folder, and sees that it can be written. */
bool report_check_folder(const char *folder, struct error *err);

/* Of the run just written at `path`, set against `n_before` runs of the baseline of that name. All borrowed.
 * `comparison` NULL: it was set against nothing (`n_before` 0, `baseline` NULL). */
bool report_after_run(const char *folder, const char *path, const struct run *before, size_t n_before,
                      const char *baseline, const struct comparison *comparison, struct error *err);

#endif
