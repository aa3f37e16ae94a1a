/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs that work together: one rank, one thread and one stream a GPU, as nccl-tests with -t N -g 1. A
 * communicator is made once a child for each set of GPUs and kept on the shelf. Where one rank fails, all
 * communicators of the set are aborted, so that the others come back; the next item makes them anew. */
#ifndef GPUVET_BENCH_NCCL_SET_H
#define GPUVET_BENCH_NCCL_SET_H

#include "gpu/nccl.h"
#include "run/case.h"

#include <pthread.h>
#include <stdatomic.h>

struct nccl_set;

/* What a rank is at, for the words of a hang. */
enum nccl_stage {
    NCCL_NOT_COME,
    NCCL_JOINING,   /* making the communicator: waits for the others */
    NCCL_PREPARING, /* memory, data */
    NCCL_ISSUING,   /* operations */
    NCCL_WAITING,   /* for what was issued to end */
    NCCL_AT_BARRIER,
    NCCL_DONE,
    NCCL_STAGES
};

struct nccl_rank {
    struct nccl_set *set;
    int rank;
    int cpu; /* its core once it measures; -1: none of its own */
    struct gpu_device device;
    gpu_stream stream;
    nccl_comm comm;       /* NULL where the set works without NCCL */
    char *send, *receive; /* of at least the room asked for */
    _Atomic int stage;
};

struct nccl_set {
    struct nccl *nccl; /* NULL: one GPU, without NCCL */
    struct nccl_rank *ranks;
    int n;
    double join_seconds; /* of making the communicators, where this item made them; else 0 */
    /* Of the run in progress. */
    _Atomic int arrived, generation;
    pthread_mutex_t gathering; /* of nccl_gather */
    pthread_cond_t gathered;
    int come, meetings;
    _Atomic bool failed;
};

struct nccl_set_options {
    bool without_nccl; /* for one GPU: only thread and stream */
    int absent_rank;   /* a fault: this rank never joins; -1: all do */
    bool fresh;        /* not from the shelf, and not put there */
};

/* The ranks are context->gpus in the order of the attribute "order" (places; none: as they are), their cores
 * the attribute "cpus". ERROR_ABSENT where NCCL is missing or too old. Puts NCCL's version, path and
 * variables into the record's detail (its hash in the first round). */
bool nccl_set_get(struct case_context *context, const struct nccl_set_options *options, struct nccl_set **out,
                  struct error *err);
/* Send and receive buffers of at least `bytes` on every GPU, kept for the next item. */
bool nccl_set_room(struct case_context *context, struct nccl_set *set, size_t bytes, struct error *err);
/* After a failure, or for a fresh set: aborts (or leaves) and forgets. */
void nccl_set_drop(struct case_context *context, struct nccl_set *set, bool broken);

/* Runs `work` for every rank in a thread of its own, its GPU current, and waits for all. The first failure is
 * told, with the rank it came from. */
typedef bool nccl_work_fn(struct nccl_rank *rank, void *arg, struct error *err);
bool nccl_set_run(struct case_context *context, struct nccl_set *set, nccl_work_fn *work, void *arg,
                  struct error *err);

/* ---- for the ranks' threads ---- */

/* All leave it within a fraction of a microsecond of each other. False: another rank failed. */
bool nccl_barrier(struct nccl_rank *rank, struct error *err);
/* The same by a condition variable, as nccl-tests starts its threads: the last to come goes on at once, the
 * others one after the other as they are woken, tens of microseconds later. */
bool nccl_gather(struct nccl_rank *rank, struct error *err);
/* Binds the thread to the rank's own core. Only once all connections stand: NCCL's helper threads inherit
 * where they may run. */
void nccl_settle(struct nccl_rank *rank);
/* Waits as nccl-tests does: asks the stream, then NCCL, then gives way, again and again. */
bool nccl_wait(struct nccl_rank *rank, struct error *err);

/* "rank 0 (0000:01:00.0) waits for …" of all ranks. */
void nccl_set_describe(const struct nccl_set *set, char *out, size_t size);

#endif
