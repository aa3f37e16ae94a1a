/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/nccl.h"

#include "base/mem.h"
#include "base/text.h"
#include "gpu/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- what is used of NCCL, as its nccl.h (2.4 to 2.28) has it ---- */

enum { NCCL_SUCCESS = 0, NCCL_SYSTEM_ERROR = 2, NCCL_IN_PROGRESS = 7, NCCL_SUM = 0 };

static const int types[] = {
    [NCCL_INT32] = 2, [NCCL_FLOAT] = 7, [NCCL_HALF] = 6, [NCCL_BF16] = 9 /* since 2.10 */};

#define FUNCTIONS(X)                                                                                         \
    X(get_version, "ncclGetVersion", (int *))                                                                \
    X(get_id, "ncclGetUniqueId", (struct nccl_id *))                                                         \
    X(init_rank, "ncclCommInitRank", (nccl_comm *, int, struct nccl_id, int))                                \
    X(destroy, "ncclCommDestroy", (nccl_comm))                                                               \
    X(abort, "ncclCommAbort", (nccl_comm))                                                                   \
    X(async_error, "ncclCommGetAsyncError", (nccl_comm, int *))                                              \
    X(all_reduce, "ncclAllReduce", (const void *, void *, size_t, int, int, nccl_comm, gpu_stream))          \
    X(all_gather, "ncclAllGather", (const void *, void *, size_t, int, nccl_comm, gpu_stream))               \
    X(reduce_scatter, "ncclReduceScatter", (const void *, void *, size_t, int, int, nccl_comm, gpu_stream))  \
    X(broadcast, "ncclBroadcast", (const void *, void *, size_t, int, int, nccl_comm, gpu_stream))           \
    X(reduce, "ncclReduce", (const void *, void *, size_t, int, int, int, nccl_comm, gpu_stream))            \
    X(send, "ncclSend", (const void *, size_t, int, int, nccl_comm, gpu_stream))                             \
    X(receive, "ncclRecv", (void *, size_t, int, int, nccl_comm, gpu_stream))                                \
    X(group_start, "ncclGroupStart", (void))                                                                 \
    X(group_end, "ncclGroupEnd", (void))

struct nccl {
    struct library library;
    int version;
    const char *(*error_string)(int);
    const char *(*last_error)(nccl_comm); /* since 2.13; NULL before */
#define X(field, symbol, arguments) int(*field) arguments;
    FUNCTIONS(X)
#undef X
};

static const struct library_name library_name = {
    .what = "NCCL",
    .files = {"libnccl.so.2"},
    .variable = "GPUVET_NCCL",
    .install = "install it (apt install libnccl2, or pip install nvidia-nccl-cu13)",
};

/* ---- failing ---- */

static const char *meaning_of(int status) {
    static const char *const meanings[] = {
        [1] = "a CUDA call inside NCCL failed",
        [2] = "the operating system refused something",
        [3] = "NCCL's own fault, or memory that was overwritten",
        [4] = "an argument is not allowed",
        [5] = "NCCL was used wrongly, or the communicator was aborted",
        [6] = "a peer failed or is gone",
    };
    return status > 0 && status < (int)(sizeof meanings / sizeof *meanings) ? meanings[status] : "";
}

/* Where NCCL's shared memory did not fit: how large it is and how to enlarge it. "" otherwise. */
static void add_shm(const char *words, int status, struct text *out) {
    struct statvfs fs;
    const double mib = 1 << 20;
    bool named = strstr(words, "/dev/shm") != NULL || strstr(words, "shared memory") != NULL;
    bool full = strstr(words, "No space left") != NULL || strstr(words, "posix_fallocate") != NULL;
    if (!(named && full) && status != NCCL_SYSTEM_ERROR)
        return;
    if (statvfs("/dev/shm", &fs) != 0)
        return;
    double size = (double)fs.f_blocks * (double)fs.f_frsize / mib;
    double free_mib = (double)fs.f_bavail * (double)fs.f_frsize / mib;
    if (!(named && full) && free_mib > 32)
        return;
    text_addf(
        out,
        "; out of space in /dev/shm (%.0f MiB, %.0f MiB free), which NCCL needs where GPUs have no P2P: "
        "docker run --shm-size=8g (or --ipc=host); lxc.mount.entry with size=8g; mount -o "
        "remount,size=8g /dev/shm",
        size, free_mib);
}

