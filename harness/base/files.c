/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool fd_read_all(int fd, const char *path, size_t limit, struct text *out, struct error *err) {
    size_t total = 0;
    char chunk[65536];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot read %s: %s", path, strerror(errno));
        if (n == 0)
            return true;
        total += (size_t)n;
        if (total > limit)
            return FAIL(err, ERROR_DATA, "%s is larger than %zu bytes", path, limit);
        text_add_bytes(out, chunk, (size_t)n);
    }
}

static bool read_open(int fd, const char *path, size_t limit, struct text *out, struct error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot stat %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return FAIL(err, ERROR_DATA, "%s is no regular file", path);
    return fd_read_all(fd, path, limit, out, err) || RELAY(err);
}

bool file_read(const char *path, size_t limit, struct text *out, struct error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot open %s: %s", path, strerror(errno));
    bool good = read_open(fd, path, limit, out, err);
    close(fd);
    return good;
}

bool fd_write_all(int fd, const char *data, size_t length, struct error *err) {
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot write: %s", strerror(errno));
        data += n;
        length -= (size_t)n;
    }
    return true;
}

static bool fill_and_sync(int fd, const char *path, const char *data, size_t length, struct error *err) {
    if (!fd_write_all(fd, data, length, err))
        return error_context(err, "%s", path);
    if (fsync(fd) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot sync %s: %s", path, strerror(errno));
    return true;
}

/* A new file FILE.tmp.PID. Another of that name may be left over from a crash, or belong to a process of this
 * number in another container: it is not touched. */
static int create_beside(const char *path, struct text *name) {
    int fd = -1;
    for (int attempt = 0; attempt < 1000 && fd < 0; attempt++) {
        text_clear(name);
        text_addf(name, "%s.tmp.%ld", path, (long)getpid());
        if (attempt > 0)
            text_addf(name, ".%d", attempt);
        fd = open(name->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* A device, a pipe or a socket whose place a file took would be lost: root's /dev/null as anybody's; and so
 * would /dev/stdout, a link to one or into /proc. */
static bool is_replaceable(const char *path, struct error *err) {
    struct stat st;
    char to[8] = "";
    if (lstat(path, &st) != 0)
        return true; /* what else is the matter, creating tells */
    bool link = S_ISLNK(st.st_mode);
    bool into_proc = link && readlink(path, to, sizeof to - 1) > 0 && strncmp(to, "/proc/", 6) == 0;
    if (!into_proc && (S_ISREG(st.st_mode) || (link && (stat(path, &st) != 0 || S_ISREG(st.st_mode)))))
        return true;
    return FAIL(err, ERROR_USAGE, "%s is no regular file, so none is written in its place: name another",
                path);
}

bool file_replace(const char *path, const char *data, size_t length, struct error *err) {
    struct text beside = {0};
    if (!is_replaceable(path, err))
        return false;
    int fd = create_beside(path, &beside);
    bool good = fd >= 0;
    if (!good)
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot create %s: %s", beside.data, strerror(errno));
    if (good)
        good = fill_and_sync(fd, beside.data, data, length, err);
    if (fd >= 0)
        close(fd);
    if (good && rename(beside.data, path) != 0)
        good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot rename to %s: %s", path, strerror(errno));
    if (!good && fd >= 0)
        unlink(beside.data);
    text_free(&beside);
    return good;
}

bool folder_make(const char *path, struct error *err) {
    char *partial = mem_copy_string(path);
    bool good = true;
    for (char *at = partial + 1; good && at[-1] != '\0'; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char keep = *at;
        *at = '\0';
        if (mkdir(partial, 0755) != 0 && errno != EEXIST)
            good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot create folder %s: %s", partial,
                               strerror(errno));
        *at = keep;
    }
    struct stat st;
    if (good && (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)))
        good = FAIL(err, ERROR_SYSTEM, "%s is no folder", path);
    free(partial);
    return good;
}

char *path_join(const char *dir, const char *name) {
    struct text t = {0};
    text_add(&t, dir);
    if (t.length > 0 && t.data[t.length - 1] != '/' && name[0] != '/')
        text_add(&t, "/");
    text_add(&t, name);
    return text_take(&t);
}
