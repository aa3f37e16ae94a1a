/* SPDX-License-Identifier: Apache-2.0 */
/* CDI specifications: JSON when the input begins with '{', else YAML. */
#define FUZZ_CORPUS "cdi"
#include "fuzz/fuzz.h"
#include "system/containers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *file = size > 0 && data[0] == '{' ? "/etc/cdi/nvidia.json" : "/etc/cdi/nvidia.yaml";
    char *text = mem_copy_bytes((const char *)data, size);
    struct container_list list = {mem_zeroed(1, sizeof(struct container)), 1, 1};
    struct container *c = &list.items[0];
    c->kind = CONTAINER_CDI;
    container_parse_cdi(file, text, size, c);
    if (c->problem != NULL && (c->problem[0] == '\0' || c->n_devices > 0))
        abort(); /* a refusal says why, and gives nothing */
    for (size_t i = 0; i < c->n_devices; i++)
        if (c->devices[i].host_path == NULL || c->devices[i].text == NULL ||
            container_device(c, c->devices[i].host_path) != &c->devices[i])
            abort(); /* each node once */
    containers_free(&list);
    free(text);
    return 0;
}
