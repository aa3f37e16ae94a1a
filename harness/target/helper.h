/* SPDX-License-Identifier: Apache-2.0 */
/* Running somebody else's program (lxc-info, docker, dd in a container) by argv, bounded in time and output.
 */
#ifndef GPUVET_TARGET_HELPER_H
#define GPUVET_TARGET_HELPER_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum { HELPER_MAX_OUTPUT = 1 << 16, HELPER_TOO_LATE = -1 };

struct helper {
    const struct strings *argv;
    const struct strings *environment; /* all that it gets; NULL: ours */
    int input;                         /* its stdin, borrowed; -1: nothing */
    int interrupt_fd;                  /* readable ends the wait; -1: none */
    int64_t limit_ns;
    size_t max_output; /* of stdout, what is kept of it; 0: HELPER_MAX_OUTPUT */
};

struct helper_result {
    int status;         /* of exit; 128 + signal when killed */
    struct text output; /* the beginning of stdout */
    struct text errors; /* of stderr */
};
void helper_result_free(struct helper_result *result);

/* True when it ran and ended, whatever its status. False with `err`: it could not be started, took too long
 * (err->native is HELPER_TOO_LATE), or ERROR_INTERRUPTED; it is asked to end first, and killed when it does
 * not, which may take four seconds more. */
bool helper_run(const struct helper *how, struct helper_result *out, struct error *err);

/* The same; a status other than 0 is a failure too, with the program's last words. */
bool helper_must(const struct helper *how, struct helper_result *out, struct error *err);

/* What it said last, for an error's text; borrowed. */
const char *helper_last_words(struct helper_result *result);

/* `environment` as execve takes it; release with free (the strings are borrowed). */
char **helper_environment(const struct strings *environment);

#endif
