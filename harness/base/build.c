/* SPDX-License-Identifier: Apache-2.0 */
#include "base/build.h"

#include "gpuvet_build.h" /* made at build time: cmake/build_id.cmake */

const char *build_version(void) {
    return GPUVET_VERSION;
}

const char *build_id(void) {
    return GPUVET_BUILD_ID;
}

const char *build_cuda(void) {
    return GPUVET_BUILD_CUDA;
}

const char *build_type(void) {
    return GPUVET_BUILD_TYPE;
}
