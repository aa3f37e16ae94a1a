/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/versions.h"

#include <string.h>

const char *versions_loaded(const struct scene *scene) {
    for (size_t i = 0; i < scene->facts->n_modules; i++)
        if (strcmp(scene->facts->modules[i].name, "nvidia") == 0)
            return scene->facts->modules[i].version.value;
    return NULL;
}
