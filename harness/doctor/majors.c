/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/majors.h"

#include "base/text.h"
#include "system/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int of_name(const struct facts *facts, const char *name) {
    for (size_t i = 0; i < facts->n_chrdevs; i++)
        if (strcmp(facts->chrdevs[i].name, name) == 0)
            return facts->chrdevs[i].major;
    return -1;
}

int majors_current(const struct scene *scene, const char *name) {
    static const char *const front[] = {"nvidia", "nvidia-frontend", "nvidiactl"};
    if (strcmp(name, "nvidia") != 0)
        return of_name(scene->facts, name);
    for (size_t i = 0; i < sizeof front / sizeof *front; i++) {
        int major = of_name(scene->facts, front[i]);
        if (major >= 0)
            return major;
    }
    return -1;
}

const char *majors_name(const struct scene *scene, int major) {
    for (size_t i = 0; i < scene->facts->n_chrdevs; i++)
        if (scene->facts->chrdevs[i].major == major)
            return scene->facts->chrdevs[i].name;
    return "";
}

int majors_before(const struct scene *scene, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "chrdev.%.40s", name);
    int64_t before = js_get_int(scene->baseline, key, -1);
    return before >= 0 && before <= 0xfffff && before != majors_current(scene, name) ? (int)before : -1;
}

bool majors_dynamic(int major) {
    return (major >= 234 && major <= 254) || (major >= 384 && major <= 511);
}

bool majors_common(const char *name) {
    static const char *const names[] = {
        "drm",      "fuse",        "tun",        "kvm",    "vhost",    "hidraw",   "input",       "rtc",
        "media",    "video4linux", "usb_device", "ttyDBC", "bsg",      "watchdog", "ptp",         "pps",
        "dma_heap", "accel",       "kfd",        "dax",    "gpiochip", "nvme",     "nvme-generic"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

int majors_cgroup(const struct scene *scene) {
    struct text text = {0};
    int version = 0;
    if (look_exists(scene->source, "/sys/fs/cgroup/cgroup.controllers"))
        version = 2;
    else if (look_bytes(scene->source, "/proc/self/mountinfo", LOOK_LARGE, &text)) {
        const char *mount = strstr(text_string(&text), " /sys/fs/cgroup ");
        const char *dash = mount != NULL ? strstr(mount, " - ") : NULL;
        version = dash != NULL && text_starts(dash, " - cgroup2 ") ? 2 : 0;
        if (version == 0 && strstr(text_string(&text), " /sys/fs/cgroup/devices ") != NULL)
            version = 1;
    }
    text_free(&text);
    return version;
}

static bool minor_of(const struct scene *scene, const char *bdf, int *out) {
    struct text path = {0};
    struct text text = {0};
    int64_t minor = -1;
    text_addf(&path, "/proc/driver/nvidia/gpus/%s/information", bdf);
    if (look_bytes(scene->source, text_string(&path), LOOK_SMALL, &text)) {
        char *value = look_field(text_string(&text), "Device Minor");
        if (value == NULL || !text_to_int(value, &minor) || minor < 0 || minor > 4095)
            minor = -1;
        free(value);
    }
    text_free(&text);
    text_free(&path);
    *out = (int)minor;
    return minor >= 0;
}

bool majors_gpu_of_minor(const struct scene *scene, int minor, char bdf[16]) {
    struct strings names = {0};
    bool found = false;
    look_list(scene->source, "/proc/driver/nvidia/gpus", &names);
    for (size_t i = 0; i < names.count && !found; i++) {
        int its = -1;
        found = strlen(names.items[i]) < 16 && minor_of(scene, names.items[i], &its) && its == minor;
        if (found)
            snprintf(bdf, 16, "%.15s", names.items[i]);
    }
    strings_free(&names);
    return found;
}

int majors_index_of_gpu(const struct scene *scene, const char *bdf) {
    struct strings names = {0};
    int index = -1;
    look_list(scene->source, "/proc/driver/nvidia/gpus", &names); /* sorted: PCI order */
    for (size_t i = 0; i < names.count && index < 0; i++)
        if (strcmp(names.items[i], bdf) == 0)
            index = (int)i;
    strings_free(&names);
    return index;
}