static bool fail(const struct nccl *nccl, int status, const char *what, nccl_comm comm, struct error *err,
                 int line, const char *function) {
    const char *name = nccl->error_string != NULL ? nccl->error_string(status) : "error";
    const char *last = nccl->last_error != NULL ? nccl->last_error(comm) : NULL;
    struct text words = {0};
    text_addf(&words, "%.300s", last != NULL ? last : "");
    while (words.length > 0 && words.data[words.length - 1] == '\n')
        words.data[--words.length] = '\0';
    struct text more = {0};
    add_shm(text_string(&words), status, &more);
    error_set(err, ERROR_GPU, status, __FILE__, line, function, "%s: NCCL: %s (%d)%s%s%s%s%s", what, name,
              status, words.length > 0 ? ": " : "", text_string(&words),
              meaning_of(status)[0] != '\0' ? "; " : "", meaning_of(status), text_string(&more));
    text_free(&words);
    text_free(&more);
    return false;
}

#define CHECK(call, what, comm)                                                                              \
    do {                                                                                                     \
        int status_ = (call);                                                                                \
        if (status_ != NCCL_SUCCESS && status_ != NCCL_IN_PROGRESS)                                          \
            return fail(nccl, status_, what, comm, err, __LINE__, __func__);                                 \
    } while (0)

/* ---- loading ---- */

static bool resolve(struct nccl *nccl, struct error *err) {
    static const struct {
        const char *symbol;
        size_t offset;
    } table[] = {
#define X(field, symbol, arguments) {symbol, offsetof(struct nccl, field)},
        FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *function = dlsym(nccl->library.handle, table[i].symbol);
        if (function == NULL)
            return FAIL(err, ERROR_ABSENT, "%s has no %s: NCCL 2.7 or newer is needed", nccl->library.path,
                        table[i].symbol);
        memcpy((char *)nccl + table[i].offset, &function, sizeof function);
    }
    void *words = dlsym(nccl->library.handle, "ncclGetErrorString");
    memcpy(&nccl->error_string, &words, sizeof words);
    words = dlsym(nccl->library.handle, "ncclGetLastError");
    memcpy(&nccl->last_error, &words, sizeof words);
    return true;
}

bool nccl_open(struct nccl **out, struct error *err) {
    *out = NULL;
    setenv("NCCL_DEBUG", "WARN", 0);
    struct nccl *nccl = mem_zeroed(1, sizeof *nccl);
    bool good = library_open(&library_name, &nccl->library, err) && resolve(nccl, err);
    if (good && nccl->get_version(&nccl->version) != NCCL_SUCCESS)
        good = FAIL(err, ERROR_ABSENT, "%s does not say its version", nccl->library.path);
    if (!good) {
        free(nccl);
        return RELAY(err);
    }
    *out = nccl;
    return true;
}

void nccl_version_text(int version, char *out, size_t size) {
    int major = version >= 10000 ? version / 10000 : version / 1000;
    int minor = version >= 10000 ? version / 100 % 100 : version / 100 % 10;
    snprintf(out, size, "%d.%d.%d", major, minor, version % 100);
}

bool nccl_fits(const struct nccl *nccl, const struct gpu_device *device, struct error *err) {
    enum { FIRST_BLACKWELL = 22500, FIRST_SOUND_SM120 = 22700 };
    char version[32];
    nccl_version_text(nccl->version, version, sizeof version);
    if (device->cc_major == 12 && nccl->version < FIRST_SOUND_SM120)
        return FAIL(err, ERROR_ABSENT,
                    "NCCL %s (%s) is too old for %s: before 2.27 it fails on sm_120 (illegal memory access, "
                    "launches refused); %s",
                    version, nccl->library.path, device->name, library_name.install);
    if (device->cc_major >= 10 && nccl->version < FIRST_BLACKWELL)
        return FAIL(err, ERROR_ABSENT, "NCCL %s (%s) is too old for %s, which needs 2.25; %s", version,
                    nccl->library.path, device->name, library_name.install);
    return true;
}

