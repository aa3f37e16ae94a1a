/* SPDX-License-Identifier: Apache-2.0 */
#include "system/qos_holders.h"

#include "base/files.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_NAME = 64 };

/* As this process sees it, or as a link into a /dev of another mount namespace shows it. */
static bool is_device(const char *target) {
    return strcmp(target, "/dev/cpu_dma_latency") == 0 || strcmp(target, "/cpu_dma_latency") == 0;
}

/* A descriptor's link has the mode that the file was opened with: reading the device holds nothing. */
static bool is_held(int folder, const char *name) {
    char target[64];
    struct stat st;
    ssize_t n = readlinkat(folder, name, target, sizeof target - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    return is_device(target) && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (st.st_mode & S_IWUSR) != 0;
}

static DIR *open_folder(int above, const char *name) {
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL && fd >= 0)
        close(fd);
    return dir;
}

/* `files` counts the descriptors looked at, of all processes. */
static bool holds(int proc, int pid, struct qos_holders *out, size_t *files) {
    char name[32];
    snprintf(name, sizeof name, "%d/fd", pid);
    errno = 0;
    DIR *dir = open_folder(proc, name);
    if (dir == NULL) {
        out->refused = out->refused || errno == EACCES || errno == EPERM;
        return false;
    }
    bool found = false;
    size_t n = 0;
    for (struct dirent *e; !found && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        if (n >= QOS_MAX_DESCRIPTORS || *files >= QOS_MAX_ALL_FILES) {
            out->cut = true;
            break;
        }
        n++;
        *files += 1;
        found = is_held(dirfd(dir), e->d_name);
    }
    closedir(dir);
    return found;
}

/* A command's name is whatever its process says. */
static void add_name(int proc, int pid, struct text *out) {
    char path[32];
    char name[MAX_NAME] = "";
    snprintf(path, sizeof path, "%d/comm", pid);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : read(fd, name, sizeof name - 1);
    name[n > 0 ? n : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    if (fd >= 0)
        close(fd);
    char *clean = text_printable(name);
    text_addf(out, "%s%d %s", out->length > 0 ? ", " : "", pid, clean[0] != '\0' ? clean : "?");
    free(clean);
}

static int by_number(const void *a, const void *b) {
    int x = *(const int *)a;
    int y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Sorted, owned; more than are looked at: `cut`. */
static int *list_processes(DIR *proc, size_t *n, bool *cut) {
    int *pids = NULL;
    size_t room = 0;
    *n = 0;
    for (struct dirent *e; (e = readdir(proc)) != NULL;) {
        int64_t pid = 0;
        if (!text_to_int(e->d_name, &pid) || pid < 1 || pid > 1 << 30)
            continue;
        if (*n >= QOS_MAX_PROCESSES) {
            *cut = true;
            break;
        }
        pids = mem_grow(pids, *n, &room, sizeof *pids);
        pids[(*n)++] = (int)pid;
    }
    if (*n > 0)
        qsort(pids, *n, sizeof *pids, by_number);
    return pids;
}

void qos_holders_find(const char *root, struct qos_holders *out) {
    *out = (struct qos_holders){0};
    char *path = path_join(root, "/proc");
    DIR *proc = open_folder(AT_FDCWD, root[0] == '\0' ? "/proc" : path);
    free(path);
    if (proc == NULL) {
        out->refused = true;
        return;
    }
    size_t n = 0, files = 0;
    int *pids = list_processes(proc, &n, &out->cut);
    for (size_t i = 0; i < n; i++)
        if (holds(dirfd(proc), pids[i], out, &files) && out->count++ < QOS_MAX_NAMED)
            add_name(dirfd(proc), pids[i], &out->names);
    closedir(proc);
    free(pids);
}

char *qos_holders_text(struct qos_holders *h) {
    struct text t = h->names;
    h->names = (struct text){0};
    if (h->count == 0 && h->refused) {
        text_free(&t);
        return NULL;
    }
    if (h->count == 0)
        text_add(&t, "none found");
    if (h->count > QOS_MAX_NAMED)
        text_addf(&t, " and %zu more", h->count - QOS_MAX_NAMED);
    if (h->refused)
        text_add(&t, "; to see all needs root");
    if (h->cut)
        text_add(&t, "; not all could be looked at");
    return text_take(&t);
}
