/* SPDX-License-Identifier: Apache-2.0 */
/* udev rules that make a node with a number written into them. */
#include "base/mem.h"
#include "doctor/doctor.h"
#include "doctor/majors.h"
#include "system/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The constant of "mknod … /dev/nvidia-uvm c 247 0", decimal, 0xf7 or 0367 as mknod takes them; `node` gets
 * the name of the node. -1: computed, or another command. */
static int constant_major(const char *line, char node[64]) {
    static const char name[] = "/dev/nvidia-uvm";
    const char *mknod = strstr(line, "mknod");
    const char *at = mknod != NULL ? strstr(mknod, name) : NULL;
    if (at == NULL)
        return -1;
    size_t length = strlen(name) + strspn(at + strlen(name), "abcdefghijklmnopqrstuvwxyz-");
    snprintf(node, 64, "%.*s", (int)(length < 63 ? length : 63), at);
    const char *s = at + strcspn(at, " \t");
    s += strspn(s, " \t");
    if (s[0] != 'c' || (s[1] != ' ' && s[1] != '\t'))
        return -1;
    s += 1 + strspn(s + 1, " \t");
    if (*s < '0' || *s > '9')
        return -1;
    char *end = NULL;
    long value = strtol(s, &end, 0);
    bool whole = end != s && (*end == ' ' || *end == '\t');
    return whole && value >= 0 && value < 4096 ? (int)value : -1;
}

static void check_line(const struct scene *scene, const char *file, int number, const char *line,
                       struct findings *out) {
    char node[64];
    int major = line[strspn(line, " \t")] == '#' ? -1 : constant_major(line, node);
    int now = majors_current(scene, "nvidia-uvm");
    if (major < 0)
        return;
    char where[512];
    snprintf(where, sizeof where, "%s:%d", file, number);
    struct finding *f = finding_add(out, "udev.constant-major", SEVERITY_WARN,
                                    "a udev rule makes %s with the constant major %d", node, major);
    finding_evidence(f, where, "%s", line);
    if (now >= 0)
        finding_evidence(f, "/proc/devices", "%d nvidia-uvm", now);
    finding_remedy(
        f,
        "%s line %d, then: ACTION==\"add\", DEVPATH==\"/module/nvidia_uvm\", SUBSYSTEM==\"module\", "
        "RUN+=\"/usr/bin/nvidia-modprobe -u -c 0\"",
        file, number);
    finding_remedy(
        f, "a rule of a package is copied to /etc/udev/rules.d under the same name and changed there; then "
           "udevadm control --reload");
}

static void check_file(const struct scene *scene, const char *folder, const char *name,
                       struct findings *out) {
    struct text file = {0};
    struct text text = {0};
    text_addf(&file, "%s/%s", folder, name);
    if (text_ends(name, ".rules") && look_bytes(scene->source, text_string(&file), LOOK_LARGE, &text)) {
        const char *s = text_string(&text);
        for (int number = 1; *s != '\0'; number++) {
            size_t length = strcspn(s, "\n");
            char *line = mem_copy_bytes(s, length);
            check_line(scene, text_string(&file), number, line, out);
            free(line);
            s += length + (s[length] == '\n');
        }
    }
    text_free(&text);
    text_free(&file);
}

static void check_udev(const struct scene *scene, struct findings *out) {
    static const char *const folders[] = {"/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d",
                                          "/lib/udev/rules.d"};
    struct strings seen = {0};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct strings names = {0};
        look_list(scene->source, folders[i], &names);
        for (size_t n = 0; n < names.count; n++)
            if (!strings_contain(&seen, names.items[n])) { /* the first folder wins, as udev has it */
                strings_add(&seen, names.items[n]);
                check_file(scene, folders[i], names.items[n], out);
            }
        strings_free(&names);
    }
    strings_free(&seen);
}

static const struct rule rules[] = {
    {.id = "udev.constant-major",
     .area = AREA_CUDA,
     .severity = SEVERITY_WARN,
     .title = "a udev rule makes nvidia-uvm's node with a constant number",
     .needs = "/etc/udev/rules.d, /usr/lib/udev/rules.d",
     .cause =
         "195 is fixed, nvidia-uvm's major is given out at each boot: the node has no driver behind it until root "
         "runs CUDA once",
     .remedy = "nvidia-modprobe -u -c 0, which asks the kernel for the number",
     .source = "public thread: a package whose rule worked on its maintainer's machine only",
     .check = check_udev},
    {0},
};

const struct rule_family family_udev = {"udev", rules};
