/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel log of any bytes. */
#define FUZZ_CORPUS "kernel_log"
#include "fuzz/fuzz.h"
#include "system/kernel_log.h"

/* What goes to evidence is printable and an address is one. */
static void check(const struct kernel_event *event) {
    for (const char *s = event->text; *s != '\0'; s++)
        if ((unsigned char)*s < 0x20)
            abort();
    size_t length = strlen(event->bdf);
    if (length != 0 && (length < 12 || strspn(event->bdf, "0123456789abcdef:.") != length))
        abort();
    if (event->code < -1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct kernel_log log;
    char *text = mem_copy_bytes((const char *)data, size);
    kernel_log_parse(text, &log);
    if (!log.known || log.count > size)
        abort(); /* an event takes more than a byte */
    for (size_t i = 0; i < log.count; i++) {
        const struct kernel_event *event = &log.items[i];
        check(event);
        if (kernel_log_last(&log, event->kind, event->bdf) == NULL ||
            kernel_log_count(&log, event->kind, event->bdf, event->code) == 0)
            abort();
    }
    kernel_log_free(&log);
    free(text);
    return 0;
}
