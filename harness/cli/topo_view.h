/* SPDX-License-Identifier: Apache-2.0 */
/* A node as a tree (sockets, NUMA nodes, root ports, switches, GPUs) and as matrices of pairs. */
#ifndef GPUVET_CLI_TOPO_VIEW_H
#define GPUVET_CLI_TOPO_VIEW_H

#include "base/json.h"
#include "system/node.h"

#include <stdio.h>

/* gpuvet.topo/1: {"schema","name","sockets","cores","hypervisor","numa_nodes":[{"index","os_index","cpus",
 * "memory_mib"}],"gpus":[{"index","uuid","bdf","name","numa_node","path":[{"bdf","gen","width","gen_max",
 * "width_max"}],"limit","limit_raw"}],"pairs":[{"from","to","class","nvlinks","p2p","limit","limit_raw"}]}.
 * Paths go from the GPU up; links are null where they cannot be seen; limits in GB/s per direction, null
 * where unknown; "reason" says why there is no GPU. Owned. */
js *topo_json(const struct node *node);

/* Text for people, made from topo_json's value. */
void topo_print(const js *topo, FILE *out);

#endif
