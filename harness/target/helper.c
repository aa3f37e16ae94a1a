/* SPDX-License-Identifier: Apache-2.0 */
#include "target/helper.h"

#include "base/clock.h"
#include "base/mem.h"
#include "target/process_end.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void helper_result_free(struct helper_result *result) {
    text_free(&result->output);
    text_free(&result->errors);
    *result = (struct helper_result){0};
}

char **helper_environment(const struct strings *environment) {
    char **list = mem_zeroed(environment->count + 1, sizeof *list);
    for (size_t i = 0; i < environment->count; i++)
        list[i] = environment->items[i];
    return list;
}

/* Started in a process group of its own: an interrupt from the terminal is ours to answer. */
static int start(const struct helper *how, int input, int output, int errors, pid_t *pid) {
    char **argv = helper_environment(how->argv);
    char **env = how->environment != NULL ? helper_environment(how->environment) : NULL;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int failed = posix_spawnp(pid, argv[0], &actions, &attributes, argv, env != NULL ? env : environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(argv);
    free(env);
    return failed;
}

/* Keeps the beginning of what comes; false at the end of the stream. */
static bool keep(int fd, size_t most, struct text *out) {
    char chunk[4096];
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    size_t room = most - out->length;
    text_add_bytes(out, chunk, (size_t)n < room ? (size_t)n : room);
    return n > 0;
}

static bool too_late(const struct helper *how, struct error *err) {
    return FAIL_NATIVE(err, ERROR_SYSTEM, HELPER_TOO_LATE, "%s did not end within %.0f s",
                       how->argv->items[0], (double)how->limit_ns / 1e9);
}

/* Reads both streams to their ends. False: too late, or interrupted. */
static bool listen_to(const struct helper *how, int output, int errors, int64_t end,
                      struct helper_result *out, struct error *err) {
    struct clock clock = clock_real();
    size_t most = how->max_output > 0 ? how->max_output : HELPER_MAX_OUTPUT;
    bool output_open = true;
    bool errors_open = true;
    while (output_open || errors_open) {
        int64_t left = end - clock_now(&clock);
        if (left <= 0)
            return too_late(how, err);
        struct pollfd p[3] = {{.fd = output_open ? output : -1, .events = POLLIN},
                              {.fd = errors_open ? errors : -1, .events = POLLIN},
                              {.fd = how->interrupt_fd, .events = POLLIN}};
        if (poll(p, 3, (int)(left / NS_PER_MS) + 1) <= 0)
            continue;
        if (p[2].revents != 0)
            return FAIL(err, ERROR_INTERRUPTED, "interrupted");
        if (p[0].revents != 0)
            output_open = keep(output, most, &out->output);
        if (p[1].revents != 0)
            errors_open = keep(errors, HELPER_MAX_OUTPUT, &out->errors);
    }
    return true;
}

bool helper_run(const struct helper *how, struct helper_result *out, struct error *err) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + how->limit_ns;
    int pipes[4] = {-1, -1, -1, -1};
    int status = 0;
    pid_t pid = 0;
    *out = (struct helper_result){0};
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool good = null >= 0 && pipe2(pipes, O_CLOEXEC) == 0 && pipe2(pipes + 2, O_CLOEXEC) == 0;
    if (!good)
        FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot make a pipe: %s", strerror(errno));
    int failed = good ? start(how, how->input >= 0 ? how->input : null, pipes[1], pipes[3], &pid) : 0;
    if (failed != 0)
        good = FAIL_NATIVE(err, ERROR_SYSTEM, failed, "cannot start %s: %s", how->argv->items[0],
                           strerror(failed));
    int own[] = {null, pipes[1], pipes[3]};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] >= 0)
            close(own[i]);
    bool started = good;
    good = good && listen_to(how, pipes[0], pipes[2], end, out, err);
    /* A program may close its streams and go on. */
    if (good && !process_wait(pid, end - clock_now(&clock) + NS_PER_MS, -1))
        good = too_late(how, err);
    if (started && good)
        waitpid(pid, &status, 0);
    else if (started)
        process_end(pid, -1, &status);
    out->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (pipes[0] >= 0)
        close(pipes[0]);
    if (pipes[2] >= 0)
        close(pipes[2]);
    return good;
}

const char *helper_last_words(struct helper_result *result) {
    if (result->errors.data == NULL)
        return "";
    char *text = text_trim(result->errors.data);
    const char *line = strrchr(text, '\n');
    return line != NULL ? line + 1 : text;
}

bool helper_must(const struct helper *how, struct helper_result *out, struct error *err) {
    if (!helper_run(how, out, err))
        return RELAY(err);
    if (out->status == 0)
        return true;
    const char *words = helper_last_words(out);
    return FAIL_NATIVE(err, ERROR_SYSTEM, out->status, "%s ended with status %d%s%.600s", how->argv->items[0],
                       out->status, words[0] != '\0' ? ": " : "", words);
}
