/* SPDX-License-Identifier: Apache-2.0 */
/* Which device numbers a group may open, found by trying: a cgroup v2 device filter is a program that cannot
 * be read, and it holds together with those of all groups above. */
#ifndef GPUVET_SYSTEM_DEVICE_CGROUP_H
#define GPUVET_SYSTEM_DEVICE_CGROUP_H

#include "system/device_nodes.h"
#include "system/facts.h"

/* The value of probes.json's "device_cgroup" (docs/capture.md). Owned; NULL: not root, no driver, or nothing
 * to try. `containers`: running ones that have nodes of the driver are tried too; for a host.
 *
 * As root, for each level from the root to the leaf: an empty group gpuvet-PID is made below it (a level with
 * controllers takes no process itself), a child goes there and asks for access to a node made beforehand on a
 * file system that nobody else sees, and the group is removed, by a process of its own when this one is
 * killed. access() asks the same filter as open(), and wakes no GPU. */
js *device_cgroup_probe(const struct source *source, const struct facts *facts,
                        const struct device_nodes *nodes, bool containers);

#endif
