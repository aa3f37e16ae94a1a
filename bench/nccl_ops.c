/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/nccl_ops.h"

#include <string.h>

static const int collective_types[] = {[NCCL_INT32] = COLLECTIVE_INT32,
                                       [NCCL_FLOAT] = COLLECTIVE_FLOAT,
                                       [NCCL_HALF] = COLLECTIVE_HALF,
                                       [NCCL_BF16] = COLLECTIVE_BF16};
static const char *const type_names[] = {
    [NCCL_INT32] = "int32", [NCCL_FLOAT] = "float", [NCCL_HALF] = "half", [NCCL_BF16] = "bf16"};
static const char *const op_names[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                       "reduce",     "alltoall",   "sendrecv"};

enum { WINDOWS = 20, ALIGNMENT = 256 };
static const size_t most_room = (size_t)512 << 20; /* of all windows */

const char *nccl_op_name(enum nccl_op op) {
    return op < NCCL_OPS ? op_names[op] : "";
}

const char *nccl_type_name(enum nccl_type type) {
    return type_names[type];
}

bool nccl_type_of(const char *name, enum nccl_type *out) {
    for (int i = 0; i < (int)(sizeof type_names / sizeof *type_names); i++)
        if (strcmp(name, type_names[i]) == 0) {
            *out = (enum nccl_type)i;
            return true;
        }
    return false;
}

static bool has_parts(enum nccl_op op) {
    return op == NCCL_ALL_GATHER || op == NCCL_REDUCE_SCATTER || op == NCCL_ALLTOALL;
}

bool nccl_shape_make(enum nccl_op op, int ranks, enum nccl_type type, size_t bytes, bool in_place,
                     struct nccl_shape *out) {
    size_t element = collective_size(collective_types[type]);
    size_t count = bytes / element;
    size_t n = (size_t)(ranks > 0 ? ranks : 1);
    if (in_place && (op == NCCL_ALLTOALL || op == NCCL_SENDRECV))
        return false;
    if (has_parts(op))
        count = count / n & ~(16 / element - 1);
    *out =
        (struct nccl_shape){.op = op, .ranks = ranks, .type = type, .in_place = in_place, .element = element};
    out->part = count;
    out->sent = op == NCCL_REDUCE_SCATTER || op == NCCL_ALLTOALL ? count * n : count;
    out->received = op == NCCL_ALL_GATHER || op == NCCL_ALLTOALL ? count * n : count;
    out->bytes = (out->sent > out->received ? out->sent : out->received) * element;
    return count > 0;
}

