/* SPDX-License-Identifier: Apache-2.0 */
/* The instances that p2p.write and p2p.read have alike. */
#ifndef GPUVET_BENCH_P2P_COPIES_H
#define GPUVET_BENCH_P2P_COPIES_H

#include "bench/p2p_common.h"

void p2p_copies_instances(const struct node *node, bool read, struct instance_list *out);

#endif
