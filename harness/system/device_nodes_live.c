/* SPDX-License-Identifier: Apache-2.0 */
/* Device nodes of this machine: first all listings, then all open() calls, each bounded. */
#include "system/device_nodes.h"

#include "base/bounded.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const int64_t look_ns = 2 * NS_PER_S, look_all_ns = 2500 * NS_PER_MS;
/* A GPU that nothing keeps awake starts at open(), which takes a second or two. */
static const int64_t open_ns = 4 * NS_PER_S, open_all_ns = 5 * NS_PER_S;
enum { MAX_LIVE_NODES = 4096 };

/* Which names of which folders are looked at; `links` are taken only when they point to the driver's nodes.
 */
static const struct folder {
    const char *path, *prefix;
    bool links;
} folders[] = {
    {"/dev", "nvidia", false}, {"/dev/nvidia-caps", "", false}, {"/dev/nvidia-caps-imex-channels", "", false},
    {"/dev/dri", "", false},   {"/dev/infiniband", "", false},  {"/dev/char", "", true},
};
enum { N_FOLDERS = sizeof folders / sizeof *folders };

static bool is_wanted(const struct folder *folder, int fd, const char *name) {
    char target[256];
    if (name[0] == '.' || !text_starts(name, folder->prefix) || strpbrk(name, "\t\n") != NULL)
        return false;
    if (!folder->links)
        return true;
    ssize_t n = readlinkat(fd, name, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    return strstr(target, "nvidia") != NULL;
}

static void list_folder(void *argument, size_t index, struct text *answer) {
    const struct folder *folder = &folders[index];
    (void)argument;
    DIR *dir = opendir(folder->path);
    if (dir == NULL)
        return;
    const struct dirent *entry;
    for (int n = 0; n < MAX_LIVE_NODES && (entry = readdir(dir)) != NULL;)
        if (is_wanted(folder, dirfd(dir), entry->d_name)) {
            text_addf(answer, "%s%s", n > 0 ? "\t" : "", entry->d_name);
            n++;
        }
    closedir(dir);
}

static void list_all(struct device_nodes *out) {
    struct bounded_answer *answers = bounded_each(list_folder, NULL, N_FOLDERS, look_ns, look_all_ns);
    for (size_t i = 0; i < N_FOLDERS; i++) {
        struct strings names = {0};
        if (answers[i].tried && answers[i].how == BOUNDED_LATE)
            strcpy(device_nodes_add(out, folders[i].path)->open, "timeout");
        strings_split(&names, answers[i].text == NULL ? "" : answers[i].text, '\t');
        for (size_t k = 0; k < names.count && out->count < MAX_LIVE_NODES; k++) {
            char path[PATH_MAX];
            snprintf(path, sizeof path, "%s/%s", folders[i].path, names.items[k]);
            device_nodes_add(out, path);
        }
        if (i == 0)
            out->known = answers[i].text != NULL;
        strings_free(&names);
    }
    bounded_answers_free(answers, N_FOLDERS);
}

/* ---- stat ---- */

static char type_letter(mode_t mode) {
    return S_ISCHR(mode)    ? 'c'
           : S_ISBLK(mode)  ? 'b'
           : S_ISREG(mode)  ? 'f'
           : S_ISDIR(mode)  ? 'd'
           : S_ISLNK(mode)  ? 'l'
           : S_ISSOCK(mode) ? 's'
           : S_ISFIFO(mode) ? 'p'
                            : '?';
}

/* A link of a node's name to the node itself counts as the node; one that leads nowhere stays a link. */
static void look_at(void *argument, size_t index, struct text *answer) {
    const struct device_nodes *nodes = argument;
    const char *path = nodes->items[index].path;
    struct stat st;
    if (lstat(path, &st) != 0)
        return;
    if (S_ISLNK(st.st_mode) && !text_starts(path, "/dev/char/")) {
        struct stat target;
        if (stat(path, &target) == 0)
            st = target;
    }
    bool device = S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode);
    text_addf(answer, "%c %o %lld %lld %d %d", type_letter(st.st_mode), (unsigned)st.st_mode & 07777U,
              (long long)st.st_uid, (long long)st.st_gid, device ? (int)major(st.st_rdev) : -1,
              device ? (int)minor(st.st_rdev) : -1);
}