size_t nccl_stride(const struct nccl_shape *shape) {
    return (shape->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Where not all fit, as many as every sample goes through alike. */
int nccl_windows(const struct nccl_shape *shape, int loop) {
    size_t stride = nccl_stride(shape);
    int windows = stride * WINDOWS <= most_room ? WINDOWS : (int)(most_room / stride);
    while (windows > 1 && windows < WINDOWS && loop > 1 && loop % windows != 0)
        windows--;
    return windows < 1 ? 1 : windows;
}

double nccl_walked(const struct nccl_shape *shape, int loop) {
    size_t more = shape->sent > shape->received ? shape->sent : shape->received;
    size_t elements = shape->in_place ? more : shape->sent + shape->received;
    return (double)nccl_windows(shape, loop) * (double)elements * (double)shape->element;
}

double nccl_algbw(const struct nccl_shape *shape, double seconds) {
    return (double)shape->bytes / 1e9 / seconds;
}

double nccl_busbw_factor(enum nccl_op op, int ranks) {
    double n = ranks;
    switch (op) {
    case NCCL_ALL_REDUCE:
        return 2 * (n - 1) / n;
    case NCCL_ALL_GATHER:
    case NCCL_REDUCE_SCATTER:
    case NCCL_ALLTOALL:
        return (n - 1) / n;
    default:
        return 1;
    }
}

size_t nccl_send_offset(const struct nccl_shape *shape, int rank) {
    return shape->in_place && shape->op == NCCL_ALL_GATHER ? shape->part * (size_t)rank : 0;
}

size_t nccl_receive_offset(const struct nccl_shape *shape, int rank) {
    return shape->in_place && shape->op == NCCL_REDUCE_SCATTER ? shape->part * (size_t)rank : 0;
}

static struct collective_data data_of(const struct nccl_shape *shape, int from, uint64_t first,
                                      uint32_t seed) {
    return (struct collective_data){.type = collective_types[shape->type],
                                    .ranks = shape->ranks,
                                    .from = from,
                                    .block = shape->part,
                                    .first = first,
                                    .seed = seed};
}

void nccl_give(const struct nccl_shape *shape, int rank, uint64_t first, uint32_t seed,
               struct collective_data *out) {
    *out = data_of(shape, rank, first, seed);
}

void nccl_expect(const struct nccl_shape *shape, int rank, uint64_t first, uint32_t seed,
                 struct collective_data *out, size_t *count) {
    uint64_t own = (uint64_t)rank * shape->part;
    int from = COLLECTIVE_SUM;
    *count = shape->received;
    switch (shape->op) {
    case NCCL_REDUCE_SCATTER:
        first += own;
        break;
    case NCCL_ALLTOALL:
        first += own;
        from = COLLECTIVE_BY_BLOCK;
        break;
    case NCCL_ALL_GATHER:
        from = COLLECTIVE_BY_BLOCK;
        break;
    case NCCL_BROADCAST:
        from = shape->root;
        break;
    case NCCL_SENDRECV:
        from = (rank + shape->ranks - 1) % shape->ranks;
        break;
    case NCCL_REDUCE:
        *count = rank == shape->root ? shape->received : 0;
        break;
    default:
        break;
    }
    *out = data_of(shape, from, first, seed);
}

/* ---- issuing ---- */

static bool issue_alltoall(const struct nccl *nccl, const struct nccl_shape *shape, const char *send,
                           char *receive, nccl_comm comm, gpu_stream stream, struct error *err) {
    size_t step = shape->part * shape->element;
    bool good = true;
    for (int peer = 0; good && peer < shape->ranks; peer++)
        good =
            nccl_send(nccl, send + (size_t)peer * step, shape->part, shape->type, peer, comm, stream, err) &&
            nccl_receive(nccl, receive + (size_t)peer * step, shape->part, shape->type, peer, comm, stream,
                         err);
    return good || RELAY(err);
}

/* To the next rank, from the one before. */
static bool issue_sendrecv(const struct nccl *nccl, const struct nccl_shape *shape, int rank,
                           const void *send, void *receive, nccl_comm comm, gpu_stream stream,
                           struct error *err) {
    int next = (rank + 1) % shape->ranks, before = (rank + shape->ranks - 1) % shape->ranks;
    return (nccl_send(nccl, send, shape->part, shape->type, next, comm, stream, err) &&
            nccl_receive(nccl, receive, shape->part, shape->type, before, comm, stream, err)) ||
           RELAY(err);
}

/* A group that was begun is ended, also after a failure: the thread would stay inside it. */
static bool issue_group(const struct nccl *nccl, const struct nccl_shape *shape, int rank, const void *send,
                        void *receive, nccl_comm comm, gpu_stream stream, struct error *err) {
    struct error second = {0};
    if (!nccl_group_begin(nccl, err))
        return RELAY(err);
    bool good = shape->op == NCCL_ALLTOALL
                    ? issue_alltoall(nccl, shape, send, receive, comm, stream, err)
                    : issue_sendrecv(nccl, shape, rank, send, receive, comm, stream, err);
    bool ended = nccl_group_end(nccl, &second);
    if (good && !ended)
        *err = second;
    return (good && ended) || RELAY(err);
}

bool nccl_issue(const struct nccl *nccl, const struct nccl_shape *shape, int rank, const void *send,
                void *receive, nccl_comm comm, gpu_stream stream, struct error *err) {
    size_t n = shape->part;
    enum nccl_type type = shape->type;
    switch (shape->op) {
    case NCCL_ALL_REDUCE:
        return nccl_all_reduce(nccl, send, receive, n, type, comm, stream, err) || RELAY(err);
    case NCCL_ALL_GATHER:
        return nccl_all_gather(nccl, send, receive, n, type, comm, stream, err) || RELAY(err);
    case NCCL_REDUCE_SCATTER:
        return nccl_reduce_scatter(nccl, send, receive, n, type, comm, stream, err) || RELAY(err);
    case NCCL_BROADCAST:
        return nccl_broadcast(nccl, send, receive, n, type, shape->root, comm, stream, err) || RELAY(err);
    case NCCL_REDUCE:
        return nccl_reduce(nccl, send, receive, n, type, shape->root, comm, stream, err) || RELAY(err);
    default:
        return issue_group(nccl, shape, rank, send, receive, comm, stream, err) || RELAY(err);
    }
}
