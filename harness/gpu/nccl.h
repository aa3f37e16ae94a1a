/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL, loaded at run time; what is used of it is declared by us, so that gpuvet builds without its headers.
 * Every failure carries NCCL's own last words. All of it is for the worker's child process only; every call
 * that makes or uses a communicator may wait for the other ranks, for ever where one of them does not come:
 * the supervisor's deadline ends that. */
#ifndef GPUVET_GPU_NCCL_H
#define GPUVET_GPU_NCCL_H

#include "base/json.h"
#include "gpu/gpu.h"

struct nccl;             /* the library */
typedef void *nccl_comm; /* an ncclComm_t */

enum { NCCL_ID_BYTES = 128 };
struct nccl_id {
    char bytes[NCCL_ID_BYTES];
};

enum nccl_type { NCCL_INT32, NCCL_FLOAT, NCCL_HALF, NCCL_BF16 };

/* Loads the library. ERROR_ABSENT with the way to install it where there is none, or none that can be used.
 * Never unloaded. Sets NCCL_DEBUG=WARN unless it is set: what NCCL has to say then stands in the item's
 * stderr. */
bool nccl_open(struct nccl **out, struct error *err);
/* ERROR_ABSENT where this version is known not to work on such a GPU. */
bool nccl_fits(const struct nccl *nccl, const struct gpu_device *device, struct error *err);
/* {"version","path","found","bytes"[,"sha256"],"variables":{NCCL_*}}; adds to `out`. Hashing takes most of a
 * second. */
void nccl_describe(const struct nccl *nccl, bool hash, js *out);

bool nccl_make_id(const struct nccl *nccl, struct nccl_id *out, struct error *err);
/* This thread's current GPU becomes `rank` of `ranks`. Waits until all have come. */
bool nccl_join(const struct nccl *nccl, int ranks, const struct nccl_id *id, int rank, nccl_comm *out,
               struct error *err);
void nccl_leave(const struct nccl *nccl, nccl_comm comm); /* waits for the others; NULL allowed */
void nccl_abort(const struct nccl *nccl, nccl_comm comm); /* waits for nobody; from any thread */
/* False when something in the background failed. */
bool nccl_sound(const struct nccl *nccl, nccl_comm comm, struct error *err);

/* All queue one operation of this rank on `stream` and do not wait. Counts are elements as in NCCL's own
 * functions: of one rank's part for all_gather (sent) and reduce_scatter (received). Sums. */
bool nccl_all_reduce(const struct nccl *nccl, const void *send, void *receive, size_t count,
                     enum nccl_type type, nccl_comm comm, gpu_stream stream, struct error *err);
bool nccl_all_gather(const struct nccl *nccl, const void *send, void *receive, size_t count,
                     enum nccl_type type, nccl_comm comm, gpu_stream stream, struct error *err);
bool nccl_reduce_scatter(const struct nccl *nccl, const void *send, void *receive, size_t count,
                         enum nccl_type type, nccl_comm comm, gpu_stream stream, struct error *err);
bool nccl_broadcast(const struct nccl *nccl, const void *send, void *receive, size_t count,
                    enum nccl_type type, int root, nccl_comm comm, gpu_stream stream, struct error *err);
bool nccl_reduce(const struct nccl *nccl, const void *send, void *receive, size_t count, enum nccl_type type,
                 int root, nccl_comm comm, gpu_stream stream, struct error *err);
bool nccl_send(const struct nccl *nccl, const void *from, size_t count, enum nccl_type type, int to,
               nccl_comm comm, gpu_stream stream, struct error *err);
bool nccl_receive(const struct nccl *nccl, void *to, size_t count, enum nccl_type type, int from,
                  nccl_comm comm, gpu_stream stream, struct error *err);
bool nccl_group_begin(const struct nccl *nccl, struct error *err);
bool nccl_group_end(const struct nccl *nccl, struct error *err);

/* "2.28.9" of 22809, "2.7.8" of 2708. */
void nccl_version_text(int version, char *out, size_t size);

#endif
