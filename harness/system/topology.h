/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets, NUMA nodes, cores and PCI devices, by hwloc (which stays inside topology.c). "Logical" indices are
 * hwloc's and count nodes in order; "OS" indices are the kernel's. Only what the caller's cpuset allows
 * counts as a place to pin to. */
#ifndef GPUVET_SYSTEM_TOPOLOGY_H
#define GPUVET_SYSTEM_TOPOLOGY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct topology;

/* NULL with `err` filled on failure. Release with topology_free (NULL allowed). */
struct topology *topology_live(struct error *err);
struct topology *topology_from_xml(const char *xml, size_t length, struct error *err);
void topology_free(struct topology *topology);
/* hwloc's XML export, with I/O devices; release with free. NULL with `err` filled. */
char *topology_xml(const struct topology *topology, struct error *err);

int topology_node_count(const struct topology *topology); /* at least 1 */
int topology_core_count(const struct topology *topology); /* cores with an allowed PU */
int topology_socket_count(const struct topology *topology);

/* The NUMA node (logical) a PCI device is attached to; -1 when the machine does not say (then every node is
 * as near as any other). `bdf` is "0000:41:00.0". */
int topology_device_node(const struct topology *topology, const char *bdf);

/* The socket (logical) a node belongs to; 0 where none is to be seen. */
int topology_node_socket(const struct topology *topology, int node);
int topology_node_os_index(const struct topology *topology, int node);
int topology_node_logical(const struct topology *topology, int os_index); /* -1: none */
/* Whether the cpuset lets us have memory of a node (logical). Its CPUs are another matter: see
 * topology_pin_cpu. */
bool topology_node_memory_allowed(const struct topology *topology, int node);

/* Narrows what is allowed to what `other` allows too (a container of the same machine). False, and nothing is
 * changed, when they have no CPU or no memory in common. */
bool topology_allow_common(struct topology *topology, const struct topology *other);

/* Nodes ordered by distance from `node` (itself first; by the SLIT where hwloc has it, else same socket
 * before other sockets, else by index). `out` has room for topology_node_count entries. */
void topology_nodes_by_distance(const struct topology *topology, int node, int *out);

/* OS indices of PUs to pin to, -1 when the cpuset has none there. One PU a core; the node's first core is
 * left to the system where there is another (it takes most interrupts). `node` -1: the whole machine. */
int topology_pin_cpu(const struct topology *topology, int node);
/* Another core of the same node than `cpu` (its neighbour), for a waker or a second thread; -1: none. */
int topology_other_cpu(const struct topology *topology, int cpu);
/* A core as far away as there is: another socket, else another node, else the last core; -1: none other. */
int topology_far_cpu(const struct topology *topology, int cpu);
/* OS indices of one PU of every allowed core; returns how many of `capacity` were filled. */
int topology_all_cores(const struct topology *topology, int *out, int capacity);
/* The same of one node's cores; -1: the whole machine's. */
int topology_node_cores(const struct topology *topology, int node, int *out, int capacity);
/* The logical NUMA node of a PU, -1 unknown. */
int topology_cpu_node(const struct topology *topology, int cpu);
/* Whether the cpuset (or taskset) lets us run there. */
bool topology_cpu_allowed(const struct topology *topology, int cpu);

/* How one core stands to another. A complex is the cores below one L3; where none is to be seen, a socket. */
enum core_relation { CORE_SAME_COMPLEX, CORE_OTHER_COMPLEX, CORE_OTHER_SOCKET };
/* An allowed core that stands so to `cpu`; the first such is left to the system where there is another.
 * Another complex is one of the same socket. -1: none. */
int topology_related_cpu(const struct topology *topology, int cpu, enum core_relation relation);

/* Bytes of the last-level cache above a PU, and of all of them above a node's cores; 0 unknown. */
int64_t topology_cpu_cache(const struct topology *topology, int cpu);
int64_t topology_node_cache(const struct topology *topology, int node);

/* "PIX", "PXB", "PHB", "NODE" or "SYS" as nvidia-smi topo -m names them; "X" for the same device, "" unknown.
 */
const char *topology_path_class(const struct topology *topology, const char *bdf_a, const char *bdf_b);

#endif
