/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUVET_CLI_REPORT_H
#define GPUVET_CLI_REPORT_H

#include "compare/compare.h"

/* gpuvet run --report DIR, before anything is measured: makes the folder, and sees that it can be written. */
bool report_check_folder(const char *folder, struct error *err);

/* gpuvet run --report DIR: the report of the run just written. `comparison` NULL: it was set against nothing.
 */
bool report_after_run(const char *folder, const char *path, const struct run *before, size_t n_before,
                      const char *baseline, const struct comparison *comparison, struct error *err);

#endif
