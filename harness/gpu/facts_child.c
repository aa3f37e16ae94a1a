/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/facts_child.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "gpu/nvml.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ANSWER = 4 << 20 };
static const int64_t reap_limit_ns = 2 * NS_PER_S;

typedef js *question(struct nvml *nvml, struct error *err);

/* In the child: one JSON object into the pipe, {"answer":…} or {"reason":"…"}. Never returns. */
static _Noreturn void answer(question *ask, int fd) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL); /* the caller's handlers are no use here; what may not be set stays */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    struct error err = {0};
    struct nvml *nvml = nvml_open(&err);
    js *found = nvml == NULL ? NULL : ask(nvml, &err);
    js *line = js_new_object();
    if (found != NULL)
        js_set(line, "answer", found);
    else
        js_set_string(line, "reason", err.text);
    char *text = js_text(line);
    bool written = fd_write_all(fd, text, strlen(text), &err);
    _exit(written ? 0 : 1); /* without exit handlers: they are the caller's, and NVML's own may hang */
}

enum ending { ENDED, TIMED_OUT, TOO_MUCH };

static enum ending collect(int fd, int64_t end, struct text *out) {
    struct clock clock = clock_real();
    char part[65536];
    for (;;) {
        int64_t left = end - clock_now(&clock);
        if (left <= 0)
            return TIMED_OUT;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, (int)(left / NS_PER_MS < 1000 ? left / NS_PER_MS + 1 : 1000)) <= 0)
            continue;
        ssize_t n = read(fd, part, sizeof part);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return ENDED;
        if (out->length + (size_t)n > MAX_ANSWER)
            return TOO_MUCH;
        text_add_bytes(out, part, (size_t)n);
    }
}

/* False when the child does not end even after SIGKILL: it hangs inside the kernel, and waiting longer would
 * hang us. */
static bool reap(pid_t pid, int *status) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + reap_limit_ns;
    *status = 0;
    for (;;) {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR)) /* ECHILD: somebody else has reaped it */
            return true;
        if (clock_now(&clock) >= end)
            return false;
        clock_sleep(&clock, NS_PER_MS);
    }
}

static js *judge(const struct text *text, enum ending ending, int status, int64_t timeout_ns,
                 struct error *err) {
    double seconds = (double)timeout_ns / 1e9;
    if (ending == TIMED_OUT) {
        FAIL(err, ERROR_GPU, "NVML gave no answer within %.1f s: the driver hangs, see the kernel log",
             seconds);
        return NULL;
    }
    if (ending == TOO_MUCH) {
        FAIL(err, ERROR_GPU, "NVML's answer is longer than %d MiB", MAX_ANSWER >> 20);
        return NULL;
    }
    if (WIFSIGNALED(status)) {
        FAIL_NATIVE(err, ERROR_GPU, WTERMSIG(status), "NVML crashed the process that asked it (signal %d)",
                    WTERMSIG(status));
        return NULL;
    }
    struct error parse = {0};
    js *line = js_parse(text_string(text), text->length, &parse);
    js *found = js_get(line, "answer");
    if (found != NULL)
        js_keep(found);
    else
        FAIL(err, ERROR_GPU, "%s",
             js_get_string(line, "reason", "the process that asked NVML ended without an answer"));
    js_free(line);
    return found;
}

/* Kind ERROR_SYSTEM: no child could be started. ERROR_GPU: what came of asking. */
static js *ask_in_child(question *ask, int64_t timeout_ns, struct error *err) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot make a pipe: %s", strerror(errno));
        return NULL;
    }
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + timeout_ns;
    fflush(NULL); /* what is buffered must not be written twice */
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        answer(ask, fds[1]);
    }
    int fork_error = errno;
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        FAIL_NATIVE(err, ERROR_SYSTEM, fork_error, "cannot start a process to ask NVML: %s",
                    strerror(fork_error));
        return NULL;
    }
    struct text text = {0};
    enum ending ending = collect(fds[0], end, &text);
    close(fds[0]);
    if (ending != ENDED)
        kill(pid, SIGKILL);
    int status = 0;
    bool reaped = reap(pid, &status);
    if (!reaped && ending == ENDED) /* it has answered, and hangs while it ends */
        kill(pid, SIGKILL);
    js *found = judge(&text, ending, status, timeout_ns, err);
    if (found == NULL && !reaped) {
        struct error first = *err;
        FAIL(err, ERROR_GPU, "%s; process %d hangs in the kernel and cannot be killed", first.text, (int)pid);
    }
    text_free(&text);
    return found;
}

bool gpu_facts_child(struct gpu_list *out, int64_t timeout_ns, struct error *err) {
    *out = (struct gpu_list){0};
    struct error why = {0};
    js *gpus = ask_in_child(nvml_gpus, timeout_ns, &why);
    if (gpus == NULL && why.kind == ERROR_SYSTEM) {
        *err = why;
        return RELAY(err);
    }
    if (gpus != NULL)
        gpu_list_from_json(gpus, out);
    js_free(gpus);
    if (out->count == 0)
        snprintf(out->reason, sizeof out->reason, "%.255s",
                 gpus == NULL ? why.text : "the NVIDIA driver is loaded, but shows no GPU here");
    return true;
}

js *gpu_activity_child(int64_t timeout_ns, struct error *err) {
    js *activity = ask_in_child(nvml_activity, timeout_ns, err);
    if (activity == NULL)
        RELAY(err);
    return activity;
}
