/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel log, as dmesg or journalctl prints it. */
#define FUZZ_CORPUS "log"
#include "fuzz/fuzz.h"
#include "system/kernel_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct kernel_log log;
    char *text = mem_copy_bytes((const char *)data, size);
    struct source source = {.kernel_log = text};
    kernel_log_read(&source, &log);
    for (size_t i = 0; i < log.count; i++) {
        const struct kernel_event *event = &log.items[i];
        if (event->text == NULL || strlen(event->bdf) >= sizeof event->bdf)
            abort();
        if (kernel_log_last(&log, event->kind, NULL) < event)
            abort();
    }
    kernel_log_free(&log);
    free(text);
    return 0;
}
