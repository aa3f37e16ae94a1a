/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/own_dev.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The mount calls of Linux 5.2 by number: older C libraries do not know them. */
enum { NR_OPEN_TREE = 428, NR_MOVE_MOUNT = 429 };
enum { TREE_CLONE = 1, TREE_CLOEXEC = O_CLOEXEC, TREE_RECURSIVE = 0x8000, MOVE_EMPTY_PATH = 4 };

enum { MAX_ENTRIES = 16384 };

/* Folders in which the library itself makes nodes: they become folders of the new /dev, their entries are
 * bound. */
static const char caps[] = "nvidia-caps";

/* ---- privileges ---- */

static void drop(unsigned capability) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    prctl(PR_CAPBSET_DROP, (unsigned long)capability, 0UL, 0UL, 0UL);
    if (syscall(SYS_capget, &header, data) != 0)
        return;
    unsigned bit = 1U << (capability & 31U);
    data[capability >> 5].effective &= ~bit;
    data[capability >> 5].permitted &= ~bit;
    data[capability >> 5].inheritable &= ~bit;
    syscall(SYS_capset, &header, data);
}

/* ---- the new /dev ---- */

/* Binds entry `name` of the old folder to the same name below `to`; false: it is left out. */
static bool bind_entry(int old, const char *name, const char *to) {
    int tree = (int)syscall(NR_OPEN_TREE, old, name,
                            TREE_CLONE | TREE_CLOEXEC | TREE_RECURSIVE | AT_SYMLINK_NOFOLLOW);
    bool good = tree >= 0 && syscall(NR_MOVE_MOUNT, tree, "", AT_FDCWD, to, MOVE_EMPTY_PATH) == 0;
    if (tree >= 0)
        close(tree);
    return good;
}

static void copy_link(int old, const char *name, const char *to) {
    char target[PATH_MAX];
    ssize_t n = readlinkat(old, name, target, sizeof target - 1);
    if (n > 0) {
        target[n] = '\0';
        if (symlink(target, to) != 0)
            return; /* nothing of the driver needs links */
    }
}

static bool fill(int old, const char *to);

/* The type is the listing's: to look at the node itself may hang, where a dead file system is mounted on it.
 */
static bool copy_entry(int old, const struct dirent *entry, const char *folder) {
    char to[PATH_MAX];
    const char *name = entry->d_name;
    snprintf(to, sizeof to, "%s/%s", folder, name);
    if (entry->d_type == DT_LNK) {
        copy_link(old, name, to);
        return true;
    }
    if (entry->d_type == DT_DIR) {
        if (mkdir(to, 0755) != 0)
            return false;
        if (strcmp(name, caps) != 0)
            return bind_entry(old, name, to);
        int inner = openat(old, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        bool good = inner >= 0 && fill(inner, to);
        if (inner >= 0)
            close(inner);
        return good;
    }
    int fd = open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0 && bind_entry(old, name, to);
}

/* What cannot be bound is left out unless it is the driver's: then the answer would be another one. */
static bool fill(int old, const char *to) {
    int again = openat(old, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    bool good = dir != NULL;
    const struct dirent *entry;
    for (int n = 0; good && n < MAX_ENTRIES && (entry = readdir(dir)) != NULL; n++)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !copy_entry(old, entry, to))
            good = !text_starts(entry->d_name, "nvidia");
    if (dir != NULL)
        closedir(dir);
    return good;
}

static bool make_dev(void) {
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return false;
    int old = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (old < 0)
        return false;
    bool good = mount("gpuvet", "/dev", "tmpfs", MS_NOSUID, "mode=755") == 0;
    if (good && !fill(old, "/dev")) {
        umount2("/dev", MNT_DETACH); /* the old one is below it */
        good = false;
    }
    close(old);
    return good;
}

/* ---- what is there ---- */

static void list_nodes(const char *folder, struct strings *out) {
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir != NULL && out->count < MAX_ENTRIES && (entry = readdir(dir)) != NULL)
        if (text_starts(entry->d_name, "nvidia") && strcmp(entry->d_name, caps) != 0)
            strings_addf(out, "%s/%s", folder, entry->d_name);
    if (dir != NULL)
        closedir(dir);
}

static void list_all(struct strings *out) {
    list_nodes("/dev", out);
    list_nodes("/dev/nvidia-caps", out);
}

void own_dev_enter(struct strings *before) {
    bool own = geteuid() == 0 && make_dev();
    drop(CAP_SYS_MODULE);
    if (!own)
        drop(CAP_MKNOD);
    prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL);
    list_all(before);
}

js *own_dev_new(const struct strings *before) {
    struct strings now = {0};
    js *out = js_new_array();
    list_all(&now);
    for (size_t i = 0; i < now.count; i++)
        if (!strings_contain(before, now.items[i]))
            js_append_string(out, now.items[i]);
    strings_free(&now);
    return out;
}
