/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/lost.h"

#include "doctor/versions.h"

#include <stdio.h>

const char *lost_words(const struct scene *scene, char buffer[LOST_SIZE]) {
    enum { NO_DEVICE = 100 };
    int code = versions_cuda_code(scene);
    bool some = versions_nvml_works(scene) && versions_nvml_count(scene) > 0;
    if (code == 0)
        snprintf(buffer, LOST_SIZE, "this GPU is lost, without an error from CUDA or NVML");
    else if (code == NO_DEVICE && !some)
        snprintf(buffer, LOST_SIZE, "no GPU is left (cuInit %d)", code);
    else
        snprintf(buffer, LOST_SIZE, "this GPU is lost");
    return buffer;
}
