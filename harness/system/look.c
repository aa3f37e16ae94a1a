/* SPDX-License-Identifier: Apache-2.0 */
#include "system/look.h"

#include "base/mem.h"
#include "system/files_table.h"
#include "system/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- resolving below a root ---- */

enum { WALK_DEPTH = 64, WALK_LINKS = 40, OPEN_TRIES = 8 };

/* The folders from the root down to where the walk is, so that ".." never leaves the root. */
struct walk {
    int fds[WALK_DEPTH + 1];
    int depth;
};

static void walk_pop(struct walk *walk) {
    if (walk->depth > 0)
        close(walk->fds[walk->depth--]);
}

static void walk_close(struct walk *walk) {
    while (walk->depth > 0)
        walk_pop(walk);
    close(walk->fds[0]);
}

/* Puts a link's target before what is left of the path. */
static bool splice_link(int fd, struct walk *walk, char rest[PATH_MAX]) {
    char target[PATH_MAX], joined[PATH_MAX];
    ssize_t n = readlinkat(fd, "", target, sizeof target - 1);
    if (n < 0)
        return false;
    target[n] = '\0';
    int length = snprintf(joined, sizeof joined, "%s/%s", target, rest);
    if (length < 0 || (size_t)length >= sizeof joined) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (target[0] == '/')
        while (walk->depth > 0)
            walk_pop(walk);
    memcpy(rest, joined, (size_t)length + 1);
    return true;
}

/* Takes the next name off `rest`. */
static void next_name(char rest[PATH_MAX], char name[NAME_MAX + 1]) {
    char *start = rest + strspn(rest, "/");
    size_t length = strcspn(start, "/");
    snprintf(name, NAME_MAX + 1, "%.*s", (int)(length < NAME_MAX ? length : NAME_MAX), start);
    memmove(rest, start + length, strlen(start + length) + 1);
}

/* One step; the opened name is pushed. */
static bool walk_step(struct walk *walk, const char *name, char rest[PATH_MAX], int *links, bool follow) {
    if (strcmp(name, "..") == 0) {
        walk_pop(walk);
        return true;
    }
    int fd = openat(walk->fds[walk->depth], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return false;
    bool last = rest[strspn(rest, "/")] == '\0';
    if (fstat(fd, &st) == 0 && S_ISLNK(st.st_mode) && (follow || !last)) {
        bool good = ++*links <= WALK_LINKS;
        if (!good)
            errno = ELOOP;
        good = good && splice_link(fd, walk, rest);
        int keep = errno;
        close(fd);
        errno = keep;
        return good;
    }
    if (walk->depth == WALK_DEPTH) {
        close(fd);
        errno = ENAMETOOLONG;
        return false;
    }
    walk->fds[++walk->depth] = fd;
    return true;
}

int look_walk(int root_fd, const char *path, bool follow) {
    struct walk walk = {.fds = {fcntl(root_fd, F_DUPFD_CLOEXEC, 0)}};
    char rest[PATH_MAX], name[NAME_MAX + 1];
    int links = 0;
    bool good = walk.fds[0] >= 0 && strlen(path) < sizeof rest;
    if (!good)
        errno = ENAMETOOLONG;
    else
        snprintf(rest, sizeof rest, "%s", path);
    while (good) {
        next_name(rest, name);
        if (name[0] == '\0')
            break;
        if (strcmp(name, ".") != 0)
            good = walk_step(&walk, name, rest, &links, follow);
    }
    int keep = errno;
    int fd = good ? fcntl(walk.fds[walk.depth], F_DUPFD_CLOEXEC, 0) : -1;
    walk_close(&walk);
    if (!good)
        errno = keep;
    return fd;
}

/* O_PATH below the root of a capture. */
static int open_below(const char *root, const char *path, bool follow) {
    int root_fd = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root_fd < 0)
        return -1;
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW),
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    long fd = -1;
    /* EAGAIN: something was renamed or mounted somewhere meanwhile, so that the kernel cannot vouch for "..".
     */
    for (int i = 0; i < OPEN_TRIES && fd < 0 && (i == 0 || errno == EAGAIN); i++)
        fd = syscall(SYS_openat2, root_fd, path, &how, sizeof how);
    /* A container's filter may answer for an old kernel, or forbid the call. */
    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
        fd = look_walk(root_fd, path, follow);
    int keep = errno;
    close(root_fd);
    errno = keep;
    return (int)fd;
}

