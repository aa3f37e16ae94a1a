/* SPDX-License-Identifier: Apache-2.0 */
#include "run/channel.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void prepare_descriptor(int fd) {
    if (fd < 0)
        return;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void channel_open(struct channel *channel, int in, int out) {
    *channel = (struct channel){.in = in, .out = out, .next_in = 1, .next_out = 1};
    prepare_descriptor(in);
    if (out != in)
        prepare_descriptor(out);
}

void channel_close(struct channel *channel) {
    if (channel->in >= 0)
        close(channel->in);
    if (channel->out >= 0 && channel->out != channel->in)
        close(channel->out);
    channel->in = channel->out = -1;
    text_free(&channel->buffer);
}

static bool send_bytes(int fd, const char *data, size_t length, int64_t limit_ns, struct error *err) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + limit_ns;
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n >= 0) {
            data += n;
            length -= (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "the other side is gone: %s", strerror(errno));
        int64_t left = end - clock_now(&clock);
        if (left <= 0)
            return FAIL(err, ERROR_SYSTEM, "the other side does not read");
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        poll(&p, 1, (int)(left / NS_PER_MS) + 1);
    }
    return true;
}

bool channel_send(struct channel *channel, js *message, int64_t limit_ns, struct error *err) {
    js_set_int(message, "n", channel->next_out);
    char *made = js_text(message);
    struct text line = {0};
    text_add(&line, made);
    text_add(&line, "\n");
    free(made);
    bool good = line.length <= CHANNEL_MAX_LINE;
    if (!good)
        FAIL(err, ERROR_DATA, "a message of %zu bytes is over the limit of 1 MiB", line.length);
    else
        good = send_bytes(channel->out, line.data, line.length, limit_ns, err);
    text_free(&line);
    if (good)
        channel->next_out++;
    return good;
}

bool channel_send_bytes(struct channel *channel, const char *data, size_t length, int64_t limit_ns,
                        struct error *err) {
    return send_bytes(channel->out, data, length, limit_ns, err);
}

bool channel_fill(struct channel *channel, struct error *err) {
    char chunk[65536];
    for (;;) {
        if (channel->buffer.length - channel->start > CHANNEL_MAX_LINE)
            return true; /* channel_next decides: a long line is an error, many lines are not */
        ssize_t n = read(channel->in, chunk, sizeof chunk);
        if (n > 0) {
            text_add_bytes(&channel->buffer, chunk, (size_t)n);
            continue;
        }
        if (n == 0 || errno == ECONNRESET) {
            channel->ended = true;
            return true;
        }
        if (errno == EAGAIN)
            return true;
        if (errno != EINTR)
            return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot read a message: %s", strerror(errno));
    }
}

static void forget_used(struct channel *channel) {
    size_t left = channel->buffer.length - channel->start;
    if (channel->start < left || channel->start < 65536)
        return;
    memmove(channel->buffer.data, channel->buffer.data + channel->start, left);
    channel->scanned -= channel->start;
    channel->buffer.length = left;
    channel->start = 0;
}

js *channel_next(struct channel *channel, struct error *err) {
    error_clear(err);
    if (channel->buffer.data == NULL)
        return NULL;
    char *base = channel->buffer.data;
    char *end = memchr(base + channel->scanned, '\n', channel->buffer.length - channel->scanned);
    size_t length = (end != NULL ? (size_t)(end - base) : channel->buffer.length) - channel->start;
    if (length >= CHANNEL_MAX_LINE) {
        FAIL(err, ERROR_DATA, "a message is longer than 1 MiB");
        return NULL;
    }
    if (end == NULL) {
        channel->scanned = channel->buffer.length;
        return NULL;
    }
    js *message = js_parse(base + channel->start, length, err);
    channel->start = channel->scanned = (size_t)(end - base) + 1;
    forget_used(channel);
    if (message == NULL)
        return NULL;
    if (js_get_int(message, "n", -1) != channel->next_in || js_get_string(message, "type", NULL) == NULL) {
        FAIL(err, ERROR_DATA, "message %lld is missing or has no type", (long long)channel->next_in);
        js_free(message);
        return NULL;
    }
    channel->next_in++;
    return message;
}

js *message_new(const char *type) {
    js *message = js_new_object();
    js_set_string(message, "type", type);
    return message;
}
