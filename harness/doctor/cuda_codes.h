/* SPDX-License-Identifier: Apache-2.0 */
/* What a code of cuInit says by itself, so that one which no rule explains still leads somewhere. */
#ifndef GPUVET_DOCTOR_CUDA_CODES_H
#define GPUVET_DOCTOR_CUDA_CODES_H

struct cuda_code {
    int code;
    const char *name;    /* "CUDA_ERROR_NO_DEVICE" */
    const char *meaning; /* what is known to give it when CUDA starts */
    const char *look;    /* where to look next */
};

/* Never NULL: a code that is not in the table has the name "CUDA error" and says so. */
const struct cuda_code *cuda_code_find(int code);

#endif
