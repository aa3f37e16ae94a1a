/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel module's file: ELF, .modinfo, an appended signature. */
#define FUZZ_CORPUS "modinfo"
#include "fuzz/fuzz.h"
#include "system/modinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    js *info = modinfo_of(data, size);
    if (info != NULL && js_get_string(info, "signer", NULL) == NULL)
        abort(); /* it has a signature or none */
    for (struct js_member m = js_first(info); m.key != NULL; m = js_next(info, m))
        if (!js_is_string(m.value))
            abort();
    js_free(info);
    return 0;
}
