/* SPDX-License-Identifier: Apache-2.0 */
#include "base/build.h"
#include "base/json.h"
#include "cli/commands.h"

#include <stdio.h>

struct version_values {
    bool json;
};

static void print_json(void) {
    js *object = js_new_object();
    js_set_string(object, "version", build_version());
    js_set_string(object, "build_id", build_id());
    js_set_string(object, "build_type", build_type());
    js_set_bool(object, "cuda", build_cuda()[0] != '\0');
    js *list = js_new_array();
    struct strings architectures = {0};
    strings_split(&architectures, build_cuda(), ' ');
    for (size_t i = 0; i < architectures.count; i++)
        js_append_string(list, architectures.items[i]);
    js_set(object, "cuda_architectures", list);
    js_print(object, stdout);
    strings_free(&architectures);
    js_free(object);
}

static int run_version(void *values, const struct strings *arguments) {
    (void)arguments;
    const struct version_values *v = values;
    if (v->json) {
        print_json();
        return 0;
    }
    printf("gpuvet %s build %s (%s)\n", build_version(), build_id(), build_type());
    if (build_cuda()[0] != '\0')
        printf("built with CUDA for architectures %s\n", build_cuda());
    else
        printf("built without CUDA: GPU cases are skips\n");
    return 0;
}

static const struct option_row rows[] = {
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct version_values, json),
     .help = "for machines"},
    {0},
};

const struct command command_version = {
    .name = "version",
    .summary = "which gpuvet this is",
    .details =
        "  gpuvet version\n"
        "  gpuvet version --json\n"
        "\n"
        "The build id covers every source file and the build's configuration: figures of programs with equal\n"
        "ids can be compared.\n",
    .options = rows,
    .values_size = sizeof(struct version_values),
    .run = run_version,
};
