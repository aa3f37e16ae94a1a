/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the source tree that are in the program (cmake/embed.cmake). */
#ifndef GPUVET_REPORT_EMBEDDED_H
#define GPUVET_REPORT_EMBEDDED_H

struct embedded_file {
    const char *name, *text;
};
extern const struct embedded_file embedded_files[]; /* ends with a name of NULL */

/* NULL: there is none of that name. */
const char *embedded_text(const char *name);

#endif
