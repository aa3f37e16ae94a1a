/* SPDX-License-Identifier: Apache-2.0 */
#include "base/forked.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ANSWER = 4 << 20 };
static const int64_t reap_limit_ns = 2 * NS_PER_S;

static _Noreturn void child_body(js *(*body)(void *), void *argument, int out, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before that was set */
        _exit(1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    js *answer = body(argument);
    char *made = js_text(answer);
    struct error err = {0};
    bool sent = fd_write_all(out, made, strlen(made), &err);
    _exit(sent ? 0 : 1);
}

/* Reads to the end of the pipe. False: too late, or too much. */
static bool read_answer(int fd, int64_t limit_ns, struct text *out, struct error *err) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + limit_ns;
    char chunk[65536];
    for (;;) {
        int64_t left = end - clock_now(&clock);
        if (left <= 0)
            return FAIL(err, ERROR_SYSTEM, "no answer within %.1f s", (double)limit_ns / 1e9);
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, (int)(left / NS_PER_MS) + 1) <= 0)
            continue;
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n == 0)
            return true;
        if (n > 0)
            text_add_bytes(out, chunk, (size_t)n);
        if (out->length > MAX_ANSWER)
            return FAIL(err, ERROR_DATA, "the answer is over 4 MiB");
    }
}

/* Kills unless it ended by itself, and waits a while. False: it cannot be killed. */
static bool reap(pid_t pid, bool kill_first, int *status) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + reap_limit_ns;
    if (kill_first)
        kill(pid, SIGKILL);
    while (clock_now(&clock) < end) {
        if (waitpid(pid, status, WNOHANG) != 0)
            return true;
        clock_sleep(&clock, NS_PER_MS);
    }
    if (!kill_first)
        return reap(pid, true, status);
    return false;
}

static js *judge(const struct text *answer, bool read_whole, bool gone, int status, struct error *err) {
    if (!gone)
        error_context(err, "the process asking cannot be killed (stuck in the kernel)");
    if (!read_whole)
        return NULL;
    if (WIFSIGNALED(status)) {
        FAIL(err, ERROR_SYSTEM, "the process asking was killed by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
        return NULL;
    }
    if (answer->length == 0) {
        FAIL(err, ERROR_SYSTEM, "the process asking ended with status %d and no answer", WEXITSTATUS(status));
        return NULL;
    }
    return js_parse(answer->data, answer->length, err);
}

js *forked_json(js *(*body)(void *argument), void *argument, int64_t limit_ns, struct error *err) {
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot make a pipe: %s", strerror(errno));
        return NULL;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        child_body(body, argument, pipe_ends[1], parent);
    close(pipe_ends[1]);
    if (pid < 0) {
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot fork: %s", strerror(errno));
        close(pipe_ends[0]);
        return NULL;
    }
    struct text answer = {0};
    int status = 0;
    bool read_whole = read_answer(pipe_ends[0], limit_ns, &answer, err);
    bool gone = reap(pid, !read_whole, &status);
    js *value = judge(&answer, read_whole, gone, status, err);
    text_free(&answer);
    close(pipe_ends[0]);
    return value;
}
