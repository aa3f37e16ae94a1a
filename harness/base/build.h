/* SPDX-License-Identifier: Apache-2.0 */
/* Which program this is. The build id covers every source file and the configuration: equal ids measure
 * alike. */
#ifndef GPUVET_BASE_BUILD_H
#define GPUVET_BASE_BUILD_H

const char *build_version(void); /* "0.1.0" */
const char *build_id(void);      /* 16 hexadecimal digits */
const char *build_cuda(void);    /* "80-real 90-real … 121", as given to CMake; "": built without CUDA */
const char *build_type(void);    /* "Release" */

#endif
