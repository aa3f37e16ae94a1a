/* SPDX-License-Identifier: Apache-2.0 */
/* One machine (or container) as a plan needs it: its flat environment, its GPUs, its topology. It comes from
 * a worker's hello (live, host and containers alike) or from a capture, so that planning never knows which.
 */
#ifndef GPUVET_SYSTEM_NODE_H
#define GPUVET_SYSTEM_NODE_H

#include "base/error.h"
#include "base/json.h"
#include "system/gpus.h"
#include "system/topology.h"

struct node {
    js *environment; /* flat dotted keys (docs/capture.md), owned */
    js *moving;      /* the same for what moves by itself and is never compared, owned */
    struct gpu_list gpus;
    struct topology *topology;
    char *name; /* host name, for file names */
};

/* {"name","environment","environment_volatile","gpus","p2p","nvlink","gpus_reason","topology"}; owned by the
 * caller. */
js *node_to_json(const struct node *node, struct error *err);
bool node_from_json(const js *value, struct node *out, struct error *err);
void node_free(struct node *node);

/* Asking the flat environment; NULL or -1 where the key is absent or a reason ("needs root", "unknown"). */
const char *node_text(const struct node *node, const char *key);
double node_number(const struct node *node, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
