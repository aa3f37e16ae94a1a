/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up libnccl.so.2 that works on host memory: ranks are threads of one process, and an operation is
 * carried out when all have come. What it does is read from the file that GPUVET_FAKE_NCCL names, lines of
 * "key value":
 *     version N          what ncclGetVersion says (22809)
 *     fail SYMBOL        this function answers 2 with words about /dev/shm
 *     fail_at RANK N     this rank's Nth operation fails with 3
 *     async RANK         ncclCommGetAsyncError says 6 for this rank
 *     hang SYMBOL        this function never answers
 *     wrong RANK         what this rank receives has one element too many by one
 * Calls are counted: fake_nccl_calls("ncclAllReduce"). */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { MAX_RANKS = 16, MAX_COUNTED = 32, MAX_PARTS = 64 };
enum { INT32 = 2, HALF = 6, FLOAT = 7, BF16 = 9 };
enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, GROUP };

struct unique_id {
    char bytes[128];
};

struct part { /* of a group */
    int send, peer;
    const char *from;
    char *to;
    size_t bytes;
};

struct call {
    int kind, type, root;
    size_t count;
    const void *send;
    void *receive;
    struct part parts[MAX_PARTS];
    int n_parts;
};

struct world {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n, joined, left, arrived, generation, aborted, n_made;
    struct call calls[MAX_RANKS];
    struct world *next;
    char id[128];
};

struct comm {
    struct world *world;
    int rank, operations, aborted;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct world *worlds;
static unsigned last_id;
static char last_words[256];
static struct {
    char name[40];
    int n;
} counted[MAX_COUNTED];
static __thread struct call group;
static __thread int in_group;
static __thread struct comm *group_comm;

/* ---- settings ---- */

/* The value's first word; with `rank`, of the line whose first word it is, the second one. */
static int setting(const char *key, const char *first, char *out, size_t size) {
    const char *path = getenv("GPUVET_FAKE_NCCL");
    FILE *file = path == NULL ? NULL : fopen(path, "re");
    char line[128], name[64], a[64], b[64];
    int found = 0;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        int n = sscanf(line, "%63s %63s %63s", name, a, b);
        if (n < 2 || strcmp(name, key) != 0 || (first != NULL && strcmp(first, a) != 0))
            continue;
        snprintf(out, size, "%s", first == NULL ? a : n > 2 ? b : "");
        found = 1;
    }
    if (file != NULL)
        fclose(file);
    return found;
}

static int enter(const char *symbol) {
    char ignored[64];
    pthread_mutex_lock(&lock);
    int at = 0;
    while (at < MAX_COUNTED - 1 && counted[at].n > 0 && strcmp(counted[at].name, symbol) != 0)
        at++;
    snprintf(counted[at].name, sizeof counted[at].name, "%s", symbol);
    counted[at].n++;
    pthread_mutex_unlock(&lock);
    while (setting("hang", symbol, ignored, sizeof ignored))
        pause();
    if (!setting("fail", symbol, ignored, sizeof ignored))
        return 0;
    snprintf(
        last_words, sizeof last_words,
        "Error while creating shared memory segment /dev/shm/nccl-x (size 9637888), error: No space left on "
        "device (28)\n");
    return 2;
}

EXPORT int fake_nccl_calls(const char *symbol);
EXPORT int fake_nccl_calls(const char *symbol) {
    int n = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_COUNTED; i++)
        n += strcmp(counted[i].name, symbol) == 0 ? counted[i].n : 0;
    pthread_mutex_unlock(&lock);
    return n;
}

/* ---- numbers ---- */

static size_t size_of(int type) {
    return type == HALF || type == BF16 ? 2 : 4;
}

static double half_value(uint32_t bits) {
    uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0 ? fraction / 1024.0 : 1 + fraction / 1024.0;
    for (uint32_t e = exponent == 0 ? 1 : exponent; e > 15; e--)
        value *= 2;
    for (uint32_t e = exponent == 0 ? 1 : exponent; e < 15; e++)
        value /= 2;
    return value;
}

