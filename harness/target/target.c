/* SPDX-License-Identifier: Apache-2.0 */
#include "target/target.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool target_parse(const char *text, struct target *out, struct error *err) {
    *out = (struct target){0};
    if (strcmp(text, "host") != 0)
        return FAIL(err, ERROR_USAGE, "cannot measure in '%s': the only place known to --in is 'host'", text);
    out->name = mem_copy_string(text);
    return true;
}

void target_free(struct target *target) {
    free(target->name);
    strings_free(&target->prefix);
    *target = (struct target){0};
}

void target_worker_argv(const struct target *target, bool facts, struct strings *argv) {
    for (size_t i = 0; i < target->prefix.count; i++)
        strings_add(argv, target->prefix.items[i]);
    /* The very file that runs, also when a newer build has replaced it on disk meanwhile. */
    strings_add(argv, "/proc/self/exe");
    strings_add(argv, "worker");
    if (facts)
        strings_add(argv, "--facts");
}
