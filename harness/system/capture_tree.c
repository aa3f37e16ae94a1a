/* SPDX-License-Identifier: Apache-2.0 */
#include "system/capture_tree.h"

#include "base/files.h"
#include "system/capture_clean.h"
#include "system/files_table.h"
#include "system/look.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BYTES = 256 << 20, MAX_LINKS = 40 };

/* ---- making ---- */

/* The folder of `path` below the root, made where it is missing; -1: a file or link stands in its way. */
static int open_parent(const struct capture_tree *tree, const char *path) {
    int fd = fcntl(tree->root, F_DUPFD_CLOEXEC, 0);
    const char *rest = path;
    while (fd >= 0) {
        rest += strspn(rest, "/");
        size_t length = strcspn(rest, "/");
        if (rest[length] == '\0')
            return fd;
        char name[NAME_MAX + 1];
        snprintf(name, sizeof name, "%.*s", (int)length, rest);
        (void)mkdirat(fd, name, 0700);
        int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(fd);
        fd = next;
        rest += length;
    }
    return -1;
}

static const char *last_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void make_link(const struct capture_tree *tree, const char *path, const char *target) {
    int fd = open_parent(tree, path);
    if (fd < 0)
        return;
    (void)symlinkat(target, fd, last_name(path));
    close(fd);
}

static void make_folder(const struct capture_tree *tree, const char *path) {
    int fd = open_parent(tree, path);
    if (fd < 0)
        return;
    if (last_name(path)[0] != '\0')
        (void)mkdirat(fd, last_name(path), 0700);
    close(fd);
}

static void make_file(struct capture_tree *tree, const char *path, const struct text *text) {
    struct error ignored = {0};
    if (tree->bytes + text->length > MAX_BYTES) {
        tree->cut = true;
        return;
    }
    int parent = open_parent(tree, path);
    int fd = parent < 0 ? -1
                        : openat(parent, last_name(path),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int why = errno;
    if (fd >= 0) {
        tree->bytes += text->length;
        tree->cut = !fd_write_all(fd, text_string(text), text->length, &ignored) || tree->cut;
        close(fd);
    } else if (parent >= 0 && why != EEXIST) { /* two names of one file */
        tree->cut = true;
    }
    if (parent >= 0)
        close(parent);
}

/* ---- where a path leads ---- */

/* Links of /proc lead to processes and out of the file system: what is asked below them stays where it was
 * asked. */
static bool is_magic(const char *path) {
    return text_starts(path, "/proc/");
}

/* Takes the next name off `rest` to the end of `path`; false at the end, or where it would be too long. */
static bool step(char path[PATH_MAX], char rest[PATH_MAX]) {
    char *start = rest + strspn(rest, "/");
    size_t length = strcspn(start, "/");
    size_t before = strlen(path);
    if (length == 0 || before + length + 2 > PATH_MAX)
        return false;
    if (length == 2 && start[0] == '.' && start[1] == '.') {
        char *slash = strrchr(path, '/');
        *(slash != NULL ? slash : path) = '\0';
    } else if (length != 1 || start[0] != '.') {
        path[before] = '/';
        memcpy(path + before + 1, start, length);
        path[before + 1 + length] = '\0';
    }
    memmove(rest, start + length, strlen(start + length) + 1);
    return true;
}

/* `asked` without links, in `out`; each link on the way is made in the tree. False: it goes round. */
static bool resolve(const struct capture_tree *tree, const char *asked, char out[PATH_MAX]) {
    char rest[PATH_MAX], target[PATH_MAX], joined[PATH_MAX];
    int links = 0;
    out[0] = '\0';
    if ((size_t)snprintf(rest, sizeof rest, "%s", asked) >= sizeof rest)
        return false;
    while (step(out, rest)) {
        ssize_t n = is_magic(out) ? -1 : readlink(out, target, sizeof target - 1);
        if (n <= 0)
            continue;
        target[n] = '\0';
        make_link(tree, out, target);
        if (++links > MAX_LINKS ||
            (size_t)snprintf(joined, sizeof joined, "%s/%s", target, rest) >= sizeof joined)
            return false;
        snprintf(rest, sizeof rest, "%s", joined);
        char *slash = strrchr(out, '/');
        *(target[0] == '/' || slash == NULL ? out : slash) = '\0';
    }
    return rest[strspn(rest, "/")] == '\0';
}

/* ---- one entry ---- */

static char type_letter(mode_t mode) {
    return S_ISREG(mode)    ? 'f'
           : S_ISDIR(mode)  ? 'd'
           : S_ISLNK(mode)  ? 'l'
           : S_ISCHR(mode)  ? 'c'
           : S_ISBLK(mode)  ? 'b'
           : S_ISSOCK(mode) ? 's'
                            : 'p';
}

static void add_row(struct capture_tree *tree, const char *path, const struct stat *st, int why) {
    char target[PATH_MAX];
    ssize_t n = S_ISLNK(st->st_mode) ? readlink(path, target, sizeof target - 1) : 0;
    target[n > 0 ? n : 0] = '\0';
    table_escape(&tree->table, path);
    text_addf(&tree->table, "\t%c\t%04o\t%lld\t%lld\t%lld\t%lld\t", type_letter(st->st_mode),
              (unsigned)st->st_mode & 07777U, (long long)st->st_uid, (long long)st->st_gid,
              (long long)st->st_size, (long long)st->st_mtime);
    table_escape(&tree->table, target);
    const char *name = why != 0 ? strerrorname_np(why) : NULL;
    text_addf(&tree->table, "%s%s\n", why != 0 ? "\t" : "", why == 0 ? "" : name != NULL ? name : "EINVAL");
}

/* A longer file is listed and not copied; the kernel's own that begin so are of their first 256 KiB. */
static void copy(struct capture_tree *tree, const char *place, const struct recorded *entry) {
    struct text kept = {0};
    if (entry->length <= LOOK_LARGE && capture_clean_file(entry->path, entry->bytes, entry->length, &kept))
        make_file(tree, place, &kept);
    text_free(&kept);
}

void capture_tree_add(struct capture_tree *tree, const struct recorded *entry) {
    char place[PATH_MAX];
    struct stat st = {0};
    if (lstat(entry->path, &st) != 0)
        return;
    add_row(tree, entry->path, &st, entry->why);
    if (!S_ISLNK(st.st_mode) && entry->bytes == NULL && !entry->listed)
        return;
    if (!resolve(tree, entry->path, place))
        return;
    /* What a link leads to is there, even when nobody read it. */
    if (S_ISLNK(st.st_mode) && !is_magic(entry->path) && lstat(place, &st) == 0)
        add_row(tree, place, &st, 0);
    if (entry->listed)
        make_folder(tree, place);
    else if (entry->bytes != NULL)
        copy(tree, place, entry);
}
