/* SPDX-License-Identifier: Apache-2.0 */
#include "system/device_nodes.h"

#include "base/mem.h"
#include "base/text.h"
#include "system/files_table.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 65536, N_COLUMNS = 9 };

struct device_node *device_nodes_add(struct device_nodes *nodes, const char *path) {
    nodes->items = mem_grow(nodes->items, nodes->count, &nodes->capacity, sizeof *nodes->items);
    struct device_node *node = &nodes->items[nodes->count++];
    *node = (struct device_node){.path = mem_copy_string(path),
                                 .type = '?',
                                 .mode = -1,
                                 .uid = -1,
                                 .gid = -1,
                                 .major = -1,
                                 .minor = -1};
    return node;
}

static int by_path(const void *a, const void *b) {
    const struct device_node *first = a;
    const struct device_node *second = b;
    return strcmp(first->path, second->path);
}

void device_nodes_sort(struct device_nodes *nodes) {
    if (nodes->count > 1)
        qsort(nodes->items, nodes->count, sizeof *nodes->items, by_path);
}

const struct device_node *device_nodes_find(const struct device_nodes *nodes, const char *path) {
    struct device_node key = {.path = (char *)path};
    return nodes->count == 0 ? NULL
                             : bsearch(&key, nodes->items, nodes->count, sizeof *nodes->items, by_path);
}

void device_nodes_free(struct device_nodes *nodes) {
    for (size_t i = 0; i < nodes->count; i++)
        free(nodes->items[i].path);
    free(nodes->items);
    *nodes = (struct device_nodes){0};
}

/* \t \n \\ of the tables, in place. */
static void unescape(char *s) {
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

static int number(const char *s) {
    int64_t value = 0;
    return text_to_int(s, &value) && value >= 0 && value <= INT32_MAX ? (int)value : -1;
}

/* path, type, mode, uid, gid, major, minor, open, "made" of what a probe made; trailing columns may be
 * missing. */
static void take_line(struct device_nodes *out, const char *line) {
    struct strings columns = {0};
    strings_split(&columns, line, '\t');
    if (columns.count > 0 && columns.items[0][0] == '/') {
        const char *cell[N_COLUMNS] = {"", "", "", "", "", "", "", "", ""};
        for (size_t i = 0; i < columns.count && i < N_COLUMNS; i++)
            cell[i] = columns.items[i];
        unescape(columns.items[0]);
        struct device_node *node = device_nodes_add(out, columns.items[0]);
        if (cell[1][0] != '\0' && cell[1][1] == '\0' && strchr("cbfdlsp", cell[1][0]) != NULL)
            node->type = cell[1][0];
        node->mode = table_mode(cell[2]);
        node->uid = number(cell[3]);
        node->gid = number(cell[4]);
        node->major = number(cell[5]);
        node->minor = number(cell[6]);
        if (strcmp(cell[7], "-") != 0)
            strncpy(node->open, cell[7], sizeof node->open - 1);
        node->made_by_probe = strcmp(cell[8], "made") == 0;
    }
    strings_free(&columns);
}

bool device_nodes_read(const struct source *source, struct device_nodes *out, struct error *err) {
    if (source->live) {
        device_nodes_live(out);
        return true;
    }
    *out = (struct device_nodes){.known = source->dev_table != NULL};
    const char *line = source->dev_table == NULL ? "" : source->dev_table;
    while (*line != '\0') {
        size_t length = strcspn(line, "\n");
        char *one = mem_copy_bytes(line, length);
        take_line(out, one);
        free(one);
        line += length + (line[length] == '\n');
        if (out->count > MAX_NODES) {
            device_nodes_free(out);
            return FAIL(err, ERROR_DATA,
                        "the capture's dev.tsv has over %d lines, which no machine has; take a new one",
                        MAX_NODES);
        }
    }
    device_nodes_sort(out);
    return true;
}