/* Opens what `path` is for reading, if it is of the wanted type (S_IFREG, S_IFDIR). */
static int open_kind(const struct source *source, const char *path, mode_t type) {
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    if (source->root[0] == '\0') {
        struct stat st;
        int fd = open(path, flags);
        if (fd >= 0 && (fstat(fd, &st) != 0 || (st.st_mode & S_IFMT) != type)) {
            close(fd);
            errno = EINVAL;
            return -1;
        }
        return fd;
    }
    int found = open_below(source->root, path, true);
    struct stat st;
    if (found < 0)
        return -1;
    int fd = -1;
    if (fstat(found, &st) == 0 && (st.st_mode & S_IFMT) == type) {
        char self[64];
        snprintf(self, sizeof self, "/proc/self/fd/%d", found);
        fd = open(self, flags);
    } else {
        errno = EINVAL;
    }
    int keep = errno;
    close(found);
    errno = keep;
    return fd;
}

/* ---- reading ---- */

/* What could not be read when the capture was made is missing for the same reason. */
static void captured_reason(const struct source *source, const char *path) {
    const struct file_entry *entry = errno == ENOENT ? files_table_find(source->files, path) : NULL;
    errno = entry != NULL && entry->why != 0 ? entry->why : errno;
}

static bool read_bytes(const struct source *source, const char *path, size_t limit, struct text *out) {
    int fd = open_kind(source, path, S_IFREG);
    if (fd < 0) {
        captured_reason(source, path);
        return false;
    }
    char chunk[16384];
    ssize_t n = 1;
    int why = 0;
    for (size_t left = limit; left > 0 && n > 0;) {
        n = read(fd, chunk, left < sizeof chunk ? left : sizeof chunk);
        why = n < 0 ? errno : 0;
        if (n > 0) {
            text_add_bytes(out, chunk, (size_t)n);
            left -= (size_t)n;
        }
        if (why == EINTR)
            n = 1;
    }
    close(fd);
    errno = why;
    return why == 0;
}

bool look_bytes(const struct source *source, const char *path, size_t limit, struct text *out) {
    size_t before = out->length;
    bool good = read_bytes(source, path, limit, out);
    if (source->recording != NULL) {
        int why = good ? 0 : errno;
        recording_read(source->recording, path, text_string(out) + before, out->length - before, why);
        errno = why;
    }
    return good;
}

char *look_text(const struct source *source, const char *path) {
    struct text text = {0};
    char *out = NULL;
    if (look_bytes(source, path, LOOK_SMALL, &text) && text.length > 0)
        out = mem_copy_string(text_trim(text.data));
    int why = errno;
    text_free(&text);
    if (out != NULL && out[0] == '\0') {
        free(out);
        out = NULL;
    }
    errno = why;
    return out;
}

static const char *refusal(int why) {
    return why == EACCES || why == EPERM ? FACT_NEEDS_ROOT : NULL;
}

struct fact look_fact(const struct source *source, const char *format, ...) {
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    char *found = look_text(source, path);
    struct fact fact = {.why = found == NULL ? refusal(errno) : NULL};
    if (found != NULL)
        fact.value = text_printable(found);
    free(found);
    return fact;
}

struct fact_number look_number(const struct source *source, const char *format, ...) {
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    char *found = look_text(source, path);
    struct fact_number fact = {.why = found == NULL ? refusal(errno) : NULL};
    fact.known = found != NULL && text_to_int(found, &fact.value);
    free(found);
    return fact;
}

/* Once each, in order. */
static void sort_names(struct strings *names) {
    size_t kept = 0;
    strings_sort(names);
    for (size_t i = 0; i < names->count; i++) {
        if (kept > 0 && strcmp(names->items[kept - 1], names->items[i]) == 0)
            free(names->items[i]);
        else
            names->items[kept++] = names->items[i];
    }
    names->count = kept;
}

