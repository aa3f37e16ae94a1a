/* SPDX-License-Identifier: Apache-2.0 */
/* A small file system in memory, so that an input of many files costs no system call: what gpuvet calls of
 * libc for files is led here by the linker (--wrap, tests/CMakeLists.txt) and handed on to libc for every
 * path and descriptor that is not of this tree. The code under test is as it is shipped.
 *
 * An input is files one after another: a line "@NAME" or "@NAME>TARGET" (a link), then the content. */
#ifndef GPUVET_TESTS_MEMORY_FS_H
#define GPUVET_TESTS_MEMORY_FS_H

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MEMORY_ROOT "/gpuvet-fuzz-memory"

enum {
    MEMORY_NODES = 4096,
    MEMORY_NAMES = 1 << 17,
    MEMORY_NAME = 160,
    MEMORY_FDS = 512,
    MEMORY_DIRS = 128,
    MEMORY_FD = 1 << 24 /* above what the kernel gives */
};

struct memory_node {
    const char *name;
    int first, last, next; /* the children of a folder; -1: none */
    char type;             /* d f l */
    const char *data;      /* of the input; of a link its target */
    size_t length;
};
struct memory_fd {
    bool used;
    int node;
    size_t at;
};
struct memory_dir {
    bool used;
    int fd, next;
    struct dirent entry;
};

static struct memory_node memory_nodes[MEMORY_NODES];
static size_t memory_n_nodes, memory_n_names;
static char memory_names[MEMORY_NAMES];
static struct memory_fd memory_fds[MEMORY_FDS];
static struct memory_dir memory_dirs[MEMORY_DIRS];

/* ---- the tree ---- */

static int memory_child(int folder, const char *name, size_t length) {
    for (int i = memory_nodes[folder].first; i >= 0; i = memory_nodes[i].next)
        if (strncmp(memory_nodes[i].name, name, length) == 0 && memory_nodes[i].name[length] == '\0')
            return i;
    return -1;
}

/* -1: no room. */
static int memory_make(int folder, const char *name, size_t length, char type) {
    if (memory_n_nodes == MEMORY_NODES || memory_n_names + length + 1 > MEMORY_NAMES)
        return -1;
    int made = (int)memory_n_nodes++;
    char *kept = memory_names + memory_n_names;
    memcpy(kept, name, length);
    kept[length] = '\0';
    memory_n_names += length + 1;
    memory_nodes[made] =
        (struct memory_node){.name = kept, .first = -1, .last = -1, .next = -1, .type = type};
    if (folder >= 0 && memory_nodes[folder].last >= 0)
        memory_nodes[memory_nodes[folder].last].next = made;
    else if (folder >= 0)
        memory_nodes[folder].first = made;
    if (folder >= 0)
        memory_nodes[folder].last = made;
    return made;
}

/* The node of a path below the root, its folders made; -1: a file or link stands in its way, or no room. */
static int memory_put(const char *path, char type) {
    int at = 0;
    while (*path != '\0') {
        path += strspn(path, "/");
        size_t length = strcspn(path, "/");
        bool last = path[length + strspn(path + length, "/")] == '\0';
        if (length == 0 || (length == 1 && path[0] == '.')) {
            path += length;
            continue;
        }
        int next = memory_child(at, path, length);
        if (next < 0)
            next = memory_make(at, path, length, last ? type : 'd');
        if (next < 0 || (!last && memory_nodes[next].type != 'd') ||
            (last && memory_nodes[next].type != type))
            return -1;
        at = next;
        path += length;
    }
    return at;
}

static bool memory_name_good(const char *name) {
    if (name[0] == '\0' || name[0] == '/' || strstr(name, "..") != NULL)
        return false;
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && strchr("._-:+/@", *name) == NULL)
            return false;
    return true;
}

/* The end of a file: the next line that begins with '@'. */
static const char *memory_end_of(const char *at, const char *end) {
    for (const char *line = at; line < end;) {
        if (*line == '@')
            return line;
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline == NULL ? end : newline + 1;
    }
    return end;
}

/* The tree of this input, which must stay; what was there is gone. */
static void memory_unpack(const char *at, const char *end) {
    memory_n_nodes = memory_n_names = 0;
    memory_make(-1, "", 0, 'd');
    while (at < end && *at == '@') {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *content = newline == NULL ? end : newline + 1;
        const char *stop = memory_end_of(content, end);
        size_t length = (size_t)((newline == NULL ? end : newline) - at) - 1;
        char name[MEMORY_NAME + 1];
        if (length <= MEMORY_NAME) {
            memcpy(name, at + 1, length);
            name[length] = '\0';
            char *target = strchr(name, '>');
            if (target != NULL)
                *target++ = '\0';
            int node = memory_name_good(name) ? memory_put(name, target != NULL ? 'l' : 'f') : -1;
            if (node > 0) {
                memory_nodes[node].data = target != NULL ? at + 1 + (target - name) : content;
                memory_nodes[node].length = target != NULL ? strlen(target) : (size_t)(stop - content);
            }
        }
        at = stop;
    }
}

