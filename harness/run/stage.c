/* SPDX-License-Identifier: Apache-2.0 */
#include "run/stage.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STAGE_BYTES = 512 };

struct stage {
    char words[STAGE_BYTES];
};

struct stage *stage_make(void) {
    void *page = mmap(NULL, sizeof(struct stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? NULL : page;
}

void stage_free(struct stage *stage) {
    if (stage != NULL)
        munmap(stage, sizeof *stage);
}

void stage_set(struct stage *stage, const char *format, ...) {
    if (stage == NULL)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(stage->words, sizeof stage->words, format, args);
    va_end(args);
}

/* The other side may be writing, or be broken: a copy, ended by us, and nothing that a terminal obeys. */
void stage_get(const struct stage *stage, char *out, size_t size) {
    char copy[STAGE_BYTES] = "";
    if (stage != NULL)
        memcpy(copy, stage->words, sizeof copy);
    copy[sizeof copy - 1] = '\0';
    char *clean = text_printable(copy);
    snprintf(out, size, "%s", clean);
    free(clean);
}
