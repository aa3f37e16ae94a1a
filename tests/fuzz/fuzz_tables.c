/* SPDX-License-Identifier: Apache-2.0 */
/* dev.tsv and files.tsv: the same bytes as both. */
#define FUZZ_CORPUS "tables"
#include "fuzz/fuzz.h"
#include "system/device_nodes.h"
#include "system/files_table.h"

static void ask(const struct files_table *table) {
    for (size_t i = 0; i < table->count; i++) {
        struct strings names = {0};
        const struct file_entry *entry = files_table_find(table, table->items[i].path);
        if (entry != &table->items[i])
            abort(); /* sorted, each once */
        if (i < 16) {
            char *folder = mem_copy_string(entry->path);
            *strrchr(folder, '/') = '\0';
            files_table_names(table, folder[0] == '\0' ? "/" : folder, 1000, &names);
            free(folder);
        }
        strings_free(&names);
    }
}

static void go_round(const char *path) {
    struct text escaped = {0};
    table_escape(&escaped, path);
    if (strchr(text_string(&escaped), '\t') != NULL || strchr(text_string(&escaped), '\n') != NULL)
        abort();
    char *back = mem_copy_string(text_string(&escaped));
    table_unescape(back);
    if (strcmp(back, path) != 0)
        abort();
    free(back);
    text_free(&escaped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct files_table table;
    struct device_nodes nodes = {0};
    char *text = mem_copy_bytes((const char *)data, size);
    struct source source = {.dev_table = text};
    go_round(text);
    if (files_table_parse(text, &table, &err))
        ask(&table);
    else if (err.text[0] == '\0')
        abort();
    if (device_nodes_read(&source, &nodes, &err))
        for (size_t i = 0; i < nodes.count; i++)
            if (device_nodes_find(&nodes, nodes.items[i].path) == NULL)
                abort();
    device_nodes_free(&nodes);
    files_table_free(&table);
    free(text);
    return 0;
}
