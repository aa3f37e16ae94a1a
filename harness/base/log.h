/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for the user on stderr: "gpuvet: warning: …". One call is one line and one write, so that lines of
 * several processes do not mix. Control characters become '?'. */
#ifndef GPUVET_BASE_LOG_H
#define GPUVET_BASE_LOG_H

#include "base/error.h"

void log_error(const struct error *err); /* frames too when GPUVET_TRACE is set */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
