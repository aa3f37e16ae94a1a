/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU driver as it lies on the disk, beside what is loaded: modules for each kernel, who signed them,
 * Secure Boot, what modprobe is told, firmware, build logs. Live and of a capture alike. */
#ifndef GPUVET_SYSTEM_DRIVER_STATE_H
#define GPUVET_SYSTEM_DRIVER_STATE_H

#include "base/json.h"
#include "system/facts.h"
#include "system/file_list.h"

#include <stdbool.h>
#include <stddef.h>

/* A module's file. Texts that are not known are NULL. */
struct driver_module {
    char *path, *kernel; /* "/lib/modules/6.14.11-5-pve/updates/dkms/nvidia.ko", "6.14.11-5-pve" */
    char *name;          /* "nvidia", "nvidia-uvm" (never with _) */
    char *version, *license, *vermagic;
    char *signer; /* "": without a signature */
};

/* One line of modprobe.d, or of the kernel's command line, about a GPU module. */
struct modprobe_line {
    char *file; /* "/etc/modprobe.d/blacklist-nouveau.conf", "/proc/cmdline" */
    int line;
    char *command; /* "blacklist", "options", "install" */
    char *module;  /* "nouveau", never with - */
    char *rest;    /* "modeset=0" */
};

struct driver_state {
    struct file_list files;
    char *release; /* of the running kernel; NULL unknown */
    struct driver_module *modules;
    size_t n_modules, modules_capacity;
    const struct driver_module *disk; /* nvidia for the running kernel, the one that modprobe would take */
    struct modprobe_line *lines;
    size_t n_lines, lines_capacity;
    int secure_boot;    /* 0, 1; -1 unknown */
    char *loaded;       /* /proc/modules; NULL unknown */
    char *distribution; /* ID of os-release; "" unknown */
};

void driver_state_read(const struct source *source, struct driver_state *out);
void driver_state_free(struct driver_state *state);

/* Whether a module is loaded, by /proc/modules; -1 unknown. */
int driver_state_loaded(const struct driver_state *state, const char *module);
/* The module's file for that kernel, as modprobe would choose; NULL: none, or not known. */
const struct driver_module *driver_state_module(const struct driver_state *state, const char *kernel,
                                                const char *name);
/* "6.14.4-arch1-2" against "6.12.1-arch1-1": as numbers where both have digits. */
int driver_release_compare(const char *a, const char *b);
/* "580.159.04": the branch, a dot, more digits and dots; "1.0.0" is none. */
bool driver_is_version(const char *text);

#endif
