/* SPDX-License-Identifier: Apache-2.0 */
#include "system/device_try.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- nodes that nobody else sees ---- */

/* linux/mount.h and sys/mount.h quarrel on some distributions; the numbers are the kernel's. */
enum { FS_CLOEXEC = 1, FS_CREATE = 6, FSM_CLOEXEC = 1, NR_FSOPEN = 430, NR_FSCONFIG = 431, NR_FSMOUNT = 432 };

int device_folder(void) {
    int fs = (int)syscall(NR_FSOPEN, "tmpfs", FS_CLOEXEC);
    int folder = -1;
    if (fs >= 0 && syscall(NR_FSCONFIG, fs, FS_CREATE, NULL, NULL, 0) == 0)
        folder = (int)syscall(NR_FSMOUNT, fs, FSM_CLOEXEC, 0);
    if (fs >= 0)
        close(fs);
    return folder;
}

/* A group that refuses a number mostly refuses to make its node as well: whoever may makes them, for all. */
static void make_nodes(int folder, const struct device_wishes *wishes) {
    for (size_t i = 0; folder >= 0 && i < wishes->count; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        dev_t device = makedev((unsigned)wishes->items[i].major, (unsigned)wishes->items[i].minor);
        if (mknodat(folder, name, S_IFCHR | 0666, device) != 0 && errno != EEXIST && errno != EPERM)
            return;
    }
}

/* 0, errno, or -1: there is no node to ask for. */
static int ask(int folder, const struct device_wish *wish, size_t i) {
    char name[24];
    struct stat st;
    snprintf(name, sizeof name, "%zu", i);
    if (folder >= 0 && fstatat(folder, name, &st, 0) == 0)
        return faccessat(folder, name, R_OK | W_OK, AT_EACCESS) == 0 ? 0 : errno;
    bool fits = stat(wish->path, &st) == 0 && S_ISCHR(st.st_mode) &&
                st.st_rdev == makedev((unsigned)wish->major, (unsigned)wish->minor);
    if (!fits)
        return -1;
    if (faccessat(AT_FDCWD, wish->path, R_OK | W_OK, AT_EACCESS) == 0)
        return 0;
    return errno == EPERM ? EPERM : -1; /* EACCES is the mode's answer, before the group's */
}

static void ask_all(int folder, const struct device_wishes *wishes, int *errors) {
    make_nodes(folder, wishes);
    for (size_t i = 0; i < wishes->count; i++)
        errors[i] = ask(folder, &wishes->items[i], i);
}

/* ---- a group for a moment ---- */

/* What a gpuvet left that was killed together with its keeper. */
static void remove_old(const char *level, pid_t own) {
    DIR *dir = opendir(level);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        int64_t pid;
        if (text_starts(entry->d_name, "gpuvet-") && text_to_int(entry->d_name + 7, &pid) && pid > 0 &&
            (pid == own || (kill((pid_t)pid, 0) != 0 && errno == ESRCH)))
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
    if (dir != NULL)
        closedir(dir);
}

/* Whether the group is gone; a child that has just ended may hold it for a moment. */
static bool remove_group(const char *group, int64_t limit_ns) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + limit_ns;
    while (rmdir(group) != 0 && errno != ENOENT) {
        if (clock_now(&clock) > end)
            return false;
        clock_sleep(&clock, NS_PER_MS);
    }
    return true;
}

/* Removes the group when whoever made it is gone, killed or not: it waits for the end of the pipe. The write
 * end is returned; -1: no keeper, so that no group may be made. */
static int start_keeper(const char *group, pid_t *keeper) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    *keeper = fork();
    if (*keeper == 0) {
        char byte;
        setsid(); /* a Ctrl-C is not for it */
        long most = sysconf(_SC_OPEN_MAX);
        for (int fd = 3; fd < (most > 0 && most < 4096 ? most : 4096); fd++)
            if (fd != ends[0])
                close(fd);
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
            continue;
        remove_group(group, 2 * NS_PER_S);
        _exit(0);
    }
    close(ends[0]);
    if (*keeper > 0)
        return ends[1];
    close(ends[1]);
    return -1;
}

/* In the child: into the group, ask, answer. */
static _Noreturn void ask_inside(const char *group, int folder, const struct device_wishes *wishes, int out) {
    int errors[DEVICE_MAX_WISHES];
    char procs[PATH_MAX + 64];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(procs, sizeof procs, "%s/cgroup.procs", group);
    int fd = open(procs, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1)
        _exit(1);
    ask_all(folder, wishes, errors);
    size_t size = wishes->count * sizeof *errors;
    _exit(write(out, errors, size) == (ssize_t)size ? 0 : 1);
}

static bool ask_in(const char *group, int folder, const struct device_wishes *wishes, int *errors) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t child = fork();
    if (child == 0)
        ask_inside(group, folder, wishes, ends[1]);
    close(ends[1]);
    size_t size = wishes->count * sizeof *errors;
    bool good = child > 0 && read(ends[0], errors, size) == (ssize_t)size;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return good;
}

/* False: nothing can be said about this level. */
static bool try_level(const char *mount, const char *level, int hidden, const struct device_wishes *wishes,
                      pid_t pid, int *errors) {
    char folder[PATH_MAX], group[PATH_MAX + 32];
    pid_t keeper = -1;
    if (snprintf(folder, sizeof folder, "%s%s", mount, strcmp(level, "/") == 0 ? "" : level) >= PATH_MAX)
        return false;
    snprintf(group, sizeof group, "%s/gpuvet-%d", folder, (int)pid);
    remove_old(folder, pid);
    int held = start_keeper(group, &keeper);
    if (held < 0)
        return false;
    bool good = mkdir(group, 0755) == 0 && ask_in(group, hidden, wishes, errors);
    remove_group(group, 50 * NS_PER_MS);
    close(held);
    waitpid(keeper, NULL, 0);
    return good;
}

/* Whether some number is refused, or not known: only then is it worth making groups. */
static bool is_open_question(const int *errors, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (errors[i] == EPERM || errors[i] < 0)
            return true;
    return false;
}

void device_try(int folder, const struct device_wishes *wishes, const char *mount,
                const struct strings *levels, bool own, pid_t pid, struct device_verdict *verdicts) {
    int errors[DEVICE_MAX_WISHES], leaf[DEVICE_MAX_WISHES];
    size_t count = wishes->count;
    bool known = own || (mount != NULL &&
                         try_level(mount, levels->items[levels->count - 1], folder, wishes, pid, leaf));
    if (own)
        ask_all(folder, wishes, leaf);
    for (size_t i = 0; i < count; i++)
        verdicts[i] = (struct device_verdict){.error = known ? leaf[i] : -1, .denied_at = -1};
    if (!known || mount == NULL || !is_open_question(leaf, count))
        return;
    int first[DEVICE_MAX_WISHES];
    for (size_t i = 0; i < count; i++)
        first[i] = -1;
    for (size_t level = 0; level < levels->count; level++)
        if (try_level(mount, levels->items[level], folder, wishes, pid, errors))
            for (size_t i = 0; i < count; i++)
                if (errors[i] == EPERM && first[i] < 0)
                    first[i] = (int)level;
    /* Nodes that the leaf could not make are there now. */
    known = own || try_level(mount, levels->items[levels->count - 1], folder, wishes, pid, leaf);
    if (own)
        ask_all(folder, wishes, leaf);
    for (size_t i = 0; known && i < count; i++)
        verdicts[i] =
            (struct device_verdict){.error = leaf[i], .denied_at = leaf[i] == EPERM ? first[i] : -1};
}
