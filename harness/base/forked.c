/* SPDX-License-Identifier: Apache-2.0 */
#include "base/forked.h"

#include "base/bounded.h"
#include "base/files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ANSWER = 4 << 20 };

struct question {
    js *(*body)(void *argument);
    void *argument;
};

static void answer(void *argument, int fd) {
    const struct question *question = argument;
    struct error err = {0};
    js *value = question->body(question->argument);
    char *made = js_text(value);
    bool sent = fd_write_all(fd, made, strlen(made), &err);
    free(made);
    js_free(value);
    if (!sent)
        _exit(1);
}

/* Why there is no whole answer. Always NULL. */
static js *explain(const struct bounded_end *end, int64_t limit_ns, struct error *err) {
    switch (end->how) {
    case BOUNDED_NO_CHILD:
        FAIL_NATIVE(err, ERROR_SYSTEM, end->status, "cannot start a process to ask: %s",
                    strerror(end->status));
        break;
    case BOUNDED_LATE:
        FAIL(err, ERROR_SYSTEM, "no answer within %.1f s", (double)limit_ns / 1e9);
        break;
    case BOUNDED_TOO_MUCH:
        FAIL(err, ERROR_DATA, "the answer is over 4 MiB");
        break;
    case BOUNDED_DIED:
        FAIL(err, ERROR_SYSTEM, "the process asking was killed by signal %d (%s)", end->signal,
             strsignal(end->signal));
        break;
    case BOUNDED_DONE:
        FAIL(err, ERROR_SYSTEM, "the process asking ended with status %d and no answer", end->status);
        break;
    }
    if (end->stuck)
        error_context(err, "the process asking cannot be killed (stuck in the kernel)");
    return NULL;
}

js *forked_json(js *(*body)(void *argument), void *argument, int64_t limit_ns, struct error *err) {
    struct question question = {body, argument};
    struct text said = {0};
    struct bounded_end end = bounded_ask(answer, &question, limit_ns, limit_ns, MAX_ANSWER, &said);
    js *value = end.how == BOUNDED_DONE && said.length > 0 ? js_parse(said.data, said.length, err)
                                                           : explain(&end, limit_ns, err);
    text_free(&said);
    return value;
}
