/* SPDX-License-Identifier: Apache-2.0 */
#include "run/child.h"

#include "base/clock.h"
#include "run/case.h"
#include "run/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t send_limit_ns = 10 * NS_PER_S;

static void apply_environment(const js *env) {
    for (struct js_member m = js_first(env); m.key != NULL; m = js_next(env, m)) {
        const char *value = js_string(m.value, NULL);
        if (value != NULL)
            setenv(m.key, value, 1);
        else
            unsetenv(m.key);
    }
}

/* Runs one item and says how it went. False when the process must be replaced: CUDA is broken in it. */
static bool serve_item(struct channel *channel, const js *item, struct shelf *shelf, struct error *err) {
    js *started = message_new("started");
    js_set_int(started, "id", js_get_int(item, "id", -1));
    bool good = channel_send(channel, started, send_limit_ns, err);
    js_free(started);
    if (!good)
        return false;

    bool simulated = js_is_object(js_get(item, "simulate"));
    js *record = simulated ? simulate_item(item) : measure_item(item, shelf);
    bool alive = !js_get_bool(record, "sticky", false);
    js_remove(record, "sticky");
    js_set_string(record, "type", "record");
    js_set_int(record, "id", js_get_int(item, "id", -1));
    good = channel_send(channel, record, send_limit_ns, err);

    js *done = message_new("done");
    js_set_int(done, "id", js_get_int(item, "id", -1));
    js_set(done, "outcome", js_copy(js_get(record, "outcome")));
    if (js_get(record, "reason") != NULL)
        js_set(done, "reason", js_copy(js_get(record, "reason")));
    js_set_bool(done, "sticky", !alive);
    good = good && channel_send(channel, done, send_limit_ns, err);
    js_free(done);
    js_free(record);
    return good && alive;
}

static void child_loop(struct channel *channel, struct stage *stage) {
    struct error err = {0};
    struct shelf *shelf = shelf_make(); /* ends with the process */
    shelf_put(shelf, STAGE_ON_SHELF, stage);
    for (;;) {
        js *item = channel_next(channel, &err);
        if (item != NULL) {
            bool good = serve_item(channel, item, shelf, &err);
            js_free(item);
            if (!good)
                return;
            continue;
        }
        if (err.kind != ERROR_NONE || channel->ended)
            return;
        struct pollfd p = {.fd = channel->in, .events = POLLIN};
        poll(&p, 1, -1);
        if (!channel_fill(channel, &err))
            return;
    }
}

static _Noreturn void child_body(int fd, int output, const js *env, pid_t parent, struct stage *stage) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    signal(SIGINT, SIG_IGN); /* the coordinator decides what an interrupt means */
    signal(SIGTERM, SIG_DFL);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    setvbuf(stdout, NULL, _IOLBF, 0); /* what a library printed must be there even if it then crashes */
    apply_environment(env);
    struct channel channel;
    channel_open(&channel, fd, fd);
    child_loop(&channel, stage);
    /* No exit handlers: CUDA's could hang or crash after a sticky error, and the verdict is already out. */
    fflush(stdout);
    _exit(0);
}

bool child_start(struct child *child, const js *env, struct error *err) {
    int pair[2];
    int output[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot make a socket pair: %s", strerror(errno));
    if (pipe2(output, O_CLOEXEC) != 0) {
        close(pair[0]);
        close(pair[1]);
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot make a pipe: %s", strerror(errno));
    }
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    pid_t parent = getpid();
    struct stage *stage = stage_make();
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        close(output[0]);
        child_body(pair[1], output[1], env, parent, stage);
    }
    close(pair[1]);
    close(output[1]);
    if (pid < 0) {
        close(pair[0]);
        close(output[0]);
        stage_free(stage);
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot fork: %s", strerror(errno));
    }
    *child = (struct child){.pid = pid, .output = output[0], .env = js_copy(env), .stage = stage};
    channel_open(&child->channel, pair[0], pair[0]);
    return true;
}

static void forget(struct child *child) {
    channel_close(&child->channel);
    if (child->output >= 0)
        close(child->output);
    js_free(child->env);
    stage_free(child->stage);
    *child = (struct child){.output = -1, .channel = {.in = -1, .out = -1}};
}

bool child_collect(struct child *child, int64_t limit_ns, int *status) {
    *status = -1;
    if (child->pid == 0)
        return true;
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + limit_ns;
    pid_t got;
    while ((got = waitpid(child->pid, status, WNOHANG)) == 0 && clock_now(&clock) < end)
        clock_sleep(&clock, 2 * NS_PER_MS);
    if (got == 0)
        return false;
    if (got < 0)
        *status = -1;
    forget(child);
    return true;
}

void child_kill(const struct child *child) {
    if (child->pid > 0)
        kill(child->pid, SIGKILL);
}

bool child_end(struct child *child, int64_t limit_ns, int *status) {
    *status = -1;
    if (child->pid == 0)
        return true;
    child_kill(child);
    if (child_collect(child, limit_ns, status))
        return true;
    forget(child); /* left behind in the kernel: its GPUs are not touched again */
    return false;
}

/* The letter after the name in brackets, which may itself hold anything; '?' where it cannot be read. */
static char kernel_state(pid_t pid) {
    char path[64];
    char line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    line[n > 0 ? n : 0] = '\0';
    const char *end = strrchr(line, ')');
    return end != NULL && end[1] == ' ' && end[2] != '\0' ? end[2] : '?';
}

void child_explain(const struct child *child, struct text *out) {
    char at[400];
    char state = child->pid > 0 ? kernel_state(child->pid) : '?';
    if (state == 'T' || state == 't')
        text_add(out, "; its process is stopped (by SIGSTOP or a debugger)");
    if (state == 'D')
        text_add(out, "; its process waits in the kernel for the driver (state D)");
    stage_get(child->stage, at, sizeof at);
    if (at[0] != '\0')
        text_addf(out, "; %s", at);
}

void child_fate(int status, char *out, size_t size) {
    if (status == -1)
        snprintf(out, size, "is gone");
    else if (WIFSIGNALED(status))
        snprintf(out, size, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(out, size, "ended with status %d", WEXITSTATUS(status));
}
