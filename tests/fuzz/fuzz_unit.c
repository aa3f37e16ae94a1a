/* SPDX-License-Identifier: Apache-2.0 */
/* Device lines of systemd units. */
#define FUZZ_CORPUS "unit"
#include "fuzz/fuzz.h"
#include "system/containers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = mem_copy_bytes((const char *)data, size);
    struct container_list list = {mem_zeroed(1, sizeof(struct container)), 1, 1};
    struct container *c = &list.items[0];
    c->kind = CONTAINER_UNIT;
    container_parse_unit("/etc/systemd/system/a.service", text, c);
    for (size_t i = 0; i < c->n_rules; i++)
        if (c->rules[i].class_name == NULL || c->rules[i].line < 1)
            abort();
    (void)container_allows(c, 0, 195, 0);
    containers_free(&list);
    free(text);
    return 0;
}
