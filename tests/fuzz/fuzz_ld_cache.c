/* SPDX-License-Identifier: Apache-2.0 */
/* The loader's cache of a container: what it says lies in it and ends in it. */
#define FUZZ_CORPUS "ld_cache"
#include "fuzz/fuzz.h"
#include "system/facts_read.h"

#include <limits.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"libcuda.so.1", "libnccl.so.2", "", "none"};
    struct text file = {0};
    text_add_bytes(&file, (const char *)data, size);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *found = ld_cache_find(&file, names[i]);
        if (found == NULL)
            continue;
        if (found < file.data || found >= file.data + file.length ||
            strnlen(found, PATH_MAX) >= (size_t)(file.data + file.length - found))
            abort();
    }
    text_free(&file);
    return 0;
}
