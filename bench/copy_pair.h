/* SPDX-License-Identifier: Apache-2.0 */
/* One host and one device buffer with data between them to copy, one way: what every copy case is made of.
 * The data of a pair is its own, so that exchanged pairs show. Its functions make the pair's GPU current. */
#ifndef GPUVET_BENCH_COPY_PAIR_H
#define GPUVET_BENCH_COPY_PAIR_H

#include "run/case.h"
#include "system/pin.h"

enum { COPY_LARGE = 512 << 20, COPY_WARM = 128 << 20 };

enum copy_memory { COPY_PINNED, COPY_HOSTALLOC, COPY_PAGEABLE };

struct copy_pair {
    /* To be filled before copy_pair_make. */
    const struct gpu_device *gpu;
    bool to_device;
    bool kernel; /* by the multiprocessors (kernels/copy.h), not the copy engine */
    enum copy_memory memory;
    size_t bytes;  /* of one copy */
    size_t window; /* of the buffers, a multiple of `bytes`: copies go through it block by block and begin
                      anew */
    int os_node;
    uint32_t seed; /* of the source's data; copy_pair_make takes that of memory which is filled already */
    bool name_gpu; /* in what copy_pair_verify finds, where there are several */

    /* Made. */
    const struct host_buffer *pinned; /* hostalloc too */
    struct host_buffer pageable;
    void *host;            /* of one of both */
    void *host_for_kernel; /* the same for the GPU */
    void *device;
    bool measuring; /* poisoned: before that only COPY_WARM bytes of a copy are copied, to wake link and
                       clocks */
    size_t next;    /* block */
    size_t touched; /* bytes from the start that copies since the last poison went to */
};

/* From the parameters bytes, memory, engine and cache (absent: one block, the copy engine), and an OS node.
 * `index` gives the pair its own data. */
void copy_pair_plan(struct copy_pair *pair, const struct case_context *context, const struct gpu_device *gpu,
                    bool to_device, int os_node, int index);
/* Fills the source. Flags memory that is not where it should be, tells in detail.host_node where it is.
 * Release with copy_pair_free, also after a failure. */
bool copy_pair_make(struct copy_pair *pair, struct case_context *context, struct error *err);
void copy_pair_free(struct copy_pair *pair, struct shelf *shelf);

/* What no copy reaches from now on is found: spoils the destination on a device, and gives a source on a
 * device data of which the destination's has no word at its place. Waits. */
bool copy_pair_poison(struct copy_pair *pair, struct error *err);
/* Does not wait, but for pageable memory. */
bool copy_pair_enqueue(struct copy_pair *pair, gpu_stream stream, int count, struct error *err);

/* Damages what the copies left at a place that `seed` chooses: `how` is word, shift, or swap (with what the
 * copies of `other`, a pair of the same direction, left). */
bool copy_pair_damage(struct copy_pair *pair, struct copy_pair *other, const char *how, uint64_t seed,
                      uint64_t *offset, struct error *err);
/* Adds to `out` what is wrong in the destination; the first wrong word found stays. */
bool copy_pair_verify(struct copy_pair *pair, struct verification *out, struct error *err);

#endif
