/* SPDX-License-Identifier: Apache-2.0 */
/* The look at hwloc's XML before hwloc gets it. hwloc itself is not here: it crashes on what is not its own,
 * and reads what comes from outside in a child. */
#define FUZZ_CORPUS "topology"
#include "fuzz/fuzz.h"
#include "system/topology_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    char *xml = mem_copy_bytes((const char *)data, size);
    bool good = topology_check(xml, size, &err);
    if (good != (err.kind == ERROR_NONE) || good != (err.text[0] == '\0'))
        abort(); /* a refusal says why */
    free(xml);
    return 0;
}
