/* SPDX-License-Identifier: Apache-2.0 */
/* Names from a machine or a capture inside of commands that somebody will paste: as one word of a shell,
 * whatever is in them. */
#ifndef GPUVET_DOCTOR_SHELL_WORD_H
#define GPUVET_DOCTOR_SHELL_WORD_H

#include <stddef.h>

/* `s` itself where it is plain; else in single quotes in `buffer`; "NAME" where that does not fit. */
const char *shell_word(const char *s, char *buffer, size_t size);

#endif
