/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of one buffer on one GPU to one on another: what every P2P case is made of.
 *
 * Who issues them is the direction: writing, a stream of the source's GPU pushes;
 * reading, a stream of the destination's GPU pulls. What arrived is read where it must be, by the
 * destination's own GPU in its own memory: what the writer reads back proves nothing, since a mapping that
 * leads elsewhere shows it its own data. The data depends on position, pair and round, so that yesterday's or
 * a neighbour's is wrong. */
#ifndef GPUVET_BENCH_PEER_PAIR_H
#define GPUVET_BENCH_PEER_PAIR_H

#include "run/case.h"

enum { PEER_LARGE = 512 << 20, PEER_WARM = 64 << 20 };

struct peer_pair {
    /* To be filled before peer_pair_make. */
    const struct gpu_device *from, *to; /* the data's way */
    bool read;                          /* the destination's GPU pulls */
    bool kernel;                        /* by the multiprocessors (kernels/copy.h), not the copy engine */
    bool direct;                        /* peer access on; off: the driver stages the data through the host */
    size_t bytes;                       /* of one copy */
    size_t window; /* of the buffers: copies go through it block by block and begin anew */
    uint32_t seed;

    /* Made. */
    void *source, *target;
    size_t next;    /* block */
    size_t touched; /* bytes from the start that copies since the last poison went to */
};

/* From the parameters bytes, engine, peer (on, off), cache, and access (read, write), which may be an
 * attribute. `index` gives the pair its own data. */
void peer_pair_plan(struct peer_pair *pair, const struct case_context *context, const struct gpu_device *from,
                    const struct gpu_device *to, int index);
const struct gpu_device *peer_pair_initiator(const struct peer_pair *pair);

/* Maps both GPUs' memory for each other, or takes the mappings back; gets the buffers and fills the source.
 * Release with peer_pair_free, also after a failure. */
bool peer_pair_make(struct peer_pair *pair, struct case_context *context, struct error *err);
void peer_pair_free(struct peer_pair *pair, struct shelf *shelf);

/* Spoils the destination: afterwards every word of it is wrong. Waits. */
bool peer_pair_poison(struct peer_pair *pair, struct error *err);
/* On a stream of the initiator, which is current. Does not wait, where the access is direct. */
bool peer_pair_enqueue(struct peer_pair *pair, gpu_stream stream, int count, struct error *err);
/* Parts of at most PEER_WARM bytes, to wake link and clocks at less cost. */
bool peer_pair_enqueue_part(struct peer_pair *pair, gpu_stream stream, int count, struct error *err);

/* Damages what the copies left: `how` is word or shift (at a place that `seed` chooses), or pair (another
 * pair's data). */
bool peer_pair_damage(struct peer_pair *pair, const char *how, uint64_t seed, uint64_t *offset,
                      struct error *err);
/* Adds to `out` what is wrong in the destination; the first wrong word found stays. */
bool peer_pair_verify(struct peer_pair *pair, struct verification *out, struct error *err);

#endif
