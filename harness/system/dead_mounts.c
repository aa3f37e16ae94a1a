/* SPDX-License-Identifier: Apache-2.0 */
#include "system/dead_mounts.h"

#include "base/bounded.h"
#include "base/clock.h"
#include "base/text.h"
#include "system/look.h"

#include <string.h>
#include <sys/stat.h>

static const int64_t item_ns = 2 * NS_PER_S, all_ns = 2500 * NS_PER_MS;
enum { MAX_MOUNTS = 256 };

/* Only these can die while the kernel lives. */
static bool may_die(const char *type) {
    static const char *const types[] = {"nfs",  "nfs4",   "cifs",      "smb3", "9p",   "ceph",
                                        "fuse", "lustre", "glusterfs", "afs",  "gpfs", "beegfs"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return text_starts(type, "fuse.");
}

/* \040 and the like of mountinfo, in place. */
static void unescape(char *s) {
    char *to = s;
    for (; *s != '\0'; s++) {
        if (s[0] == '\\' && strspn(s + 1, "01234567") >= 3) {
            *to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
            s += 3;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
}

/* Below /dev nodes are looked at one by one anyway. */
static void take_mount(const char *line, struct strings *out) {
    struct strings words = {0};
    size_t dash = 6;
    strings_split(&words, line, ' ');
    while (dash < words.count && strcmp(words.items[dash], "-") != 0)
        dash++;
    if (dash + 1 < words.count && may_die(words.items[dash + 1]) && out->count < MAX_MOUNTS) {
        unescape(words.items[4]);
        if (!text_starts(words.items[4], "/dev/nvidia") && !strings_contain(out, words.items[4]))
            strings_add(out, words.items[4]);
    }
    strings_free(&words);
}

static void ask(void *argument, size_t index, struct text *answer) {
    const struct strings *points = argument;
    struct stat st;
    text_add(answer, stat(points->items[index], &st) == 0 ? "ok" : "error");
}

js *dead_mounts(void) {
    struct source source;
    struct error err = {0};
    struct text text = {0};
    struct strings lines = {0}, points = {0};
    js *out = NULL;
    if (source_live(&source, &err) && look_bytes(&source, "/proc/self/mountinfo", LOOK_LARGE, &text))
        strings_split(&lines, text_string(&text), '\n');
    for (size_t i = 0; i < lines.count; i++)
        take_mount(lines.items[i], &points);
    struct bounded_answer *answers = bounded_each(ask, &points, points.count, item_ns, all_ns);
    for (size_t i = 0; i < points.count; i++)
        if (answers[i].tried && answers[i].how == BOUNDED_LATE) {
            out = out != NULL ? out : js_new_array();
            js_append_string(out, points.items[i]);
        }
    bounded_answers_free(answers, points.count);
    strings_free(&points);
    strings_free(&lines);
    text_free(&text);
    source_free(&source);
    return out;
}
