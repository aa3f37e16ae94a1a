/* SPDX-License-Identifier: Apache-2.0 */
#include "system/recording.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RECORDED = 100000, MAX_BYTES = 128 << 20 };

/* The entry of `path`, made when it is new; NULL: there are too many. */
static struct recorded *entry_of(struct recording *r, const char *path) {
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(r->items[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < r->count && strcmp(r->items[low].path, path) == 0)
        return &r->items[low];
    if (r->count >= MAX_RECORDED || path[0] != '/') {
        r->cut = true;
        return NULL;
    }
    r->items = mem_grow(r->items, r->count, &r->capacity, sizeof *r->items);
    memmove(&r->items[low + 1], &r->items[low], (r->count - low) * sizeof *r->items);
    r->count++;
    r->items[low] = (struct recorded){.path = mem_copy_string(path)};
    return &r->items[low];
}

void recording_read(struct recording *r, const char *path, const char *bytes, size_t length, int why) {
    if (why == ENOENT || why == ENOTDIR)
        return;
    struct recorded *entry = entry_of(r, path);
    if (entry == NULL)
        return;
    if (why != 0) {
        entry->why = entry->bytes == NULL ? why : 0;
        return;
    }
    entry->why = 0;
    /* Of a file that moves the first look counts, of one read further the longer. */
    if (entry->bytes != NULL && entry->length >= length)
        return;
    if (r->bytes + length > MAX_BYTES) {
        r->cut = true;
        return;
    }
    r->bytes += length - entry->length;
    free(entry->bytes);
    entry->bytes = mem_copy_bytes(bytes, length);
    entry->length = length;
}

void recording_list(struct recording *r, const char *path, const struct strings *names) {
    struct recorded *folder = entry_of(r, path);
    if (folder == NULL)
        return;
    folder->listed = true;
    for (size_t i = 0; i < names->count; i++) {
        struct text child = {0};
        text_addf(&child, "%s%s%s", path, text_ends(path, "/") ? "" : "/", names->items[i]);
        recording_path(r, text_string(&child));
        text_free(&child);
    }
}

void recording_path(struct recording *r, const char *path) {
    (void)entry_of(r, path);
}

void recording_free(struct recording *r) {
    for (size_t i = 0; i < r->count; i++) {
        free(r->items[i].path);
        free(r->items[i].bytes);
    }
    free(r->items);
    *r = (struct recording){0};
}
