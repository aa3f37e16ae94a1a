/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions to a scene about devices, mounts and groups. */
#include "base/mem.h"
#include "doctor/access.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

int access_major(const struct scene *scene, const char *const *names) {
    for (size_t n = 0; names[n] != NULL; n++)
        for (size_t i = 0; i < scene->facts->n_chrdevs; i++)
            if (strcmp(scene->facts->chrdevs[i].name, names[n]) == 0)
                return scene->facts->chrdevs[i].major;
    return -1;
}

static void read_lines(const struct scene *scene, const char *path, struct strings *out) {
    struct text text = {0};
    if (look_bytes(scene->source, path, LOOK_LARGE, &text))
        strings_split(out, text_string(&text), '\n');
    text_free(&text);
}

char *access_owner(const struct scene *scene, int major) {
    struct strings lines = {0};
    char *found = NULL;
    read_lines(scene, "/proc/devices", &lines);
    for (size_t i = 0; i < lines.count && found == NULL; i++) {
        char *line = text_trim(lines.items[i]);
        char *space = strchr(line, ' ');
        int64_t number;
        if (text_starts(line, "Block devices"))
            break;
        if (space == NULL)
            continue;
        *space = '\0';
        if (text_to_int(line, &number) && number == major)
            found = text_printable(text_trim(space + 1));
    }
    strings_free(&lines);
    return found;
}

/* "c 195:* rwm" */
static bool rule_allows(const char *line, int major, int minor) {
    char type, majors[16], minors[16], access[8];
    int64_t number;
    if (sscanf(line, " %c %15[0-9*]:%15[0-9*] %7[rwm]", &type, majors, minors, access) != 4)
        return false;
    if (strchr(access, 'r') == NULL || strchr(access, 'w') == NULL || (type != 'c' && type != 'a'))
        return false;
    bool fits = strcmp(majors, "*") == 0 || (text_to_int(majors, &number) && number == major);
    return fits && (strcmp(minors, "*") == 0 || (text_to_int(minors, &number) && number == minor));
}

bool access_v1_allows(const char *list, int major, int minor) {
    struct strings lines = {0};
    bool allowed = false;
    strings_split(&lines, list, '\n');
    for (size_t i = 0; i < lines.count && !allowed; i++)
        allowed = rule_allows(lines.items[i], major, minor);
    strings_free(&lines);
    return allowed;
}

/* "5:devices:/lxc/129": a hierarchy of v1 has the controller. */
bool access_is_v1(const struct scene *scene) {
    struct strings lines = {0};
    bool found = false;
    read_lines(scene, "/proc/self/cgroup", &lines);
    for (size_t i = 0; i < lines.count && !found; i++) {
        struct strings cells = {0}, names = {0};
        strings_split(&cells, lines.items[i], ':');
        strings_split(&names, cells.count >= 3 ? cells.items[1] : "", ',');
        found = strings_contain(&names, "devices");
        strings_free(&names);
        strings_free(&cells);
    }
    strings_free(&lines);
    return found;
}

/* Digits after one of the marks that storage of Proxmox VE has in a volume's name. */
char *access_pve_id(const struct scene *scene) {
    static const char *const marks[] = {"subvol-", "basevol-", "vm--", "vm-"};
    struct strings lines = {0};
    char *found = NULL;
    read_lines(scene, "/proc/self/mountinfo", &lines);
    for (size_t i = 0; i < lines.count && found == NULL; i++) {
        if (strstr(lines.items[i], " / / ") == NULL && strstr(lines.items[i], " / rw") == NULL)
            continue;
        for (size_t m = 0; m < sizeof marks / sizeof *marks && found == NULL; m++) {
            const char *at = strstr(lines.items[i], marks[m]);
            size_t digits = at == NULL ? 0 : strspn(at + strlen(marks[m]), "0123456789");
            if (digits > 0 && digits < 10 && text_starts(at + strlen(marks[m]) + digits, "-"))
                found = mem_copy_bytes(at + strlen(marks[m]), digits);
        }
    }
    strings_free(&lines);
    return found;
}

/* Whether `path` is at or below the mount point `point`. */
static bool is_below(const char *path, const char *point) {
    size_t length = strlen(point);
    if (strcmp(point, "/") == 0)
        return true;
    return strncmp(path, point, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool access_nodev(const struct scene *scene, const char *path, char **line) {
    struct strings lines = {0};
    size_t best = 0;
    bool nodev = false;
    *line = NULL;
    read_lines(scene, "/proc/self/mountinfo", &lines);
    for (size_t i = 0; i < lines.count; i++) {
        struct strings words = {0};
        strings_split(&words, lines.items[i], ' ');
        /* A later line for the same point lies above an earlier one. */
        if (words.count > 6 && is_below(path, words.items[4]) && strlen(words.items[4]) >= best) {
            struct strings options = {0};
            strings_split(&options, words.items[5], ',');
            nodev = strings_contain(&options, "nodev");
            best = strlen(words.items[4]);
            free(*line);
            *line = mem_copy_string(lines.items[i]);
            strings_free(&options);
        }
        strings_free(&words);
    }
    strings_free(&lines);
    if (!nodev) {
        free(*line);
        *line = NULL;
    }
    return nodev;
}

char *access_label(const struct scene *scene) {
    char *label = look_text(scene->source, "/proc/self/attr/current");
    bool confined = label != NULL && label[0] != '\0' && !text_starts(label, "unconfined") &&
                    strstr(label, "unconfined_t") == NULL && strcmp(label, "kernel") != 0;
    if (confined)
        return label;
    free(label);
    return NULL;
}
