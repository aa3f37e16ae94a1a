/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines between processes: at most 1 MiB each, numbered from 1 by the sender ("n"), one object a line.
 * The peer is not trusted: garbage, an endless line, a gap in the numbers are errors, never a crash or a wait
 * without end. */
#ifndef GPUVET_RUN_CHANNEL_H
#define GPUVET_RUN_CHANNEL_H

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHANNEL_MAX_LINE = 1 << 20 };

struct channel {
    int in, out; /* owned; -1 closed */
    struct text buffer;
    size_t start;   /* of the first byte not yet handed out */
    size_t scanned; /* no newline before this */
    int64_t next_in, next_out;
    bool ended; /* the peer closed its side */
};

/* Takes both descriptors over and makes them non-blocking and close-on-exec. */
void channel_open(struct channel *channel, int in, int out);
void channel_close(struct channel *channel);

/* Adds "n" to `message` (borrowed) and sends it; waits at most `limit_ns` for a peer that does not read. */
bool channel_send(struct channel *channel, js *message, int64_t limit_ns, struct error *err);

/* The same with bytes that are no message. */
bool channel_send_bytes(struct channel *channel, const char *data, size_t length, int64_t limit_ns,
                        struct error *err);

/* Reads what is there without waiting. False on a read error; the end of the stream sets `ended`. */
bool channel_fill(struct channel *channel, struct error *err);

/* The next complete message (owned), or NULL: none yet (err->kind ERROR_NONE), or an error. */
js *channel_next(struct channel *channel, struct error *err);

/* {"type": type}, owned. */
js *message_new(const char *type);

#endif
