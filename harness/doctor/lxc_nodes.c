/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/lxc_nodes.h"

#include "doctor/container_needs.h"
#include "doctor/majors.h"
#include "system/look.h"

#include <stdio.h>
#include <string.h>

/* A node that goes in must be there when the container starts. */
static void check_nodes(const struct scene *scene, struct findings *out, const struct container *c) {
    for (size_t i = 0; scene->nodes->known && i < c->n_devices; i++) {
        const struct device_entry *entry = &c->devices[i];
        bool uvm = strcmp(entry->host_path, "/dev/nvidia-uvm") == 0;
        bool gpu = text_starts(entry->host_path, "/dev/nvidia") && entry->host_path[11] >= '0' &&
                   entry->host_path[11] <= '9';
        if ((!uvm && !gpu) || device_nodes_find(scene->nodes, entry->host_path) != NULL)
            continue;
        char where[512];
        snprintf(where, sizeof where, "%s:%d", entry->file, entry->line);
        struct finding *f = finding_add(out, "lxc.node-missing", SEVERITY_FAIL,
                                        "container %s takes %s, which is not there when it starts", c->name,
                                        entry->host_path);
        finding_evidence(f, where, "%s", entry->text);
        finding_evidence(f, entry->host_path, "no such node on the host");
        if (entry->creates_file)
            finding_cause(
                f, "create=file then leaves a regular file in its place, on which CUDA fails with 999");
        if (gpu && !may_be_gpu_node(scene, entry->host_path)) {
            finding_remedy(f, "no GPU of this driver has that number: take the line out, or name one of "
                              "/proc/driver/nvidia/gpus/*/information (Device Minor)");
            continue;
        }
        if (uvm)
            finding_remedy(
                f, "modprobe nvidia_uvm && nvidia-modprobe -u -c 0   (on the host, before the container)");
        else
            finding_remedy(f, "nvidia-modprobe -c %s   (on the host, before the container)",
                           entry->host_path + 11);
        finding_remedy(f, "for good: a oneshot unit with that line, After=systemd-modules-load.service, "
                          "Before=pve-guests.service lxc.service docker.service");
    }
}

/* What CUDA cannot do without. */
static bool is_needed(const char *path) {
    return strcmp(path, "/dev/nvidiactl") == 0 || strcmp(path, "/dev/nvidia-uvm") == 0 ||
           gpu_node_number(path) >= 0;
}

/* Nodes that a privileged container's CUDA makes for itself; an unprivileged one may make none. */
static void check_given(const struct scene *scene, struct findings *out, const struct container *c) {
    struct container_need needs[CONTAINER_NEEDS];
    container_needs(scene, needs);
    for (size_t i = 0; i < CONTAINER_NEEDS; i++) {
        const char *node = needs[i].node;
        if (!container_lacks_node(c, &needs[i]) || !container_need_met(scene, c, &needs[i]))
            continue;
        struct finding *f =
            finding_add(out, "lxc.node-not-given", SEVERITY_FAIL,
                        "container %s takes a GPU and not %s, which it may not make itself", c->name, node);
        finding_evidence(f, c->file, "no lxc.mount.entry and no dev entry of %s", node);
        finding_evidence(f, c->file, "unprivileged");
        finding_remedy(f, "add to %s: lxc.mount.entry%s %s %s none bind,optional,create=file 0 0", c->file,
                       lxc_separator(c), node, node + 1);
        lxc_offer_fix(c, f);
        lxc_restart(c, f);
    }
}

/* Ids inside of an unprivileged container are none of the host's: only what is open to everybody is open to
 * it. */
static void check_closed(const struct scene *scene, struct findings *out, const struct container *c) {
    enum {
        FIRST_MAPPED = 65536
    }; /* a node given to an id of the usual maps, 100000 and on, was given to the container */
    struct finding *f = NULL;
    char where[512];
    for (size_t i = 0; c->unprivileged && !c->maps_ids && i < c->n_devices; i++) {
        const struct device_entry *entry = &c->devices[i];
        const struct device_node *node = device_nodes_find(scene->nodes, entry->host_path);
        if (entry->by_manager || !is_needed(entry->host_path) || node == NULL || node->type != 'c' ||
            node->mode < 0 || (node->mode & 06) == 06 || node->uid >= FIRST_MAPPED ||
            node->gid >= FIRST_MAPPED)
            continue;
        if (f == NULL)
            f = finding_add(out, "lxc.node-closed", SEVERITY_FAIL,
                            "container %s is unprivileged, and the mode of %s shuts its users out", c->name,
                            entry->host_path);
        snprintf(where, sizeof where, "%s:%d", entry->file, entry->line);
        finding_evidence(f, where, "%s", entry->text);
        finding_evidence(f, entry->host_path, "mode %04o, owner %lld:%lld on the host", (unsigned)node->mode,
                         (long long)node->uid, (long long)node->gid);
    }
    if (f == NULL)
        return;
    finding_remedy(
        f, "Proxmox VE 8.2 or newer: dev0: /dev/nvidiactl, dev1: /dev/nvidia-uvm, dev2: /dev/nvidia0 … "
           "(each with ,gid=GID or ,mode=0666 for users other than root) in place of the binds");
    finding_remedy(
        f, "or for everybody: chmod 0666 /dev/nvidia*; lasting: options nvidia NVreg_DeviceFileMode=0666 "
           "in /etc/modprobe.d/nvidia.conf");
    lxc_restart(c, f);
}