static void take_look(struct device_node *node, const char *text) {
    long long uid, gid;
    unsigned mode;
    if (sscanf(text, "%c %o %lld %lld %d %d", &node->type, &mode, &uid, &gid, &node->major, &node->minor) ==
        6) {
        node->mode = (int)mode;
        node->uid = uid;
        node->gid = gid;
    }
}

static void look_at_all(struct device_nodes *nodes) {
    struct bounded_answer *answers = bounded_each(look_at, nodes, nodes->count, look_ns, look_all_ns);
    for (size_t i = 0; i < nodes->count; i++) {
        if (answers[i].text != NULL)
            take_look(&nodes->items[i], answers[i].text);
        else if (answers[i].tried && answers[i].how == BOUNDED_LATE)
            strcpy(nodes->items[i].open, "timeout");
    }
    bounded_answers_free(answers, nodes->count);
}

/* ---- open ---- */

struct opening {
    struct device_nodes *nodes;
    size_t *order;
};

/* As CUDA does it. What is opened stays so until the child ends: a GPU that nothing keeps awake then starts
 * once, not twice. */
static void open_one(void *argument, size_t index, struct text *answer) {
    const struct opening *opening = argument;
    int fd = open(opening->nodes->items[opening->order[index]].path, O_RDWR | O_CLOEXEC | O_NOCTTY);
    const char *name = fd >= 0 ? "ok" : strerrorname_np(errno);
    text_add(answer, name != NULL ? name : "unknown");
}

/* Only the driver's own nodes: opening /dev/dri/card0 may take the display from somebody. Anything but a
 * device or a file (which opens fine, so that its type must be looked at) tells nothing. */
static bool is_opened(const struct device_node *node) {
    return text_starts(node->path, "/dev/nvidia") && node->open[0] == '\0' &&
           strchr("cbf", node->type) != NULL;
}

static bool is_gpu_node(const char *path) {
    static const char prefix[] = "/dev/nvidia";
    return text_starts(path, prefix) && path[sizeof prefix - 1] >= '0' && path[sizeof prefix - 1] <= '9';
}

/* The GPUs last: they are slow to start, and the others tell more. */
static void open_all(struct device_nodes *nodes) {
    struct opening opening = {nodes, mem_zeroed(nodes->count + 1, sizeof(size_t))};
    size_t count = 0;
    for (int gpus = 0; gpus <= 1; gpus++)
        for (size_t i = 0; i < nodes->count; i++)
            if (is_opened(&nodes->items[i]) && is_gpu_node(nodes->items[i].path) == (gpus == 1))
                opening.order[count++] = i;
    struct bounded_answer *answers = bounded_each(open_one, &opening, count, open_ns, open_all_ns);
    for (size_t i = 0; i < count; i++) {
        struct device_node *node = &nodes->items[opening.order[i]];
        if (answers[i].text != NULL)
            strncpy(node->open, answers[i].text, sizeof node->open - 1);
        else if (answers[i].tried && answers[i].how == BOUNDED_LATE)
            strcpy(node->open, "timeout");
    }
    bounded_answers_free(answers, count);
    free(opening.order);
}

void device_nodes_live(struct device_nodes *out) {
    *out = (struct device_nodes){0};
    list_all(out);
    look_at_all(out);
    open_all(out);
    device_nodes_sort(out);
}

void device_nodes_again(struct device_nodes *nodes) {
    struct device_nodes now = {0}, added = {0};
    list_all(&now);
    /* Only what is new is looked at: a node that hung would hang again. */
    for (size_t i = 0; i < now.count; i++)
        if (device_nodes_find(nodes, now.items[i].path) == NULL)
            device_nodes_add(&added, now.items[i].path)->made_by_probe = true;
    look_at_all(&added);
    for (size_t i = 0; i < added.count; i++) {
        struct device_node *node = device_nodes_add(nodes, added.items[i].path);
        char *path = node->path;
        *node = added.items[i];
        node->path = path;
    }
    device_nodes_sort(nodes);
    device_nodes_free(&added);
    device_nodes_free(&now);
}