/* What an input left open is a leak. */
static void memory_end(void) {
    for (size_t i = 0; i < MEMORY_FDS; i++)
        if (memory_fds[i].used)
            abort();
}

/* ---- what is called ---- */

static int memory_fail(int why) {
    errno = why;
    return -1;
}

static struct memory_fd *memory_fd_of(int fd) {
    return fd >= MEMORY_FD && fd < MEMORY_FD + MEMORY_FDS && memory_fds[fd - MEMORY_FD].used
               ? &memory_fds[fd - MEMORY_FD]
               : NULL;
}

static int memory_fd_new(int node) {
    for (int i = 0; i < MEMORY_FDS; i++)
        if (!memory_fds[i].used) {
            memory_fds[i] = (struct memory_fd){.used = true, .node = node};
            return MEMORY_FD + i;
        }
    return memory_fail(EMFILE);
}

/* "" is the folder itself; -1 with errno. No link on the way is followed: gpuvet walks by itself. */
static int memory_find(int folder, const char *path) {
    for (;;) {
        path += strspn(path, "/");
        size_t length = strcspn(path, "/");
        if (length == 0)
            return folder;
        if (memory_nodes[folder].type != 'd')
            return memory_fail(ENOTDIR);
        folder = memory_child(folder, path, length);
        if (folder < 0)
            return memory_fail(ENOENT);
        path += length;
    }
}

