/* SPDX-License-Identifier: Apache-2.0 */
/* Whose process it is, from its cgroups: containers choose their names, and what is told of them goes to a
 * terminal. */
#define FUZZ_CORPUS "who"
#include "fuzz/fuzz.h"
#include "run/who.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t sizes[] = {1, 16, 256};
    char *text = mem_copy_bytes((const char *)data, size);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *out = malloc(sizes[i]);
        if (out != NULL && who_container(text, out, sizes[i])) {
            if (strnlen(out, sizes[i]) >= sizes[i])
                abort();
            for (const char *c = out; *c != '\0'; c++)
                if (*c < ' ' || *c > '~')
                    abort();
        }
        free(out);
    }
    free(text);
    return 0;
}
