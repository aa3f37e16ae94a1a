/* SPDX-License-Identifier: Apache-2.0 */
#include "run/lock.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *lock_path(void) {
    const char *chosen = getenv("GPUVET_LOCK");
    struct stat st;
    if (chosen != NULL && chosen[0] != '\0')
        return chosen;
    return stat("/run/lock", &st) == 0 && S_ISDIR(st.st_mode) ? "/run/lock/gpuvet.lock" : "/tmp/gpuvet.lock";
}

/* Opening an existing file first and without O_CREAT: in a sticky folder the kernel may refuse O_CREAT on
 * another user's file (fs.protected_regular), and flock needs no write access. */
static int open_lock(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd >= 0)
        fchmod(fd, 0666);
    return fd < 0 && errno == EEXIST ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : fd;
}

/* "PID" of the holder as it wrote it there; an information only, the lock itself is the kernel's. */
static void read_holder(int fd, char *out, size_t size) {
    ssize_t n = pread(fd, out, size - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    out[strspn(out, "0123456789")] = '\0';
}

/* Whether all that the file holds is a PID, or nothing: GPUVET_LOCK may have been set to a file that somebody
 * needs. */
static bool is_lock_file(int fd) {
    char text[32];
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size >= (off_t)sizeof text)
        return false;
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return text[strspn(text, "0123456789\n")] == '\0' && strlen(text) == (size_t)(n > 0 ? n : 0);
}

static void write_holder(const char *path) {
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char pid[32];
    int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (fd < 0)
        return; /* another user's file: the lock holds all the same */
    if (ftruncate(fd, 0) == 0 && n > 0) {
        ssize_t written = pwrite(fd, pid, (size_t)n, 0);
        (void)written;
    }
    close(fd);
}

bool lock_take(int *fd, struct error *err) {
    const char *path = lock_path();
    *fd = open_lock(path);
    if (*fd < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot open the lock %s: %s; GPUVET_LOCK names another",
                           path, strerror(errno));
    if (!is_lock_file(*fd)) {
        close(*fd);
        *fd = -1;
        return FAIL(err, ERROR_USAGE, "%s is no lock file of gpuvet's; GPUVET_LOCK names another", path);
    }
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0) {
        write_holder(path);
        return true;
    }
    char holder[32];
    int why = errno;
    read_holder(*fd, holder, sizeof holder);
    close(*fd);
    *fd = -1;
    if (why != EWOULDBLOCK)
        return FAIL_NATIVE(err, ERROR_SYSTEM, why, "cannot lock %s: %s", path, strerror(why));
    return FAIL(err, ERROR_BUSY,
                "another gpuvet is measuring on this node (PID %s, lock %s); wait for it to end",
                holder[0] != '\0' ? holder : "unknown", path);
}
