/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/lost.h"

#include <stdio.h>

const char *lost_words(const struct scene *scene, char buffer[LOST_SIZE]) {
    enum { NO_DEVICE = 100 };
    int code = -1, nvml = -1;
    bool answered = scene_probe(scene, "cuInit", &code) == PROBE_ANSWERED;
    bool listed = scene_probe(scene, "nvmlInit", &nvml) == PROBE_ANSWERED && nvml == 0;
    bool some = listed && js_get_int(js_get(scene->probes, "nvmlInit"), "count", 0) > 0;
    if (answered && code == 0)
        snprintf(buffer, LOST_SIZE, "this GPU is lost, without an error from CUDA or NVML");
    else if (answered && code == NO_DEVICE && !some)
        snprintf(buffer, LOST_SIZE, "no GPU is left (cuInit %d)", code);
    else
        snprintf(buffer, LOST_SIZE, "this GPU is lost");
    return buffer;
}
