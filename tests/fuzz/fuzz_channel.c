/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker in a container says to the coordinator, line by line: numbered objects with a type, or an
 * end. */
#define FUZZ_CORPUS "channel"
#include "fuzz/fuzz.h"
#include "run/channel.h"

#include <sys/mman.h>

/* How many messages there are before the end or the first that is none. */
static int64_t listen_to(struct channel *channel) {
    struct error err = {0};
    int64_t count = 0;
    for (bool more = true; more;) {
        js *message = channel_next(channel, &err);
        if (message != NULL) {
            if (js_get_int(message, "n", -1) != ++count || js_get_string(message, "type", NULL) == NULL)
                abort();
            js_free(message);
            continue;
        }
        if (err.kind != ERROR_NONE && err.text[0] == '\0')
            abort(); /* a refusal says why */
        more = err.kind == ERROR_NONE && !channel->ended && channel_fill(channel, &err);
    }
    return count;
}

static int filled(const char *data, size_t size) {
    struct error err = {0};
    int fd = memfd_create("peer", MFD_CLOEXEC);
    if (fd >= 0 && (!fd_write_all(fd, data, size, &err) || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct channel channel;
    struct text many = {0};
    /* Behind a mark: after a line of more than a buffer's length. */
    bool behind = size > 0 && data[0] == '#';
    if (behind)
        text_addf(&many, "{\"n\":1,\"type\":\"beat\",\"x\":\"%70000s\"}\n", "");
    text_add_bytes(&many, (const char *)data + behind, size - behind);
    int fd = filled(text_string(&many), many.length);
    if (fd >= 0) {
        channel_open(&channel, fd, fd);
        if (listen_to(&channel) < (behind ? 1 : 0))
            abort();
        channel_close(&channel);
    }
    text_free(&many);
    return 0;
}
