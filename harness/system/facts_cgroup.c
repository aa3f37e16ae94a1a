/* SPDX-License-Identifier: Apache-2.0 */
/* What the cgroups of this process leave it: cgroup v2, v1, or both side by side (hybrid). */
#include "base/mem.h"
#include "system/cgroup.h"
#include "system/facts_read.h"
#include "system/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where the process's groups are ---- */

static bool list_has(const char *list, const char *word) {
    struct strings words = {0};
    strings_split(&words, list, ',');
    bool found = strings_contain(&words, word);
    strings_free(&words);
    return found;
}

/* The path in the line of /proc/self/cgroup for `controller` ("" is v2: "0::/path"). */
static char *group_path(const struct strings *lines, const char *controller) {
    for (size_t i = 0; i < lines->count; i++) {
        char *line = mem_copy_string(lines->items[i]);
        char *list = strchr(line, ':');
        char *path = list != NULL ? strchr(list + 1, ':') : NULL;
        char *found = NULL;
        if (path != NULL) {
            *path = '\0';
            bool v2 = strncmp(line, "0:", 2) == 0 && list[1] == '\0';
            if (controller[0] == '\0' ? v2 : list_has(list + 1, controller))
                found = mem_copy_string(path + 1);
        }
        free(line);
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* mountinfo: id parent dev ROOT MOUNT options… - TYPE source SUPER. */
static bool mount_matches(const struct strings *words, const char *controller) {
    size_t dash = 6;
    while (dash < words->count && strcmp(words->items[dash], "-") != 0)
        dash++;
    if (dash + 3 >= words->count)
        return false;
    const char *type = words->items[dash + 1];
    if (controller[0] == '\0')
        return strcmp(type, "cgroup2") == 0;
    return strcmp(type, "cgroup") == 0 && list_has(words->items[dash + 3], controller);
}

/* What of `path` lies below the mount, whose root is itself a group: "/docker/abc/x" below "/docker/abc" is
 * "/x". A group outside the mount (or the namespace: "/../x") cannot be seen. */
static const char *below_mount(const char *path, const char *root) {
    size_t length = strlen(root);
    if (strcmp(root, "/") == 0)
        return text_starts(path, "/..") ? NULL : path;
    if (strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0'))
        return path + length;
    return NULL;
}

static bool find_mount(const struct strings *mounts, const char *controller, const char *path,
                       struct cgroup_place *out) {
    for (size_t i = 0; i < mounts->count; i++) {
        struct strings words = {0};
        strings_split(&words, mounts->items[i], ' ');
        bool found = mount_matches(&words, controller);
        const char *rest = found ? below_mount(path, words.items[3]) : NULL;
        if (rest != NULL) {
            out->mount = mem_copy_string(words.items[4]);
            out->path = mem_copy_string(strcmp(rest, "/") == 0 ? "" : rest);
            out->v2 = controller[0] == '\0';
        }
        strings_free(&words);
        if (rest != NULL)
            return true;
    }
    return false;
}

/* A capture may lack the list of mounts: then what every distribution has. */
static void usual_mount(const char *controller, const char *path, struct cgroup_place *out) {
    struct text mount = {0};
    text_addf(&mount, "/sys/fs/cgroup%s%s", controller[0] != '\0' ? "/" : "", controller);
    out->mount = text_take(&mount);
    out->path = mem_copy_string(strcmp(path, "/") == 0 ? "" : path);
    out->v2 = controller[0] == '\0';
}

/* One hierarchy; "" is v2. */
static bool find_in(const struct strings *groups, const struct strings *mounts, const char *controller,
                    struct cgroup_place *out) {
    char *path = group_path(groups, controller);
    bool found = path != NULL;
    if (found && mounts->count > 0)
        found = find_mount(mounts, controller, path, out);
    else if (found)
        usual_mount(controller, path, out);
    free(path);
    return found;
}

static void read_lines(const struct source *source, const char *path, struct strings *out) {
    struct text text = {0};
    if (look_bytes(source, path, LOOK_LARGE, &text))
        strings_split(out, text_string(&text), '\n');
    text_free(&text);
}

bool cgroup_find(const struct source *source, const char *controller, struct cgroup_place *out) {
    struct strings groups = {0}, mounts = {0};
    *out = (struct cgroup_place){0};
    read_lines(source, "/proc/self/cgroup", &groups);
    read_lines(source, "/proc/self/mountinfo", &mounts);
    bool found = find_in(&groups, &mounts, controller, out) || find_in(&groups, &mounts, "", out);
    strings_free(&groups);
    strings_free(&mounts);
    return found;
}

void cgroup_place_free(struct cgroup_place *place) {
    free(place->mount);
    free(place->path);
    *place = (struct cgroup_place){0};
}

bool cgroup_up(struct cgroup_place *place) {
    char *slash = strrchr(place->path, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

char *cgroup_text(const struct source *source, const struct cgroup_place *place, const char *file) {
    struct text path = {0};
    text_addf(&path, "%s%s/%s", place->mount, place->path, file);
    char *out = look_text(source, text_string(&path));
    text_free(&path);
    return out;
}

/* ---- what they allow ---- */

/* The nearest group upwards that says; a controller may be off in the leaf. */
static struct fact find_cpuset(const struct source *source) {
    struct cgroup_place place;
    struct fact out = {0};
    if (!cgroup_find(source, "cpuset", &place))
        return out;
    do {
        char *text =
            cgroup_text(source, &place, place.v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus");
        if (text == NULL && !place.v2)
            text = cgroup_text(source, &place, "cpuset.cpus");
        out = fact_text(text);
        free(text);
    } while (out.value == NULL && cgroup_up(&place));
    cgroup_place_free(&place);
    return out;
}

/* Quota and period of one group. False: this group does not say. Quota -1: no bound. */
static bool group_quota(const struct source *source, const struct cgroup_place *place, int64_t *quota,
                        int64_t *period) {
    char *first = cgroup_text(source, place, place->v2 ? "cpu.max" : "cpu.cfs_quota_us");
    char *second = place->v2 ? NULL : cgroup_text(source, place, "cpu.cfs_period_us");
    char *quota_text = first;
    const char *period_text = second;
    if (place->v2 && first != NULL && strchr(first, ' ') != NULL) {
        char *space = strchr(first, ' ');
        *space = '\0';
        period_text = space + 1;
    }
    bool unbounded = quota_text != NULL && (strcmp(quota_text, "max") == 0 || strcmp(quota_text, "-1") == 0);
    bool known = unbounded;
    if (unbounded)
        *quota = -1;
    else if (quota_text != NULL && period_text != NULL)
        known =
            text_to_int(quota_text, quota) && text_to_int(period_text, period) && *quota > 0 && *period > 0;
    free(first);
    free(second);
    return known;
}

/* The tightest bound between the leaf and the root holds. */
static struct fact find_cpu_max(const struct source *source) {
    struct cgroup_place place;
    if (!cgroup_find(source, "cpu", &place))
        return (struct fact){0};
    bool known = false;
    int64_t best_quota = -1, best_period = 1;
    do {
        int64_t quota, period = 1;
        if (!group_quota(source, &place, &quota, &period))
            continue;
        known = true;
        if (quota > 0 &&
            (best_quota < 0 || (double)quota / (double)period < (double)best_quota / (double)best_period)) {
            best_quota = quota;
            best_period = period;
        }
    } while (cgroup_up(&place));
    char text[64] = "max";
    if (best_quota > 0)
        snprintf(text, sizeof text, "%lld %lld", (long long)best_quota, (long long)best_period);
    cgroup_place_free(&place);
    /* The root group of a machine has no cpu.max: nothing bounds it. */
    return known || source_is_whole(source) ? fact_text(text) : (struct fact){0};
}

void read_cgroup(const struct source *source, struct cgroup_facts *out) {
    out->cpuset = find_cpuset(source);
    out->cpu_max = find_cpu_max(source);
}
