/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUVET_CLI_OUTPUT_H
#define GPUVET_CLI_OUTPUT_H

/* What was printed must have arrived: a full disk is no success. A closed pipe is the reader's choice.
 * Returns `status`, or a failing one in place of 0. For each process that prints, at its end. */
int output_finish(int status);

#endif
