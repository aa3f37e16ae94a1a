/* SPDX-License-Identifier: Apache-2.0 */
/* The made machine with its driver: GPUs on the PCI bus, module loaded and on the disk, libraries. */
#ifndef GPUVET_UNIT_DOCTOR_MADE_DRIVER_H
#define GPUVET_UNIT_DOCTOR_MADE_DRIVER_H

#include "unit/doctor/made_scene.h"

#define MADE_KERNEL "6.14.11-5-pve"

struct made_driver {
    const char *loaded, *disk, *cuda, *nvml; /* versions; NULL: not there */
    const char *license;                     /* of the module on the disk */
    int device;                              /* PCI id of both GPUs */
    const char *bound;                       /* driver that holds them; NULL: none */
};

static const struct made_driver made_healthy = {.loaded = "580.159.04",
                                                .disk = "580.159.04",
                                                .cuda = "580.159.04",
                                                .nvml = "580.159.04",
                                                .license = "Dual MIT/GPL",
                                                .device = 0x26b1,
                                                .bound = "nvidia"};

static inline void made_format(struct made *m, const char *path, const char *format, const char *value) {
    struct text text = {0};
    const char *mark = strstr(format, "%s");
    text_add_bytes(&text, format, (size_t)(mark - format));
    text_addf(&text, "%s%s", value, mark + 2);
    made_file(m, path, text_string(&text));
    text_free(&text);
}

static inline void made_top(struct made *m, const char *name, const char *content) {
    struct text path = {0};
    text_addf(&path, "%s/%s", m->dir, name);
    tree_put(text_string(&path), content);
    text_free(&path);
}

static inline void made_pci(struct made *m, const char *bdf, const struct made_driver *d) {
    struct text path = {0}, target = {0}, device = {0};
    char base[128];
    snprintf(base, sizeof base, "/sys/bus/pci/devices/%s", bdf);
    text_addf(&device, "0x%04x\n", (unsigned)d->device);
    static const char *const names[] = {"vendor", "class", "device"};
    const char *values[] = {"0x10de\n", "0x030200\n", text_string(&device)};
    for (size_t i = 0; i < 3; i++) {
        text_clear(&path);
        text_addf(&path, "%s/%s", base, names[i]);
        made_file(m, text_string(&path), values[i]);
    }
    if (d->bound != NULL) {
        text_clear(&path);
        text_addf(&path, "%s/root%s/driver", m->dir, base);
        text_addf(&target, "../../../bus/pci/drivers/%s", d->bound);
        assert_int_equal(symlink(text_string(&target), text_string(&path)), 0);
    }
    text_free(&path);
    text_free(&target);
    text_free(&device);
}

static inline void made_library(struct made *m, const char *soname, const char *path) {
    if (js_get(m->probes, "libs") == NULL)
        js_set(m->probes, "libs", js_new_object());
    if (path != NULL)
        js_set_string(js_get(m->probes, "libs"), soname, path);
}

static inline void made_named_library(struct made *m, const char *soname, const char *name,
                                      const char *version) {
    struct text path = {0};
    text_addf(&path, "/usr/lib/x86_64-linux-gnu/%s.%s", name, version == NULL ? "" : version);
    made_library(m, soname, version == NULL ? NULL : text_string(&path));
    text_free(&path);
}

static inline void made_module(struct made *m, const struct made_driver *d) {
    static const char path[] = "/lib/modules/" MADE_KERNEL "/updates/dkms/nvidia.ko";
    js *all = js_new_object(), *info = js_new_object();
    js_set_string(info, "version", d->disk);
    js_set_string(info, "license", d->license);
    js_set_string(info, "vermagic", MADE_KERNEL " SMP");
    js_set_string(info, "signer", "a key");
    js_set(all, path, info);
    js_set(m->probes, "modinfo", all);
    struct text line = {0};
    text_addf(&line, "%s\tf\t0644\t0\t0\t1000\t1\t\n", path);
    made_top(m, "files.tsv", text_string(&line));
    text_free(&line);
}

/* A machine with everything that the driver's families ask. */
static inline void made_with_driver(struct made *m, const char *where, const char *manager,
                                    const struct made_driver *d) {
    made_begin(m, where, manager);
    made_file(m, "/proc/sys/kernel/osrelease", MADE_KERNEL "\n");
    made_file(m, "/proc/modules", d->loaded != NULL ? "nvidia 1 2 - Live 0x0\n" : "ext4 1 2 - Live 0x0\n");
    if (d->loaded != NULL) {
        made_format(m, "/sys/module/nvidia/version", "%s\n", d->loaded);
        made_format(m, "/proc/driver/nvidia/version",
                    strcmp(d->license, "NVIDIA") != 0
                        ? "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build\n"
                        : "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  Thu\n",
                    d->loaded);
    } else {
        made_file(m, "/proc/devices", "Character devices:\n  1 mem\n\nBlock devices:\n  8 sd\n");
        text_clear(&m->nodes);
        made_code(m, "cuInit", 100);
        made_code(m, "nvmlInit", 9);
        js_set(m->probes, "gpus", js_new_array());
    }
    made_pci(m, "0000:41:00.0", d);
    made_pci(m, "0000:61:00.0", d);
    if (d->disk != NULL)
        made_module(m, d);
    made_named_library(m, "libcuda.so.1", "libcuda.so", d->cuda);
    made_named_library(m, "libnvidia-ml.so.1", "libnvidia-ml.so", d->nvml);
}

#endif
