/* SPDX-License-Identifier: Apache-2.0 */
/* What the configurations on a host say that containers and services may have of its devices: LXC (Proxmox's
 * and plain), Docker, Podman, CDI specifications, systemd units. Read, never asked of a manager, so that a
 * container which is not running, or a capture, is judged as well. */
#ifndef GPUVET_SYSTEM_CONTAINERS_H
#define GPUVET_SYSTEM_CONTAINERS_H

#include "base/text.h"
#include "system/facts.h"

#include <stdbool.h>
#include <stddef.h>

enum container_kind {
    CONTAINER_PVE,
    CONTAINER_LXC,
    CONTAINER_CDI,
    CONTAINER_UNIT,
    CONTAINER_DOCKER,
    CONTAINER_PODMAN
};

/* One line about devices: allowed or denied. */
struct device_rule {
    char *file; /* an included file has its own name here */
    int line;
    char *key;        /* "lxc.cgroup2.devices.allow" */
    char *text;       /* the value as written: "c 504:* rwm", "char-nvidia-uvm" */
    char *major_text; /* the number as written: "504", "1fd"; "" where there is none */
    bool allow;
    char type;        /* c b a; '/' the path of a node; '?' unreadable */
    int major, minor; /* -1: any; -2: not a decimal number */
    bool use;         /* r and w: more than mknod */
    int cgroup;       /* 1 or 2: the hierarchy it is for */
    char *class_name; /* units: "nvidia-uvm" of char-nvidia-uvm; NULL */
};

/* One node that goes in. */
struct device_entry {
    char *file;
    int line; /* 0: not known (CDI, Docker, Podman) */
    char *text;
    char *host_path;   /* "/dev/nvidia0" */
    int major, minor;  /* as written (CDI), as kept (Podman); -1 none */
    bool by_manager;   /* dev0:, CDI, --device: the manager makes node and rule at each start */
    bool denies_write; /* deny-write=1 of dev0:, no w of --device: it may be read only */
    bool creates_file; /* create=file: a regular file stands there when the host's node is absent */
};

/* A file that goes in: CDI mounts of libraries. */
struct mount_entry {
    char *host_path;
};

struct container {
    enum container_kind kind;
    char *name; /* "129", "infer", "nvidia.yaml", "ollama.service"; of Docker and Podman the id, as they show
                   it */
    char *called; /* Podman: what people call it; NULL: not known */
    char *file;
    struct device_rule *rules;
    size_t n_rules, rules_capacity;
    struct device_entry *devices;
    size_t n_devices, devices_capacity;
    struct mount_entry *mounts;
    size_t n_mounts, mounts_capacity;
    struct strings comments;  /* lines that begin with # */
    char *cdi_kind;           /* CDI: "nvidia.com/gpu"; NULL */
    struct strings cdi_names; /* CDI: names of its devices */
    bool denies_first;        /* nothing is allowed but what the rules allow */
    bool by_hook;             /* Docker, Podman: NVIDIA's hook gives nodes and rules at each start */
    bool unprivileged;
    bool maps_ids; /* lxc.idmap lines of its own, not the manager's usual map */
    char *problem; /* why it could not be read; NULL: it could */
};

struct container_list {
    struct container *items;
    size_t count, capacity;
};

/* Never fails: a file that cannot be opened is not in the list, one that makes no sense has its `problem`.
 * Release with containers_free. */
void containers_read(const struct source *source, struct container_list *out);
void containers_free(struct container_list *list);

/* Keys of Podman's rules: one that came with a node, and one that somebody wrote. */
#define PODMAN_NODE_RULE "--device"
#define PODMAN_RULE "--device-cgroup-rule"

/* Parsers of one file, for containers_read and its tests; `text` is hostile. */
void container_parse_lxc(const struct source *source, const char *file, const char *text,
                         struct container *out);
void container_parse_cdi(const char *file, const char *text, size_t length, struct container *out);
void container_parse_docker(const char *file, const char *text, size_t length, struct container *out);
void container_parse_podman(const char *file, const char *text, size_t length, struct container *out);
void container_parse_unit(const char *file, const char *text, struct container *out);

/* Whether its rules let a process read and write this device, in hierarchy `cgroup` (1, 2; 0: either). */
bool container_allows(const struct container *container, int cgroup, int major, int minor);
/* The same by a rule that names the node: "/dev/nvidia-uvm rw", of cgroup v2. */
bool container_allows_path(const struct container *container, int cgroup, const char *path);
const struct device_entry *container_device(const struct container *container, const char *host_path);

#endif
