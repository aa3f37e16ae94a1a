/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files.h"
#include "base/mem.h"
#include "run/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run_writer {
    char *path;
    int fd;
    bool failed;
    struct error first; /* the failure that ended the writing */
};

/* The new name itself must survive a crash too. A file system that cannot sync folders is no reason to fail.
 */
static void sync_folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL   ? mem_copy_string(".")
                   : slash == path ? mem_copy_string("/")
                                   : mem_copy_bytes(path, (size_t)(slash - path));
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(folder);
}

struct run_writer *run_writer_open(const char *path, struct error *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) {
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot create the run file %s: %s", path, strerror(errno));
        return NULL;
    }
    sync_folder_of(path);
    struct run_writer *writer = mem_zeroed(1, sizeof *writer);
    writer->path = mem_copy_string(path);
    writer->fd = fd;
    return writer;
}

static bool fail_for_good(struct run_writer *writer, const struct error *why, struct error *err) {
    writer->failed = true;
    writer->first = *why;
    *err = *why;
    return false;
}

static bool write_line(struct run_writer *writer, const char *line, size_t length, bool sync,
                       struct error *err) {
    if (length > RUN_MAX_LINE)
        return FAIL(err, ERROR_DATA, "a line of %zu bytes is too long for the run file %s", length,
                    writer->path);
    if (!fd_write_all(writer->fd, line, length, err))
        return error_context(err, "the run file %s ends here", writer->path);
    if (sync && fdatasync(writer->fd) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot sync the run file %s: %s", writer->path,
                           strerror(errno));
    return true;
}

bool run_writer_add(struct run_writer *writer, const js *line, bool sync, struct error *err) {
    if (writer->failed) {
        *err = writer->first;
        return false;
    }
    struct text t = {0};
    char *json = js_text(line);
    text_add(&t, json);
    text_add(&t,
             "\n"); /* in the same write, so that a line is there whole or cut, never mixed with another */
    free(json);
    struct error why = {0};
    bool good = write_line(writer, t.data, t.length, sync, &why);
    text_free(&t);
    return good || fail_for_good(writer, &why, err);
}

bool run_writer_sync(struct run_writer *writer, struct error *err) {
    struct error why = {0};
    if (writer->failed) {
        *err = writer->first;
        return false;
    }
    if (fdatasync(writer->fd) == 0)
        return true;
    FAIL_NATIVE(&why, ERROR_SYSTEM, errno, "cannot sync the run file %s: %s", writer->path, strerror(errno));
    return fail_for_good(writer, &why, err);
}

bool run_writer_close(struct run_writer *writer, struct error *err) {
    if (writer == NULL)
        return true;
    bool good = !writer->failed;
    if (!good)
        *err = writer->first;
    else if (fsync(writer->fd) != 0)
        good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot sync the run file %s: %s", writer->path,
                           strerror(errno));
    if (close(writer->fd) != 0 && good)
        good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot close the run file %s: %s", writer->path,
                           strerror(errno));
    free(writer->path);
    free(writer);
    return good;
}
