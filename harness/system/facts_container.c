/* SPDX-License-Identifier: Apache-2.0 */
/* In which kind of container this is, if in any. */
#include "base/mem.h"
#include "system/facts_read.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

static const char *by_cgroup(const char *paths) {
    static const struct {
        const char *word, *name;
    } known[] = {{"kubepods", "kubernetes"}, {"/docker", "docker"}, {"libpod", "podman"}, {"/lxc", "lxc"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(paths, known[i].word) != NULL)
            return known[i].name;
    return NULL;
}

/* ---- namespaces ---- */

/* The machine's own namespaces have fixed numbers, a part of the kernel's interface. */
static const struct {
    const char *path, *first;
} spaces[] = {
    {"/proc/self/ns/pid", "pid:[4026531836]"},
    {"/proc/self/ns/uts", "uts:[4026531838]"},
    {"/proc/self/ns/ipc", "ipc:[4026531839]"},
    {"/proc/self/ns/cgroup", "cgroup:[4026531835]"},
};
enum { N_SPACES = sizeof spaces / sizeof *spaces, N_WHOLE = 3 };

enum apart {
    APART_UNKNOWN,
    APART_NO, /* the machine's own, all of them */
    APART_PARTLY,
    APART_WHOLLY /* processes, name and IPC: only containers have all of these to themselves */
};

static enum apart find_apart(const struct source *source) {
    size_t known = 0, own = 0, whole = 0;
    for (size_t i = 0; i < N_SPACES; i++) {
        char *link = look_link(source, spaces[i].path);
        bool other = link != NULL && strcmp(link, spaces[i].first) != 0;
        known += link != NULL;
        own += other;
        whole += other && i < N_WHOLE;
        free(link);
    }
    if (known < N_WHOLE)
        return APART_UNKNOWN;
    return whole == N_WHOLE ? APART_WHOLLY : own > 0 ? APART_PARTLY : APART_NO;
}

/* ---- what managers leave for their guests to see ---- */

/* "container=lxc" in the environment of a process; the first one's is root's to read, lxc-attach and podman
 * exec give it to every process. */
static char *by_variable(const struct source *source, const char *path) {
    static const char name[] = "container=";
    struct text text = {0};
    char *found = NULL;
    if (look_bytes(source, path, LOOK_LARGE, &text))
        for (size_t at = 0; at < text.length && found == NULL; at += strlen(text.data + at) + 1)
            if (text_starts(text.data + at, name) && text.data[at + strlen(name)] != '\0')
                found = text_printable(text.data + at + strlen(name));
    text_free(&text);
    return found;
}

/* LXC without systemd, to a user who may not look at the first process. */
static bool has_lxc_mounts(const struct source *source) {
    struct text text = {0};
    bool found = look_bytes(source, "/proc/self/mountinfo", LOOK_LARGE, &text) &&
                 (strstr(text_string(&text), " /.lxc-boot-id ") != NULL ||
                  strstr(text_string(&text), " fuse.lxcfs ") != NULL);
    text_free(&text);
    return found;
}

static char *by_marks(const struct source *source) {
    char *name = by_variable(source, "/proc/1/environ");
    if (name == NULL)
        name = by_variable(source, "/proc/self/environ");
    if (name == NULL && look_exists(source, "/run/.containerenv"))
        name = mem_copy_string("podman");
    if (name == NULL && look_exists(source, "/.dockerenv"))
        name = mem_copy_string("docker");
    if (name == NULL && has_lxc_mounts(source))
        name = mem_copy_string("lxc");
    return name;
}

struct fact read_container(const struct source *source) {
    if (source->where != NULL && strcmp(source->where, "host") == 0)
        return fact_text("none");
    if (source->manager != NULL && strcmp(source->manager, "none") != 0)
        return fact_text(source->manager);
    char *name = look_text(source, "/run/systemd/container");
    if (name == NULL)
        name = look_text(source, "/run/host/container-manager");
    char *cgroups = look_text(source, "/proc/self/cgroup");
    if (name == NULL && cgroups != NULL && by_cgroup(cgroups) != NULL)
        name = mem_copy_string(by_cgroup(cgroups));
    enum apart apart = name == NULL ? find_apart(source) : APART_UNKNOWN;
    /* The root of a virtual machine that was made from a container's image still has the engine's mark. */
    if (name == NULL && apart != APART_NO)
        name = by_marks(source);
    if (name == NULL && (apart == APART_WHOLLY || source->where != NULL))
        name = mem_copy_string("container");
    struct fact out = fact_text(name != NULL ? name : "none");
    free(cgroups);
    free(name);
    return out;
}
