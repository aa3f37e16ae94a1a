/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bounded.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_CHILDREN = 16 };
/* An end after SIGKILL takes no time, unless the kernel holds the process. */
static const int64_t reap_ns = 100 * NS_PER_MS;

static _Noreturn void child(void (*body)(void *, int), void *argument, int fd, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before that was set */
        _exit(1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; null >= 0 && i <= STDERR_FILENO; i++)
        dup2(null, i);
    body(argument, fd);
    _exit(0);
}

/* To the end of the pipe. */
static enum bounded_how listen_to(int fd, int64_t silence_ns, int64_t total_ns, size_t most,
                                  struct text *said) {
    struct clock clock = clock_real();
    int64_t start = clock_now(&clock), heard = start;
    char chunk[16384];
    for (;;) {
        int64_t now = clock_now(&clock);
        int64_t left = total_ns - (now - start) < silence_ns - (now - heard) ? total_ns - (now - start)
                                                                             : silence_ns - (now - heard);
        if (left <= 0)
            return BOUNDED_LATE;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, (int)(left / NS_PER_MS) + 1) <= 0)
            continue;
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n == 0)
            return BOUNDED_DONE;
        if (n > 0)
            text_add_bytes(said, chunk, (size_t)n);
        if (said->length > most)
            return BOUNDED_TOO_MUCH;
        heard = clock_now(&clock);
    }
}

/* Waits a while for its end. */
static bool ended(pid_t pid, int *status) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + reap_ns;
    while (waitpid(pid, status, WNOHANG) == 0) {
        if (clock_now(&clock) >= end)
            return false;
        clock_sleep(&clock, NS_PER_MS / 5);
    }
    return true;
}

/* A child that has said all may still be busy ending: a driver takes its time. It is not waited for. */
static struct bounded_end reap(pid_t pid, enum bounded_how how) {
    struct bounded_end end = {.how = how};
    int status = 0;
    bool by_itself = how == BOUNDED_DONE && ended(pid, &status);
    if (!by_itself) {
        kill(pid, SIGKILL);
        end.stuck = !ended(pid, &status);
    } else if (WIFSIGNALED(status)) {
        end.how = BOUNDED_DIED;
        end.signal = WTERMSIG(status);
    } else {
        end.status = WEXITSTATUS(status);
    }
    return end;
}

struct bounded_end bounded_ask(void (*body)(void *argument, int fd), void *argument, int64_t silence_ns,
                               int64_t total_ns, size_t most, struct text *said) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return (struct bounded_end){.how = BOUNDED_NO_CHILD, .status = errno};
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        child(body, argument, ends[1], parent);
    }
    struct bounded_end end = {.how = BOUNDED_NO_CHILD, .status = errno};
    close(ends[1]);
    if (pid > 0)
        end = reap(pid, listen_to(ends[0], silence_ns, total_ns, most, said));
    close(ends[0]);
    return end;
}

/* ---- many ---- */

struct many {
    void (*one)(void *argument, size_t index, struct text *answer);
    void *argument;
    size_t from, count;
};

static void many_body(void *argument, int fd) {
    const struct many *many = argument;
    struct error err = {0};
    for (size_t i = many->from; i < many->count; i++) {
        struct text answer = {0};
        many->one(many->argument, i, &answer);
        text_add(&answer, "\n");
        if (!fd_write_all(fd, answer.data, answer.length, &err))
            _exit(1);
        text_free(&answer);
    }
}

/* Gives each whole line to the answer whose turn it is; the number of lines. */
static size_t take_lines(const struct text *said, struct bounded_answer *answers, size_t room) {
    const char *line = text_string(said);
    const char *end;
    size_t count = 0;
    while (count < room && (end = strchr(line, '\n')) != NULL) {
        answers[count] =
            (struct bounded_answer){.text = mem_copy_bytes(line, (size_t)(end - line)), .tried = true};
        count++;
        line = end + 1;
    }
    return count;
}

struct bounded_answer *bounded_each(void (*one)(void *argument, size_t index, struct text *answer),
                                    void *argument, size_t count, int64_t item_ns, int64_t total_ns) {
    struct bounded_answer *answers = mem_zeroed(count + 1, sizeof *answers);
    struct clock clock = clock_real();
    int64_t end_ns = clock_now(&clock) + total_ns;
    size_t next = 0;
    for (int children = 0; next < count && children < MAX_CHILDREN; children++) {
        struct many many = {one, argument, next, count};
        struct text said = {0};
        int64_t left = end_ns - clock_now(&clock);
        if (left <= 0)
            break;
        struct bounded_end end = bounded_ask(many_body, &many, item_ns, left, BOUNDED_MOST, &said);
        next += take_lines(&said, answers + next, count - next);
        text_free(&said);
        if (end.how == BOUNDED_NO_CHILD)
            break;
        if (next < count)
            answers[next++] = (struct bounded_answer){
                .tried = true, .how = end.how == BOUNDED_DONE ? BOUNDED_DIED : end.how};
    }
    return answers;
}

void bounded_answers_free(struct bounded_answer *answers, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(answers[i].text);
    free(answers);
}
