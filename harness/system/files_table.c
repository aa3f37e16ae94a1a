/* SPDX-License-Identifier: Apache-2.0 */
#include "system/files_table.h"

#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 200000, N_COLUMNS = 9 };

void table_escape(struct text *out, const char *s) {
    for (; *s != '\0'; s++)
        if (*s == '\t')
            text_add(out, "\\t");
        else if (*s == '\n')
            text_add(out, "\\n");
        else if (*s == '\\')
            text_add(out, "\\\\");
        else
            text_add_bytes(out, s, 1);
}

void table_unescape(char *s) {
    char *to = s;
    for (; *s != '\0'; s++) {
        if (s[0] == '\\' && (s[1] == 't' || s[1] == 'n' || s[1] == '\\')) {
            s++;
            *to++ = (char)(*s == 't' ? '\t' : *s == 'n' ? '\n' : '\\');
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
}

static int64_t number(const char *s) {
    int64_t value = 0;
    return text_to_int(s, &value) && value >= 0 ? value : -1;
}

int table_mode(const char *s) {
    char *end = NULL;
    long value = strtol(s, &end, 8);
    return s[0] != '\0' && *end == '\0' && value >= 0 && value <= 07777 ? (int)value : -1;
}

/* What matters of the names: whether permission was lacking. */
static int why_of(const char *name) {
    static const struct {
        const char *name;
        int number;
    } known[] = {{"EACCES", EACCES}, {"EPERM", EPERM}, {"EIO", EIO}, {"ENODEV", ENODEV}};
    if (name[0] == '\0' || strcmp(name, "ok") == 0)
        return 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].number;
    return EINVAL;
}

static void take_line(struct files_table *out, char *line) {
    char *cell[N_COLUMNS];
    char nothing[] = "";
    for (size_t i = 0; i < N_COLUMNS; i++) {
        cell[i] = line != NULL ? line : nothing;
        char *tab = line != NULL ? strchr(line, '\t') : NULL;
        if (tab != NULL)
            *tab = '\0';
        line = tab != NULL ? tab + 1 : NULL;
    }
    if (cell[0][0] != '/')
        return;
    table_unescape(cell[0]);
    table_unescape(cell[7]);
    out->items = mem_grow(out->items, out->count, &out->capacity, sizeof *out->items);
    bool typed = cell[1][0] != '\0' && cell[1][1] == '\0' && strchr("cbfdlsp", cell[1][0]) != NULL;
    out->items[out->count++] = (struct file_entry){.path = mem_copy_string(cell[0]),
                                                   .type = typed ? cell[1][0] : '?',
                                                   .mode = table_mode(cell[2]),
                                                   .uid = number(cell[3]),
                                                   .gid = number(cell[4]),
                                                   .size = number(cell[5]),
                                                   .mtime = number(cell[6]),
                                                   .target = mem_copy_string(cell[7]),
                                                   .why = why_of(cell[8])};
}

static int by_path(const void *a, const void *b) {
    const struct file_entry *first = a;
    const struct file_entry *second = b;
    return strcmp(first->path, second->path);
}

static void drop_doubles(struct files_table *table) {
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (kept > 0 && strcmp(table->items[kept - 1].path, table->items[i].path) == 0) {
            free(table->items[i].path);
            free(table->items[i].target);
        } else {
            table->items[kept++] = table->items[i];
        }
    }
    table->count = kept;
}

bool files_table_parse(const char *text, struct files_table *out, struct error *err) {
    *out = (struct files_table){0};
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        char *line = mem_copy_bytes(text, length);
        take_line(out, line);
        free(line);
        text += length + (text[length] == '\n');
        if (out->count > MAX_FILES) {
            files_table_free(out);
            return FAIL(err, ERROR_DATA, "files.tsv has over %d lines", MAX_FILES);
        }
    }
    if (out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, by_path);
    drop_doubles(out);
    return true;
}

void files_table_free(struct files_table *table) {
    for (size_t i = 0; i < table->count; i++) {
        free(table->items[i].path);
        free(table->items[i].target);
    }
    free(table->items);
    *table = (struct files_table){0};
}

/* Index of the first entry whose path is not before `path`. */
static size_t lower_bound(const struct files_table *table, const char *path) {
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(table->items[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct file_entry *files_table_find(const struct files_table *table, const char *path) {
    if (table == NULL)
        return NULL;
    size_t at = lower_bound(table, path);
    bool found = at < table->count && strcmp(table->items[at].path, path) == 0;
    return found ? &table->items[at] : NULL;
}

void files_table_names(const struct files_table *table, const char *path, size_t most,
                       struct strings *names) {
    struct text folder = {0};
    struct text next = {0};
    text_add(&folder, path);
    while (folder.length > 0 && folder.data[folder.length - 1] == '/')
        folder.data[--folder.length] = '\0';
    text_add(&folder, "/");
    size_t at = table == NULL ? 0 : lower_bound(table, folder.data);
    while (table != NULL && at < table->count && names->count < most &&
           text_starts(table->items[at].path, folder.data)) {
        const char *rest = table->items[at].path + folder.length;
        size_t length = strcspn(rest, "/");
        size_t after = at + 1;
        if (length > 0)
            strings_addf(names, "%.*s", (int)length, rest);
        if (length > 0 && rest[length] == '/') {
            /* Over all that lies below it: '0' follows '/'. */
            text_clear(&next);
            text_addf(&next, "%s%.*s0", folder.data, (int)length, rest);
            after = lower_bound(table, next.data);
        }
        at = after > at ? after : at + 1;
    }
    text_free(&next);
    text_free(&folder);
}