/* CUDA opens its nodes to read and write. */
static void check_write(struct findings *out, const struct container *c) {
    for (size_t i = 0; i < c->n_devices; i++) {
        const struct device_entry *entry = &c->devices[i];
        if (!entry->denies_write || !is_needed(entry->host_path))
            continue;
        struct finding *f =
            finding_add(out, "lxc.deny-write", SEVERITY_FAIL,
                        "container %s may only read %s: CUDA cannot open it", c->name, entry->host_path);
        finding_remedy(f, "%s line %d: take out deny-write=1", entry->file, entry->line);
        lxc_tell_entry(c, entry, f);
    }
}

static bool comments_name(const struct container *c, const char *bdf) {
    const char *colon = strchr(bdf, ':');
    for (size_t i = 0; colon != NULL && i < c->comments.count; i++)
        if (strstr(c->comments.items[i], colon + 1) != NULL)
            return true;
    return false;
}

/* The first GPU that a comment names by its address and that none of the container's nodes is; "" none. */
static void named_elsewhere(const struct scene *scene, const struct container *c, char out[16]) {
    struct strings names = {0};
    out[0] = '\0';
    look_list(scene->source, "/proc/driver/nvidia/gpus", &names);
    for (size_t n = 0; n < names.count && out[0] == '\0'; n++) {
        bool given = !comments_name(c, names.items[n]) || strlen(names.items[n]) > 15;
        for (size_t i = 0; i < c->n_devices && !given; i++) {
            char bdf[16];
            int minor = gpu_node_number(c->devices[i].host_path);
            given = minor >= 0 && majors_gpu_of_minor(scene, minor, bdf) && strcmp(bdf, names.items[n]) == 0;
        }
        if (!given)
            snprintf(out, 16, "%.15s", names.items[n]);
    }
    strings_free(&names);
}

/* A comment says which GPU was meant, and the node is another: indices were taken for minors. */
static void check_meant(const struct scene *scene, struct findings *out, const struct container *c) {
    char meant[16], bdf[16];
    named_elsewhere(scene, c, meant);
    for (size_t i = 0; meant[0] != '\0' && i < c->n_devices; i++) {
        int minor = gpu_node_number(c->devices[i].host_path);
        if (minor < 0 || !majors_gpu_of_minor(scene, minor, bdf) || comments_name(c, bdf))
            continue;
        struct finding *f =
            finding_add(out, "lxc.other-gpu", SEVERITY_FAIL,
                        "container %s names GPU %s in a comment and takes %s, which is GPU %s", c->name,
                        meant, c->devices[i].host_path, bdf);
        char file[64];
        snprintf(file, sizeof file, "/proc/driver/nvidia/gpus/%s/information", bdf);
        finding_evidence(f, file, "Device Minor: %d", minor);
        finding_remedy(f,
                       "the node of GPU %s has the number after Device Minor in "
                       "/proc/driver/nvidia/gpus/%s/information",
                       meant, meant);
        lxc_tell_entry(c, &c->devices[i], f);
        return;
    }
}

/* The index that nvidia-smi shows is the order of PCI addresses; the node's number is the driver's. */
static void check_map(const struct scene *scene, struct findings *out, const struct container *c) {
    for (size_t i = 0; i < c->n_devices; i++) {
        char bdf[16];
        int minor = -1;
        const char *path = c->devices[i].host_path;
        if (sscanf(path, "/dev/nvidia%d", &minor) != 1 || !majors_gpu_of_minor(scene, minor, bdf))
            continue;
        int index = majors_index_of_gpu(scene, bdf);
        if (index < 0 || index == minor)
            continue;
        struct finding *f =
            finding_add(out, "lxc.node-map", SEVERITY_INFO,
                        "container %s takes %s, which is the GPU at %s (GPU %d in nvidia-smi)", c->name, path,
                        bdf, index);
        finding_evidence(f, c->file, "%s", c->devices[i].text);
    }
}

void lxc_nodes_check(const struct scene *scene, struct findings *out, const struct container *c) {
    check_write(out, c);
    check_given(scene, out, c);
    check_closed(scene, out, c);
    check_nodes(scene, out, c);
}

void lxc_nodes_check_meant(const struct scene *scene, struct findings *out, const struct container *c) {
    check_meant(scene, out, c);
    check_map(scene, out, c);
}
