/* SPDX-License-Identifier: Apache-2.0 */
/* How functions say that they failed: they return false (or NULL) and fill a struct error, which carries one
 * line for the user (what, where, what to do) and, for a developer, the frames it passed on its way up.
 *
 *     if (fd < 0)
 *         return FAIL(err, ERROR_SYSTEM, "cannot open %s: %s", path, strerror(errno));
 *     if (!facts_read(...))
 *         return RELAY(err);
 *
 * Only main() turns an error into output and an exit status. `err` may never be NULL. */
#ifndef GPUVET_BASE_ERROR_H
#define GPUVET_BASE_ERROR_H

#include <stdbool.h>

enum error_kind {
    ERROR_NONE,
    ERROR_USAGE,       /* the command line */
    ERROR_SYSTEM,      /* the operating system refused */
    ERROR_DATA,        /* a file or message is not what it should be */
    ERROR_BUSY,        /* the node is not quiet, or another gpuvet runs */
    ERROR_GPU,         /* CUDA or NVML answered with an error */
    ERROR_VERIFY,      /* data did not arrive as it was sent */
    ERROR_ABSENT,      /* what an item needs is not on this machine: a skip */
    ERROR_INTERRUPTED, /* SIGINT or SIGTERM */
};

enum { ERROR_MAX_FRAMES = 8 };

struct error_frame {
    const char *file;
    int line;
    const char *function;
};

struct error {
    enum error_kind kind;
    long native;     /* errno, cudaError_t …; 0: none */
    char text[1024]; /* one line, no newline at its end */
    int n_frames;
    struct error_frame frames[ERROR_MAX_FRAMES];
};

/* Fills `err`, dropping what it held. Control characters in the text become '?', so that a hostile name
 * cannot write to the terminal. Always returns false. */
bool error_set(struct error *err, enum error_kind kind, long native, const char *file, int line,
               const char *function, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* Puts "context: " before the text. Always returns false. */
bool error_context(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a frame. Always returns false. */
bool error_relay(struct error *err, const char *file, int line, const char *function);

void error_clear(struct error *err);

/* Makes it plain to analysers that a failure is false. */
static inline bool error_is_false(bool set) {
    (void)set;
    return false;
}

#define FAIL(err, kind, ...)                                                                                 \
    error_is_false(error_set((err), (kind), 0, __FILE__, __LINE__, __func__, __VA_ARGS__))
#define FAIL_NATIVE(err, kind, native, ...)                                                                  \
    error_is_false(error_set((err), (kind), (native), __FILE__, __LINE__, __func__, __VA_ARGS__))
#define RELAY(err) error_is_false(error_relay((err), __FILE__, __LINE__, __func__))

#endif