static bool memory_is_ours(const char *path, const char **rest) {
    size_t length = sizeof MEMORY_ROOT - 1;
    *rest = path + length;
    return strncmp(path, MEMORY_ROOT, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static int memory_open(int folder, const char *path, int flags) {
    int node = memory_find(folder, path);
    if (node < 0)
        return -1;
    char type = memory_nodes[node].type;
    if (flags & O_DIRECTORY && type != 'd')
        return memory_fail(ENOTDIR);
    if (type == 'l' && !(flags & O_PATH && flags & O_NOFOLLOW))
        return memory_fail(ELOOP);
    return memory_fd_new(node);
}

static int memory_stat(int node, struct stat *st) {
    char type = memory_nodes[node].type;
    *st = (struct stat){.st_ino = (ino_t)node + 1,
                        .st_mode = 0700 | (type == 'd'   ? S_IFDIR
                                           : type == 'l' ? S_IFLNK
                                                         : S_IFREG),
                        .st_size = (off_t)memory_nodes[node].length,
                        .st_nlink = 1};
    return 0;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    const char *rest;
    int fd;
    if (memory_is_ours(path, &rest))
        return memory_open(0, rest, flags);
    if (sscanf(path, "/proc/self/fd/%d", &fd) == 1 && memory_fd_of(fd) != NULL)
        return memory_fd_new(memory_fd_of(fd)->node);
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return __real_open(path, flags, mode);
}

int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...) {
    if (memory_fd_of(folder) != NULL)
        return memory_open(memory_fd_of(folder)->node, path, flags);
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return __real_openat(folder, path, flags, mode);
}

/* openat2 alone: gpuvet walks by itself where the kernel lacks it. Whoever gave fewer than six arguments has
 * them followed by whatever lies there, as in libc itself. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...) {
    va_list arguments;
    long all[6];
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        all[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_openat2 && memory_fd_of((int)all[0]) != NULL)
        return memory_fail(ENOSYS);
    return __real_syscall(number, all[0], all[1], all[2], all[3], all[4], all[5]);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
    struct memory_fd *ours = memory_fd_of(fd);
    if (ours == NULL)
        return fd >= MEMORY_FD ? memory_fail(EBADF) : __real_close(fd);
    ours->used = false;
    return 0;
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    long argument = va_arg(arguments, long);
    va_end(arguments);
    if (memory_fd_of(fd) == NULL)
        return __real_fcntl(fd, command, argument);
    return command == F_DUPFD_CLOEXEC || command == F_DUPFD ? memory_fd_new(memory_fd_of(fd)->node) : 0;
}

ssize_t __real_read(int fd, void *out, size_t size);
ssize_t __wrap_read(int fd, void *out, size_t size);
ssize_t __wrap_read(int fd, void *out, size_t size) {
    struct memory_fd *ours = memory_fd_of(fd);
    if (ours == NULL)
        return __real_read(fd, out, size);
    const struct memory_node *node = &memory_nodes[ours->node];
    if (node->type != 'f')
        return memory_fail(EISDIR);
    size_t left = node->length - ours->at;
    size = size < left ? size : left;
    if (size > 0)
        memcpy(out, node->data + ours->at, size);
    ours->at += size;
    return (ssize_t)size;
}

int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st) {
    struct memory_fd *ours = memory_fd_of(fd);
    return ours == NULL ? __real_fstat(fd, st) : memory_stat(ours->node, st);
}

int __real_fstatat(int folder, const char *path, struct stat *st, int flags);
int __wrap_fstatat(int folder, const char *path, struct stat *st, int flags);
int __wrap_fstatat(int folder, const char *path, struct stat *st, int flags) {
    struct memory_fd *ours = memory_fd_of(folder);
    if (ours == NULL)
        return __real_fstatat(folder, path, st, flags);
    int node = memory_find(ours->node, path);
    return node < 0 ? -1 : memory_stat(node, st);
}

int __real_lstat(const char *path, struct stat *st);
int __wrap_lstat(const char *path, struct stat *st);
int __wrap_lstat(const char *path, struct stat *st) {
    const char *rest;
    if (!memory_is_ours(path, &rest))
        return __real_lstat(path, st);
    int node = memory_find(0, rest);
    return node < 0 ? -1 : memory_stat(node, st);
}

ssize_t __real_readlinkat(int folder, const char *path, char *out, size_t size);
ssize_t __wrap_readlinkat(int folder, const char *path, char *out, size_t size);
ssize_t __wrap_readlinkat(int folder, const char *path, char *out, size_t size) {
    struct memory_fd *ours = memory_fd_of(folder);
    if (ours == NULL)
        return __real_readlinkat(folder, path, out, size);
    int node = memory_find(ours->node, path);
    if (node < 0 || memory_nodes[node].type != 'l')
        return node < 0 ? -1 : memory_fail(EINVAL);
    size = size < memory_nodes[node].length ? size : memory_nodes[node].length;
    if (size > 0)
        memcpy(out, memory_nodes[node].data, size);
    return (ssize_t)size;
}

static struct memory_dir *memory_dir_of(DIR *dir) {
    for (size_t i = 0; i < MEMORY_DIRS; i++)
        if ((DIR *)(void *)&memory_dirs[i] == dir)
            return &memory_dirs[i];
    return NULL;
}

DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd) {
    struct memory_fd *ours = memory_fd_of(fd);
    if (ours == NULL)
        return __real_fdopendir(fd);
    for (size_t i = 0; memory_nodes[ours->node].type == 'd' && i < MEMORY_DIRS; i++)
        if (!memory_dirs[i].used) {
            memory_dirs[i] =
                (struct memory_dir){.used = true, .fd = fd, .next = memory_nodes[ours->node].first};
            return (DIR *)(void *)&memory_dirs[i];
        }
    errno = ENOTDIR;
    return NULL;
}

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path) {
    const char *rest;
    if (!memory_is_ours(path, &rest))
        return __real_opendir(path);
    int fd = memory_open(0, rest, O_RDONLY | O_DIRECTORY);
    return fd < 0 ? NULL : __wrap_fdopendir(fd);
}

struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir) {
    struct memory_dir *ours = memory_dir_of(dir);
    if (ours == NULL)
        return __real_readdir(dir);
    if (ours->next < 0)
        return NULL;
    snprintf(ours->entry.d_name, sizeof ours->entry.d_name, "%s", memory_nodes[ours->next].name);
    ours->next = memory_nodes[ours->next].next;
    return &ours->entry;
}

int __real_closedir(DIR *dir);
int __wrap_closedir(DIR *dir);
int __wrap_closedir(DIR *dir) {
    struct memory_dir *ours = memory_dir_of(dir);
    if (ours == NULL)
        return __real_closedir(dir);
    ours->used = false;
    return __wrap_close(ours->fd);
}

int __real_dirfd(DIR *dir);
int __wrap_dirfd(DIR *dir);
int __wrap_dirfd(DIR *dir) {
    struct memory_dir *ours = memory_dir_of(dir);
    return ours == NULL ? __real_dirfd(dir) : ours->fd;
}

/* What a build with _FORTIFY_SOURCE calls instead. */
ssize_t __wrap___read_chk(int fd, void *out, size_t size, size_t room);
ssize_t __wrap___read_chk(int fd, void *out, size_t size, size_t room) {
    return __wrap_read(fd, out, size < room ? size : room);
}
ssize_t __wrap___readlinkat_chk(int folder, const char *path, char *out, size_t size, size_t room);
ssize_t __wrap___readlinkat_chk(int folder, const char *path, char *out, size_t size, size_t room) {
    return __wrap_readlinkat(folder, path, out, size < room ? size : room);
}
int __wrap___open_2(const char *path, int flags);
int __wrap___open_2(const char *path, int flags) {
    return __wrap_open(path, flags);
}
int __wrap___openat_2(int folder, const char *path, int flags);
int __wrap___openat_2(int folder, const char *path, int flags) {
    return __wrap_openat(folder, path, flags);
}
/* NOLINTEND(bugprone-reserved-identifier) */

#endif