bool look_list(const struct source *source, const char *path, struct strings *out) {
    size_t before = out->count;
    int fd = open_kind(source, path, S_IFDIR);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    if (dir == NULL && fd >= 0)
        close(fd);
    while (dir != NULL && out->count < LOOK_MAX_ENTRIES && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            strings_add(out, entry->d_name);
    if (dir != NULL)
        closedir(dir);
    if (source->files != NULL)
        files_table_names(source->files, path, LOOK_MAX_ENTRIES, out);
    sort_names(out);
    if (source->recording != NULL && dir != NULL)
        recording_list(source->recording, path, out);
    const struct file_entry *folder = files_table_find(source->files, path);
    return dir != NULL || out->count > before || (folder != NULL && folder->type == 'd' && folder->why == 0);
}

static char *read_link(const struct source *source, const char *path) {
    char target[PATH_MAX];
    ssize_t n = -1;
    if (source->root[0] == '\0') {
        n = readlink(path, target, sizeof target);
    } else {
        int fd = open_below(source->root, path, false);
        if (fd >= 0) {
            n = readlinkat(fd, "", target, sizeof target);
            close(fd);
        }
    }
    return n > 0 && (size_t)n < sizeof target ? mem_copy_bytes(target, (size_t)n) : NULL;
}

char *look_link(const struct source *source, const char *path) {
    char *target = read_link(source, path);
    const struct file_entry *entry = target == NULL ? files_table_find(source->files, path) : NULL;
    if (source->recording != NULL && target != NULL)
        recording_path(source->recording, path);
    if (entry != NULL && entry->type == 'l' && entry->target[0] != '\0')
        return mem_copy_string(entry->target);
    return target;
}

/* Whether a path of the table is there; of a link, whether its target is. */
static bool table_has(const struct source *source, const char *path, int links) {
    const struct file_entry *entry = files_table_find(source->files, path);
    if (entry == NULL || links > WALK_LINKS)
        return false;
    if (entry->type != 'l')
        return true;
    const char *slash = strrchr(path, '/');
    struct text target = {0};
    if (entry->target[0] != '/')
        text_addf(&target, "%.*s/", (int)(slash - path), path);
    text_add(&target, entry->target);
    int fd = open_below(source->root, text_string(&target), true);
    bool there = fd >= 0 || table_has(source, text_string(&target), links + 1);
    if (fd >= 0)
        close(fd);
    text_free(&target);
    return there;
}

bool look_exists(const struct source *source, const char *path) {
    struct stat st;
    if (source->root[0] == '\0') {
        bool there = stat(path, &st) == 0;
        if (source->recording != NULL && there)
            recording_path(source->recording, path);
        return there;
    }
    int fd = open_below(source->root, path, true);
    if (fd < 0)
        return table_has(source, path, 0);
    close(fd);
    return true;
}

/* ---- words ---- */

char *look_field(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) != 0)
            continue;
        const char *colon = line + length + strspn(line + length, " \t");
        if (*colon != ':')
            continue;
        char *copy = mem_copy_bytes(colon + 1, strcspn(colon + 1, "\n"));
        char *value = mem_copy_string(text_trim(copy));
        free(copy);
        return value;
    }
    return NULL;
}

char *look_choice(char *text) {
    char *open = strchr(text, '[');
    char *end = open != NULL ? strchr(open, ']') : NULL;
    if (end == NULL)
        return text;
    *end = '\0';
    return open + 1;
}

void tally_add(struct tally *tally, struct fact fact) {
    if (fact.value == NULL) {
        tally->refused = tally->refused || fact.why != NULL;
        return;
    }
    size_t i = 0;
    while (i < tally->n_rows && strcmp(tally->rows[i].value, fact.value) != 0)
        i++;
    if (i < tally->n_rows) {
        tally->rows[i].count++;
        free(fact.value);
    } else if (i < sizeof tally->rows / sizeof *tally->rows) {
        tally->rows[i].value = fact.value;
        tally->rows[i].count = 1;
        tally->n_rows++;
    } else {
        free(fact.value);
    }
}

struct fact tally_take(struct tally *tally) {
    struct fact out = {.why = tally->n_rows == 0 && tally->refused ? FACT_NEEDS_ROOT : NULL};
    if (tally->n_rows == 1) {
        out.value = tally->rows[0].value;
    } else if (tally->n_rows > 1) {
        struct strings parts = {0};
        struct text joined = {0};
        for (size_t i = 0; i < tally->n_rows; i++) {
            strings_addf(&parts, "%s:%zu", tally->rows[i].value, tally->rows[i].count);
            free(tally->rows[i].value);
        }
        strings_sort(&parts);
        for (size_t i = 0; i < parts.count; i++)
            text_addf(&joined, "%s%s", i > 0 ? "," : "", parts.items[i]);
        strings_free(&parts);
        out.value = text_take(&joined);
    }
    *tally = (struct tally){0};
    return out;
}