static uint32_t half_bits(double value) { /* of a whole number up to 2048 */
    uint32_t exponent = 15;
    if (value < 1)
        return 0;
    while (value >= 2) {
        value /= 2;
        exponent++;
    }
    return exponent << 10 | (uint32_t)((value - 1) * 1024);
}

static double get(const void *from, size_t i, int type) {
    uint32_t bits = 0;
    float number;
    memcpy(&bits, (const char *)from + i * size_of(type), size_of(type));
    if (type == INT32)
        return bits;
    if (type == HALF)
        return half_value(bits);
    if (type == BF16)
        bits <<= 16;
    memcpy(&number, &bits, 4);
    return number;
}

static void put(void *to, size_t i, int type, double value) {
    float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, 4);
    if (type == INT32)
        bits = (uint32_t)(uint64_t)value;
    if (type == HALF)
        bits = half_bits(value);
    if (type == BF16)
        bits >>= 16;
    memcpy((char *)to + i * size_of(type), &bits, size_of(type));
}

/* Element `i` of the sum; every partial sum is rounded to the type, as a real one may. */
static double sum_at(const struct world *w, size_t i, int type) {
    double sum = 0;
    for (int r = w->n - 1; r >= 0; r--) { /* an order of its own */
        char cell[4];
        put(cell, 0, type, sum + get(w->calls[r].send, i, type));
        sum = get(cell, 0, type);
    }
    return sum;
}

/* ---- carrying out ---- */

static void spoil(int rank, void *receive, int type) {
    char text[16], ignored[8];
    snprintf(text, sizeof text, "%d", rank);
    if (setting("wrong", text, ignored, sizeof ignored))
        put(receive, 1, type, get(receive, 1, type) + 1);
}

/* In place a result may overwrite another's source: results are made beside and copied at the end. */
static void carry_out(struct world *w) {
    char *made[MAX_RANKS] = {0};
    for (int r = 0; r < w->n; r++) {
        struct call *c = &w->calls[r];
        size_t size = size_of(c->type), n = c->count;
        size_t elements = c->kind == ALL_GATHER ? n * (size_t)w->n : n;
        made[r] = calloc(elements + 1, 4);
        for (size_t i = 0; i < elements && c->kind != GROUP; i++)
            if (c->kind == ALL_REDUCE || (c->kind == REDUCE && r == c->root))
                put(made[r], i, c->type, sum_at(w, i, c->type));
            else if (c->kind == REDUCE_SCATTER)
                put(made[r], i, c->type, sum_at(w, (size_t)r * n + i, c->type));
            else if (c->kind == ALL_GATHER)
                memcpy(made[r] + i * size, (const char *)w->calls[i / n].send + i % n * size, size);
            else if (c->kind == BROADCAST)
                memcpy(made[r] + i * size, (const char *)w->calls[c->root].send + i * size, size);
    }
    for (int r = 0; r < w->n; r++) {
        struct call *c = &w->calls[r];
        size_t elements = c->kind == ALL_GATHER ? c->count * (size_t)w->n : c->count;
        if (c->kind != GROUP && !(c->kind == REDUCE && r != c->root)) {
            memcpy(c->receive, made[r], elements * size_of(c->type));
            spoil(r, c->receive, c->type);
        }
        free(made[r]);
    }
    for (int r = 0; r < w->n; r++) /* each receive has its peer's next send to this rank */
        for (int i = 0; i < w->calls[r].n_parts && w->calls[r].kind == GROUP; i++) {
            struct part *to = &w->calls[r].parts[i];
            struct call *peer = &w->calls[to->peer];
            for (int k = 0; k < peer->n_parts && !to->send; k++)
                if (peer->parts[k].send && peer->parts[k].peer == r) {
                    memcpy(to->to, peer->parts[k].from, to->bytes);
                    break;
                }
        }
}

