/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel module's file of any bytes. */
#define FUZZ_CORPUS "modinfo"
#include "fuzz/fuzz.h"
#include "system/modinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    js *info = modinfo_of(data, size);
    if (info != NULL && js_get_string(info, "signer", NULL) == NULL)
        abort(); /* it has a signature or none */
    if (info != NULL)
        free(js_text(info));
    js_free(info);
    return 0;
}
