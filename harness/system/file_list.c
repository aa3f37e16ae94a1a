/* SPDX-License-Identifier: Apache-2.0 */
#include "system/file_list.h"

#include "base/mem.h"
#include "base/text.h"
#include "system/files_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LIVE = 20000 };

static struct listed_file *add(struct file_list *list, const char *path) {
    static const char *const merged[] = {"/usr/lib/modules/", "/usr/lib/firmware/"};
    for (size_t i = 0; i < sizeof merged / sizeof *merged; i++)
        if (text_starts(path, merged[i]))
            path += strlen("/usr");
    list->items = mem_grow(list->items, list->count, &list->capacity, sizeof *list->items);
    struct listed_file *file = &list->items[list->count++];
    *file = (struct listed_file){.path = mem_copy_string(path), .type = '?', .size = -1, .mtime = -1};
    return file;
}

static int by_path(const void *a, const void *b) {
    const struct listed_file *first = a;
    const struct listed_file *second = b;
    return strcmp(first->path, second->path);
}

/* ---- of a capture ---- */

static void take_table(const struct files_table *table, struct file_list *out) {
    for (size_t i = 0; i < table->count; i++) {
        const struct file_entry *entry = &table->items[i];
        struct listed_file *file = add(out, entry->path);
        file->type = entry->type;
        file->size = entry->size;
        file->mtime = entry->mtime;
        file->link = entry->target == NULL || entry->target[0] == 0 ? NULL : mem_copy_string(entry->target);
    }
}

/* ---- live ---- */

struct place {
    const char *folder;
    int depth;           /* folders below it that are looked into */
    const char *pattern; /* of the names that are kept */
};

/* The kernel's own modules are thousands; the driver's packages put theirs beside them or in these. */
static bool skipped(const char *path) {
    static const char *const kept[] = {"nvidia", "drivers/video", "drivers/char", "drivers/nvidia", "video"};
    const char *kernel = text_starts(path, "/lib/modules/") ? strstr(path, "/kernel/") : NULL;
    if (kernel == NULL)
        return false;
    kernel += strlen("/kernel/");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (text_starts(kernel, kept[i]))
            return false;
    return strcmp(kernel, "drivers") != 0;
}

static void keep(struct file_list *list, int folder, const char *path, const char *name) {
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    struct listed_file *file = add(list, path);
    file->type = S_ISREG(st.st_mode) ? 'f' : S_ISDIR(st.st_mode) ? 'd' : S_ISLNK(st.st_mode) ? 'l' : '?';
    file->size = st.st_size;
    file->mtime = st.st_mtime;
    if (file->type == 'l') {
        char target[4096];
        ssize_t n = readlinkat(folder, name, target, sizeof target - 1);
        if (n > 0)
            file->link = mem_copy_bytes(target, (size_t)n);
    }
}

static void walk(struct file_list *list, const struct place *place, const char *folder, int depth) {
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir != NULL && list->count < MAX_LIVE && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        struct text path = {0};
        text_addf(&path, "%s/%s", folder, name);
        bool branch = entry->d_type == DT_DIR;
        /* A file system without d_type has every name looked at. */
        if (entry->d_type == DT_UNKNOWN) {
            struct stat st;
            branch = fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
        }
        if (text_matches(place->pattern, name) || depth == place->depth)
            keep(list, dirfd(dir), text_string(&path), name);
        if (branch && depth > 0 && !skipped(text_string(&path)))
            walk(list, place, text_string(&path), depth - 1);
        text_free(&path);
    }
    if (dir != NULL)
        closedir(dir);
}

/* What stands right in these folders is kept whatever its name; deeper, what fits the pattern. */
static const struct place places[] = {
    {"/lib/modules", 6, "nvidia*.ko*"},
    {"/lib/modules", 1, "[bm][uo][id]*[dp]"}, /* build, modules.dep */
    {"/lib/firmware/nvidia", 1, "gsp*"},
    {"/lib/firmware/updates/nvidia", 1, "gsp*"},
    {"/boot", 0, "init*"},
    {"/etc/modprobe.d", 0, "*.conf"},
    {"/run/modprobe.d", 0, "*.conf"},
    {"/usr/lib/modprobe.d", 0, "*.conf"},
    {"/lib/modprobe.d", 0, "*.conf"},
    {"/var/lib/dkms", 4, "make.log*"},
    {"/var/cache/akmods/nvidia", 0, "*"},
};

static void read_live(struct file_list *out) {
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        walk(out, &places[i], places[i].folder, places[i].depth);
}

/* ---- both ---- */

static void drop_doubles(struct file_list *list) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (kept > 0 && strcmp(list->items[kept - 1].path, list->items[i].path) == 0) {
            free(list->items[i].path);
            free(list->items[i].link);
        } else {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

void file_list_read(const struct source *source, struct file_list *out) {
    *out = (struct file_list){.known = source->live || source->files != NULL};
    if (source->live)
        read_live(out);
    else if (source->files != NULL)
        take_table(source->files, out);
    if (out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, by_path);
    drop_doubles(out);
}

void file_list_free(struct file_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].path);
        free(list->items[i].link);
    }
    free(list->items);
    *list = (struct file_list){0};
}

/* Index of the first file whose path is not before `path`. */
static size_t lower_bound(const struct file_list *list, const char *path) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(list->items[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct listed_file *file_list_find(const struct file_list *list, const char *path) {
    size_t at = lower_bound(list, path);
    return at < list->count && strcmp(list->items[at].path, path) == 0 ? &list->items[at] : NULL;
}

const struct listed_file *file_list_below(const struct file_list *list, const char *prefix, size_t *count) {
    size_t first = lower_bound(list, prefix);
    size_t end = first;
    while (end < list->count && text_starts(list->items[end].path, prefix))
        end++;
    *count = end - first;
    return end > first ? &list->items[first] : NULL;
}

int64_t file_list_size(const struct source *source, const struct file_list *list, const char *path) {
    if (source->live) {
        struct stat st;
        return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : -1;
    }
    const struct listed_file *file = file_list_find(list, path);
    return file != NULL && file->type == 'f' ? file->size : -1;
}
