/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include "base/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int output_finish(int status) {
    errno = 0;
    bool failed = ferror(stdout) != 0;
    if (fflush(stdout) != 0)
        failed = true;
    if (!failed || errno == EPIPE)
        return status;
    struct error err = {0};
    FAIL(&err, ERROR_SYSTEM, "cannot write to standard output: %s",
         errno != 0 ? strerror(errno) : "an earlier write failed");
    log_error(&err);
    return status == 0 ? 2 : status;
}