static int meet(struct comm *comm, const struct call *call) {
    struct world *w = comm->world;
    pthread_mutex_lock(&w->lock);
    w->calls[comm->rank] = *call;
    int generation = w->generation;
    if (++w->arrived == w->n) {
        carry_out(w);
        w->arrived = 0;
        w->generation++;
        pthread_cond_broadcast(&w->changed);
    }
    while (w->generation == generation && !w->aborted)
        pthread_cond_wait(&w->changed, &w->lock);
    int status = w->generation == generation ? 5 : 0;
    if (status != 0)
        snprintf(last_words, sizeof last_words, "communicator was aborted");
    pthread_mutex_unlock(&w->lock);
    return status;
}

static int fails_now(struct comm *comm) {
    char rank[16], at[16];
    snprintf(rank, sizeof rank, "%d", comm->rank);
    comm->operations++;
    return setting("fail_at", rank, at, sizeof at) && atoi(at) == comm->operations;
}

static int operate(const char *symbol, struct comm *comm, struct call call) {
    int status = enter(symbol);
    if (status != 0)
        return status;
    if (comm == NULL)
        return 4;
    if (fails_now(comm)) {
        snprintf(last_words, sizeof last_words, "made to fail");
        return 3;
    }
    return meet(comm, &call);
}

/* ---- the functions ---- */

EXPORT int ncclGetVersion(int *out);
EXPORT int ncclGetVersion(int *out) {
    char text[32];
    *out = setting("version", NULL, text, sizeof text) ? atoi(text) : 22809;
    return 0;
}

EXPORT const char *ncclGetErrorString(int status);
EXPORT const char *ncclGetErrorString(int status) {
    static const char *const words[] = {
        "no error",         "unhandled cuda error", "unhandled system error", "internal error",
        "invalid argument", "invalid usage",        "remote process exited"};
    return status >= 0 && status < 7 ? words[status] : "unknown result code";
}

EXPORT const char *ncclGetLastError(struct comm *comm);
EXPORT const char *ncclGetLastError(struct comm *comm) {
    (void)comm;
    return last_words;
}

EXPORT int ncclGetUniqueId(struct unique_id *out);
EXPORT int ncclGetUniqueId(struct unique_id *out) {
    int status = enter("ncclGetUniqueId");
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&lock);
    snprintf(out->bytes, sizeof out->bytes, "made-up %u", ++last_id);
    pthread_mutex_unlock(&lock);
    return status;
}

static struct world *world_of(const struct unique_id *id, int n) {
    pthread_mutex_lock(&lock);
    struct world *w = worlds;
    while (w != NULL && memcmp(w->id, id->bytes, sizeof w->id) != 0)
        w = w->next;
    if (w == NULL) {
        w = calloc(1, sizeof *w);
        pthread_mutex_init(&w->lock, NULL);
        pthread_cond_init(&w->changed, NULL);
        w->n = n;
        memcpy(w->id, id->bytes, sizeof w->id);
        w->next = worlds;
        worlds = w;
    }
    pthread_mutex_unlock(&lock);
    return w;
}

EXPORT int ncclCommInitRank(struct comm **out, int n, struct unique_id id, int rank);
EXPORT int ncclCommInitRank(struct comm **out, int n, struct unique_id id, int rank) {
    int status = enter("ncclCommInitRank");
    if (status != 0 || n > MAX_RANKS || rank >= n)
        return status != 0 ? status : 4;
    struct world *w = world_of(&id, n);
    *out = calloc(1, sizeof **out);
    **out = (struct comm){.world = w, .rank = rank};
    pthread_mutex_lock(&w->lock);
    w->joined++;
    pthread_cond_broadcast(&w->changed);
    while (w->joined < w->n)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return 0;
}

EXPORT int ncclCommDestroy(struct comm *comm);
EXPORT int ncclCommDestroy(struct comm *comm) {
    int status = enter("ncclCommDestroy");
    free(comm);
    return status;
}

EXPORT int ncclCommAbort(struct comm *comm);
EXPORT int ncclCommAbort(struct comm *comm) {
    int status = enter("ncclCommAbort");
    pthread_mutex_lock(&comm->world->lock);
    comm->world->aborted = 1;
    pthread_cond_broadcast(&comm->world->changed);
    pthread_mutex_unlock(&comm->world->lock);
    return status; /* not freed: another thread may be inside */
}

