/* SPDX-License-Identifier: Apache-2.0 */
/* What the system's own files say, read through a root path: "/" live, DIR/root for a capture. A fact that is
 * missing is unknown; nothing here guesses, and nothing here needs a GPU, CUDA or NVML. */
#ifndef GPUVET_SYSTEM_FACTS_H
#define GPUVET_SYSTEM_FACTS_H

#include "base/error.h"
#include "base/json.h"
#include "system/node.h"

#include <stdbool.h>

/* One fact that may be unknown: `value` NULL with the reason in `why` ("needs root", "unknown", …). Both are
 * owned by the struct facts they are in. */
struct fact {
    char *value;
    const char *why; /* static text */
};

struct facts; /* defined with every field in facts.h by system/: see below */

/* Where facts come from. */
struct source {
    char *root;     /* "" live (so that root + "/proc" is a path), DIR/root for a capture */
    bool live;
    js *probes;     /* a capture's probes.json; NULL live */
    char *topology; /* a capture's topology.xml; NULL: none */
    char *where;    /* a capture's "host" or "container"; NULL live */
};
bool source_live(struct source *out, struct error *err);
/* Reads gpuvet.capture/1 as far as these facts go. Hostile input: every path is resolved as if DIR/root were /
 * (links included), odd file types, depth over 64, over 200,000 entries or 512 MiB are refused. */
bool source_capture(const char *dir, struct source *out, struct error *err);
void source_free(struct source *source);

struct facts *facts_read(const struct source *source, struct error *err);
void facts_free(struct facts *facts);
/* Flat projection: stable keys to `stable`, what moves by itself to `moving`. Both are JSON objects. */
void facts_environment(const struct facts *facts, js *stable, js *moving);

/* Facts, topology and (from a capture) GPUs together. Live, `gpus` are added by the caller (gpu/ reads them). */
bool node_read(const struct source *source, struct node *out, struct error *err);

#endif
