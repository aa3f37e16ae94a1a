/* SPDX-License-Identifier: Apache-2.0 */
/* Device nodes of the GPU driver as a process finds them: type, mode, owner, numbers, and what open()
 * answers. Live they are looked at and opened in a bounded child; of a capture they are its dev.tsv. */
#ifndef GPUVET_SYSTEM_DEVICE_NODES_H
#define GPUVET_SYSTEM_DEVICE_NODES_H

#include "base/error.h"
#include "system/facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device_node {
    char *path;         /* "/dev/nvidia-uvm" */
    char type;          /* c b f d l s p; '?' unknown */
    int mode;           /* permission bits; -1 unknown */
    int64_t uid, gid;   /* -1 unknown */
    int major, minor;   /* -1: no device, or unknown */
    char open[20];      /* "ok", an errno name ("EPERM"), "timeout"; "" not tried */
    bool made_by_probe; /* it was not there before cuInit: root's libcuda made it */
};

struct device_nodes {
    struct device_node *items; /* sorted by path */
    size_t count, capacity;
    bool known; /* false: nobody looked, so that absence means nothing */
};

/* Of a capture its table (`known` is false where it has none), live what device_nodes_live finds. */
bool device_nodes_read(const struct source *source, struct device_nodes *out, struct error *err);
/* This machine's: listings first, then opened as the caller, GPUs last. Takes some milliseconds; what does
 * not answer is "timeout" in `open` (a folder that cannot be listed stands there itself), within 9 s in all.
 */
void device_nodes_live(struct device_nodes *out);
/* The listings once more, after a driver was asked: what appeared is added, `made_by_probe`. */
void device_nodes_again(struct device_nodes *nodes);
const struct device_node *device_nodes_find(const struct device_nodes *nodes, const char *path);
/* Adds a zeroed node (numbers -1) with this path. */
struct device_node *device_nodes_add(struct device_nodes *nodes, const char *path);
void device_nodes_sort(struct device_nodes *nodes);
void device_nodes_free(struct device_nodes *nodes);

#endif
