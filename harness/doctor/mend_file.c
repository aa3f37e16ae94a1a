/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/mend_file.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* pmxcfs is mounted on the first; the second is a link in it, to the folder of this machine. */
#define CLUSTER "/etc/pve/"
#define CLUSTER_LXC "/etc/pve/lxc"
#define LOCKS "/run/lock/lxc"

/* ---- finding the file ---- */

/* The folder of a file and the name in it. */
struct place {
    int folder; /* -1: not open */
    const char *name;
    char *path; /* the folder's, with /etc/pve/lxc resolved */
    bool cluster;
};

static void close_place(struct place *place) {
    if (place->folder >= 0)
        close(place->folder);
    free(place->path);
    *place = (struct place){.folder = -1};
}

/* Folder by folder, so that no link on the way is followed. */
static int open_folder(const char *path, struct error *err) {
    int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct strings names = {0};
    strings_split(&names, path, '/');
    for (size_t i = 0; i < names.count && at >= 0; i++) {
        if (names.items[i][0] == '\0')
            continue;
        int next = openat(at, names.items[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int why = errno;
        close(at);
        at = next;
        if (at < 0 && (why == ELOOP || why == ENOTDIR))
            FAIL(err, ERROR_DATA,
                 "%s is reached through a link (%s): only %s is followed; edit the file where it really is",
                 path, names.items[i], CLUSTER_LXC);
        else if (at < 0)
            FAIL_NATIVE(err, ERROR_SYSTEM, why, "cannot open %s: %s", path, strerror(why));
    }
    strings_free(&names);
    return at;
}

static bool open_place(const char *path, struct place *out, struct error *err) {
    const char *slash = strrchr(path, '/');
    char real[PATH_MAX];
    *out = (struct place){.folder = -1};
    if (path[0] != '/' || slash[1] == '\0')
        return FAIL(err, ERROR_DATA, "%s is no path of a file", path);
    out->name = slash + 1;
    out->path = mem_copy_bytes(path, slash == path ? 1 : (size_t)(slash - path));
    if (strcmp(out->path, CLUSTER_LXC) == 0) {
        if (realpath(out->path, real) == NULL)
            return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot resolve %s: %s", out->path, strerror(errno));
        if (!text_starts(real, CLUSTER))
            return FAIL(err, ERROR_DATA, "%s leads out of %s, to %s", CLUSTER_LXC, CLUSTER, real);
        free(out->path);
        out->path = mem_copy_string(real);
    }
    out->cluster = text_starts(out->path, CLUSTER);
    int at = open_folder(out->path, err);
    if (at < 0)
        return RELAY(err);
    out->folder = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int why = errno;
    close(at);
    if (out->folder < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, why, "cannot open %s: %s", out->path, strerror(why));
    return true;
}

/* ---- reading it ---- */

static bool check_kind(const char *path, const struct stat *st, struct error *err) {
    if (S_ISLNK(st->st_mode))
        return FAIL(err, ERROR_DATA, "%s is a link; edit the file where it really is", path);
    if (!S_ISREG(st->st_mode))
        return FAIL(err, ERROR_DATA, "%s is no regular file", path);
    if (st->st_nlink > 1)
        return FAIL(err, ERROR_DATA, "%s has %lu names (hard links), which a new file would part", path,
                    (unsigned long)st->st_nlink);
    return true;
}

/* What is there now; `st` may be NULL. */
static bool read_at(const struct place *place, const char *path, struct text *out, struct stat *st,
                    struct error *err) {
    struct stat own;
    st = st != NULL ? st : &own;
    if (fstatat(place->folder, place->name, st, AT_SYMLINK_NOFOLLOW) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot look at %s: %s", path, strerror(errno));
    if (!check_kind(path, st, err))
        return RELAY(err);
    int fd = openat(place->folder, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot open %s: %s", path, strerror(errno));
    bool good = fstat(fd, st) == 0;
    if (!good)
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot look at %s: %s", path, strerror(errno));
    good = good && check_kind(path, st, err) && fd_read_all(fd, path, MEND_FILE_LARGEST, out, err);
    close(fd);
    return good || RELAY(err);
}

bool mend_file_read(const char *path, struct text *out, struct error *err) {
    struct place place;
    bool good = open_place(path, &place, err) && read_at(&place, path, out, NULL, err);
    close_place(&place);
    return good || RELAY(err);
}

static bool same_text(const struct text *a, const struct text *b) {
    return a->length == b->length && (a->length == 0 || memcmp(a->data, b->data, a->length) == 0);
}

static bool check_at(const struct place *place, const struct mend_file *file, struct stat *st,
                     struct error *err) {
    struct text now = {0};
    bool good = read_at(place, file->path, &now, st, err);
    if (good && !same_text(&now, file->before))
        good = FAIL(err, ERROR_BUSY, "%s was changed meanwhile: nothing is written; look again", file->path);
    text_free(&now);
    return good || RELAY(err);
}

bool mend_file_check(const struct mend_file *file, struct error *err) {
    struct place place;
    bool good = open_place(file->path, &place, err) && check_at(&place, file, NULL, err);
    close_place(&place);
    return good || RELAY(err);
}

/* ---- the copy of the old one ---- */

/* "etc-pve-lxc-129.conf.20260131T120000Z": the whole path, so that two files are not mixed up. */
static void backup_name(const char *path, int attempt, struct text *out) {
    struct clock clock = clock_real();
    char when[CLOCK_STAMP_SIZE];
    clock_stamp_compact(clock_wall(&clock), when);
    for (const char *c = path + 1; *c != '\0'; c++)
        text_add_bytes(out, *c == '/' ? "-" : c, 1);
    text_addf(out, ".%s", when);
    if (attempt > 0)
        text_addf(out, ".%d", attempt);
}

/* Its name must be on the disk before the old file goes. */
static bool sync_folder(const char *path, struct error *err) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    if (!good)
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot sync %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

static bool write_backup(int fd, const char *path, const struct text *old, struct error *err) {
    bool good = fd_write_all(fd, text_string(old), old->length, err);
    if (good && fsync(fd) != 0)
        good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot sync: %s", strerror(errno));
    return good || error_context(err, "%s", path);
}

/* Half a copy, or one of a file that is still there. */
static void drop_backup(struct mend_file *file) {
    (void)unlink(file->backup);
    free(file->backup);
    file->backup = NULL;
}

static bool keep_old(struct mend_file *file, const char *backups, struct error *err) {
    int fd = -1;
    if (!folder_make(backups, err))
        return RELAY(err);
    for (int attempt = 0; attempt < 1000 && fd < 0; attempt++) {
        struct text name = {0};
        backup_name(file->path, attempt, &name);
        free(file->backup);
        file->backup = path_join(backups, text_string(&name));
        text_free(&name);
        fd = open(file->backup, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot create %s: %s", file->backup, strerror(errno));
    bool good = write_backup(fd, file->backup, file->before, err) && sync_folder(backups, err);
    close(fd);
    if (!good)
        drop_backup(file);
    return good || RELAY(err);
}

/* ---- the new one ---- */

/* Access lists, labels, what else was put on it; a file system without them has nothing to lose. */
static void copy_attributes(const struct place *place, int to) {
    char names[4096], value[4096];
    int from = openat(place->folder, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = from >= 0 ? flistxattr(from, names, sizeof names) : -1;
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1) {
        ssize_t size = fgetxattr(from, names + at, value, sizeof value);
        if (size >= 0)
            (void)fsetxattr(to, names + at, value, (size_t)size, 0);
    }
    if (from >= 0)
        close(from);
}

/* The cluster file system gives every file its own owner and mode and refuses another. */
static bool copy_owner(const struct place *place, int fd, const struct stat *st, struct error *err) {
    if (fchown(fd, st->st_uid, st->st_gid) != 0 && !place->cluster)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot give it the owner: %s", strerror(errno));
    if (fchmod(fd, st->st_mode & 07777) != 0 && !place->cluster)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot give it the mode: %s", strerror(errno));
    copy_attributes(place, fd);
    return true;
}

static bool fill(const struct place *place, int fd, const struct mend_file *file, const struct stat *st,
                 struct error *err) {
    if (!fd_write_all(fd, text_string(file->after), file->after->length, err) ||
        !copy_owner(place, fd, st, err))
        return RELAY(err);
    if (fsync(fd) != 0 && !(place->cluster && (errno == ENOSYS || errno == EINVAL)))
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot sync: %s", strerror(errno));
    return true;
}

/* FILE.tmp.PID is what Proxmox calls its own; one of a process with this number is left over from a crash. */
static int create_beside(const struct place *place, const char *name, mode_t mode, struct error *err) {
    enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
    int fd = openat(place->folder, name, FLAGS, mode);
    if (fd < 0 && errno == EEXIST && unlinkat(place->folder, name, 0) == 0)
        fd = openat(place->folder, name, FLAGS, mode);
    if (fd < 0)
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot create %s/%s: %s%s", place->path, name, strerror(errno),
                    place->cluster && errno == EACCES
                        ? " (a cluster without quorum is read-only: pvecm status)"
                        : "");
    return fd;
}

static bool swap(const struct place *place, struct mend_file *file, const struct stat *st,
                 struct error *err) {
    struct text name = {0};
    struct stat last;
    text_addf(&name, "%s.tmp.%ld", place->name, (long)getpid());
    int fd = create_beside(place, text_string(&name), st->st_mode & 0777, err);
    bool good = fd >= 0 && (fill(place, fd, file, st, err) || error_context(err, "%s", file->path));
    if (fd >= 0 && close(fd) != 0 && good) /* FUSE says here what it could not keep */
        good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "%s: cannot close: %s", file->path, strerror(errno));
    good = good && check_at(place, file, &last, err);
    if (good && renameat(place->folder, text_string(&name), place->folder, place->name) != 0)
        good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot rename to %s: %s", file->path, strerror(errno));
    if (!good && fd >= 0)
        (void)unlinkat(place->folder, text_string(&name), 0);
    if (!good)
        drop_backup(file);
    if (good && fsync(place->folder) != 0 && !place->cluster)
        good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "%s is changed, but its folder cannot be synced: %s",
                           file->path, strerror(errno));
    text_free(&name);
    return good || RELAY(err);
}

static bool check_written(const struct place *place, const struct mend_file *file, struct error *err) {
    struct text now = {0};
    bool good = read_at(place, file->path, &now, NULL, err);
    if (good && !same_text(&now, file->after))
        good = FAIL(err, ERROR_SYSTEM, "%s is not what was written; the old one is in %s", file->path,
                    file->backup);
    text_free(&now);
    return good || RELAY(err);
}

bool mend_file_replace(struct mend_file *file, const char *backups, struct error *err) {
    struct place place;
    struct stat st;
    sigset_t all, before;
    /* An interrupt between the new file and its name would leave it beside the old one. */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    bool good = open_place(file->path, &place, err);
    if (good && flock(place.folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        good = FAIL(err, ERROR_BUSY, "another program writes in %s just now; try again", place.path);
    good = good && check_at(&place, file, &st, err) && keep_old(file, backups, err) &&
           swap(&place, file, &st, err) && check_written(&place, file, err);
    close_place(&place);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return good || RELAY(err);
}

void mend_file_free(struct mend_file *file) {
    free(file->backup);
    file->backup = NULL;
}

/* ---- Proxmox's lock ---- */

/* Taken as PVE::Tools::lock_file does: the file is made by whoever comes first and stays. */
static int open_lock(const char *path, struct error *err) {
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0644);
    struct stat st;
    if (fd < 0) {
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot open Proxmox's lock %s: %s", path, strerror(errno));
        return -1;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    close(fd);
    FAIL(err, ERROR_DATA, "Proxmox's lock %s is no regular file", path);
    return -1;
}

bool mend_lock_proxmox(const char *name, double seconds, struct mend_lock *out, struct error *err) {
    struct text path = {0};
    struct clock clock = clock_real();
    int64_t until = clock_now(&clock) + (int64_t)(seconds * 1e9);
    *out = (struct mend_lock){.fd = -1};
    if (name[0] == '\0' || strchr(name, '/') != NULL)
        return FAIL(err, ERROR_DATA, "'%s' is no name of a container", name);
    if (mkdir(LOCKS, 0755) != 0 && errno != EEXIST)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot create %s: %s", LOCKS, strerror(errno));
    text_addf(&path, "%s/pve-config-%s.lock", LOCKS, name);
    out->fd = open_lock(text_string(&path), err);
    bool good = out->fd >= 0;
    while (good && flock(out->fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            good = FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot lock %s: %s", text_string(&path),
                               strerror(errno));
        else if (clock_now(&clock) > until)
            good = FAIL(err, ERROR_BUSY, "Proxmox works on container %s (%s is locked): try again", name,
                        text_string(&path));
        else
            clock_sleep(&clock, 50 * NS_PER_MS);
    }
    if (!good)
        mend_lock_release(out);
    text_free(&path);
    return good;
}

void mend_lock_release(struct mend_lock *lock) {
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}