EXPORT int ncclCommGetAsyncError(struct comm *comm, int *out);
EXPORT int ncclCommGetAsyncError(struct comm *comm, int *out) {
    char rank[16], ignored[8];
    snprintf(rank, sizeof rank, "%d", comm->rank);
    *out = setting("async", rank, ignored, sizeof ignored) ? 6 : 0;
    return enter("ncclCommGetAsyncError");
}

#define COLLECTIVE(symbol, which, ...)                                                                       \
    EXPORT int symbol(const void *send, void *receive, size_t count, int type,                               \
                      __VA_ARGS__ struct comm *comm, void *stream)

COLLECTIVE(ncclAllReduce, ALL_REDUCE, int op, );
COLLECTIVE(ncclAllReduce, ALL_REDUCE, int op, ) {
    (void)op, (void)stream;
    return operate(
        "ncclAllReduce", comm,
        (struct call){.kind = ALL_REDUCE, .type = type, .count = count, .send = send, .receive = receive});
}

COLLECTIVE(ncclReduceScatter, REDUCE_SCATTER, int op, );
COLLECTIVE(ncclReduceScatter, REDUCE_SCATTER, int op, ) {
    (void)op, (void)stream;
    return operate(
        "ncclReduceScatter", comm,
        (struct call){
            .kind = REDUCE_SCATTER, .type = type, .count = count, .send = send, .receive = receive});
}

COLLECTIVE(ncclAllGather, ALL_GATHER, );
COLLECTIVE(ncclAllGather, ALL_GATHER, ) {
    (void)stream;
    return operate(
        "ncclAllGather", comm,
        (struct call){.kind = ALL_GATHER, .type = type, .count = count, .send = send, .receive = receive});
}

COLLECTIVE(ncclBroadcast, BROADCAST, int root, );
COLLECTIVE(ncclBroadcast, BROADCAST, int root, ) {
    (void)stream;
    return operate(
        "ncclBroadcast", comm,
        (struct call){
            .kind = BROADCAST, .type = type, .root = root, .count = count, .send = send, .receive = receive});
}

COLLECTIVE(ncclReduce, REDUCE, int op, int root, );
COLLECTIVE(ncclReduce, REDUCE, int op, int root, ) {
    (void)op, (void)stream;
    return operate(
        "ncclReduce", comm,
        (struct call){
            .kind = REDUCE, .type = type, .root = root, .count = count, .send = send, .receive = receive});
}

EXPORT int ncclGroupStart(void);
EXPORT int ncclGroupStart(void) {
    group = (struct call){.kind = GROUP, .type = INT32};
    group_comm = NULL;
    in_group = 1;
    return enter("ncclGroupStart");
}

static int add_part(struct comm *comm, struct part part) {
    if (!in_group || group.n_parts == MAX_PARTS)
        return 5;
    group_comm = comm;
    group.parts[group.n_parts++] = part;
    return 0;
}

EXPORT int ncclSend(const void *from, size_t count, int type, int peer, struct comm *comm, void *stream);
EXPORT int ncclSend(const void *from, size_t count, int type, int peer, struct comm *comm, void *stream) {
    (void)stream;
    return add_part(comm,
                    (struct part){.send = 1, .peer = peer, .from = from, .bytes = count * size_of(type)});
}

EXPORT int ncclRecv(void *to, size_t count, int type, int peer, struct comm *comm, void *stream);
EXPORT int ncclRecv(void *to, size_t count, int type, int peer, struct comm *comm, void *stream) {
    (void)stream;
    return add_part(comm, (struct part){.peer = peer, .to = to, .bytes = count * size_of(type)});
}

EXPORT int ncclGroupEnd(void);
EXPORT int ncclGroupEnd(void) {
    in_group = 0;
    return group_comm == NULL ? enter("ncclGroupEnd") : operate("ncclGroupEnd", group_comm, group);
}