void nccl_describe(const struct nccl *nccl, bool hash, js *out) {
    char version[32];
    js *variables = js_new_object();
    nccl_version_text(nccl->version, version, sizeof version);
    js_set_string(out, "version", version);
    library_describe(&nccl->library, hash, out);
    for (char **e = environ; *e != NULL; e++) {
        const char *equals = strchr(*e, '=');
        if (equals == NULL || !text_starts(*e, "NCCL_"))
            continue;
        char *name = mem_copy_bytes(*e, (size_t)(equals - *e));
        js_set_string(variables, name, equals + 1);
        free(name);
    }
    js_set(out, "variables", variables);
}

/* ---- communicators ---- */

bool nccl_make_id(const struct nccl *nccl, struct nccl_id *out, struct error *err) {
    CHECK(nccl->get_id(out), "cannot make a communicator's id", NULL);
    return true;
}

bool nccl_join(const struct nccl *nccl, int ranks, const struct nccl_id *id, int rank, nccl_comm *out,
               struct error *err) {
    *out = NULL;
    CHECK(nccl->init_rank(out, ranks, *id, rank), "cannot make a communicator", NULL);
    return true;
}

void nccl_leave(const struct nccl *nccl, nccl_comm comm) {
    if (comm != NULL)
        nccl->destroy(comm);
}

void nccl_abort(const struct nccl *nccl, nccl_comm comm) {
    if (comm != NULL)
        nccl->abort(comm);
}

bool nccl_sound(const struct nccl *nccl, nccl_comm comm, struct error *err) {
    int status = NCCL_SUCCESS;
    CHECK(nccl->async_error(comm, &status), "cannot ask a communicator for its state", comm);
    CHECK(status, "a collective failed while it ran", comm);
    return true;
}

/* ---- operations ---- */

bool nccl_all_reduce(const struct nccl *nccl, const void *send, void *receive, size_t count,
                     enum nccl_type type, nccl_comm comm, gpu_stream stream, struct error *err) {
    CHECK(nccl->all_reduce(send, receive, count, types[type], NCCL_SUM, comm, stream), "ncclAllReduce", comm);
    return true;
}

bool nccl_all_gather(const struct nccl *nccl, const void *send, void *receive, size_t count,
                     enum nccl_type type, nccl_comm comm, gpu_stream stream, struct error *err) {
    CHECK(nccl->all_gather(send, receive, count, types[type], comm, stream), "ncclAllGather", comm);
    return true;
}

bool nccl_reduce_scatter(const struct nccl *nccl, const void *send, void *receive, size_t count,
                         enum nccl_type type, nccl_comm comm, gpu_stream stream, struct error *err) {
    CHECK(nccl->reduce_scatter(send, receive, count, types[type], NCCL_SUM, comm, stream),
          "ncclReduceScatter", comm);
    return true;
}

bool nccl_broadcast(const struct nccl *nccl, const void *send, void *receive, size_t count,
                    enum nccl_type type, int root, nccl_comm comm, gpu_stream stream, struct error *err) {
    CHECK(nccl->broadcast(send, receive, count, types[type], root, comm, stream), "ncclBroadcast", comm);
    return true;
}

bool nccl_reduce(const struct nccl *nccl, const void *send, void *receive, size_t count, enum nccl_type type,
                 int root, nccl_comm comm, gpu_stream stream, struct error *err) {
    CHECK(nccl->reduce(send, receive, count, types[type], NCCL_SUM, root, comm, stream), "ncclReduce", comm);
    return true;
}

bool nccl_send(const struct nccl *nccl, const void *from, size_t count, enum nccl_type type, int to,
               nccl_comm comm, gpu_stream stream, struct error *err) {
    CHECK(nccl->send(from, count, types[type], to, comm, stream), "ncclSend", comm);
    return true;
}

bool nccl_receive(const struct nccl *nccl, void *to, size_t count, enum nccl_type type, int from,
                  nccl_comm comm, gpu_stream stream, struct error *err) {
    CHECK(nccl->receive(to, count, types[type], from, comm, stream), "ncclRecv", comm);
    return true;
}

bool nccl_group_begin(const struct nccl *nccl, struct error *err) {
    CHECK(nccl->group_start(), "ncclGroupStart", NULL);
    return true;
}

bool nccl_group_end(const struct nccl *nccl, struct error *err) {
    CHECK(nccl->group_end(), "ncclGroupEnd", NULL);
    return true;
}
