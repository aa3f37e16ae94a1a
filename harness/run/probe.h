/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker tells of its target when asked for facts: the node as in system/node.h, and whether CUDA
 * starts there. Every part that could hang is asked in a bounded child. */
#ifndef GPUVET_RUN_PROBE_H
#define GPUVET_RUN_PROBE_H

#include "base/json.h"
#include "system/node.h"

#include <stdbool.h>

/* The hello's "facts", owned: node_to_json's object, plus "cuda": {"ok","reason","seconds","devices"} where
 * there are GPUs; or {"error": why} when the system could not be read. */
js *probe_node(void);

struct cuda_probe {
    bool asked; /* there are GPUs to ask about */
    bool good;
    double seconds;   /* from nothing to a context on every GPU */
    char reason[512]; /* why not */
    js *view;         /* target/view.h's object, owned; NULL: none came */
};
void cuda_probe_free(struct cuda_probe *cuda);

/* Takes probe_node's object apart. GPUs that CUDA could not open are marked unusable. */
bool probe_read(const js *facts, struct node *node, struct cuda_probe *cuda, struct error *err);

#endif
