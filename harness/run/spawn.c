/* SPDX-License-Identifier: Apache-2.0 */
#include "run/spawn.h"

#include "base/mem.h"
#include "target/helper.h"
#include "target/process_end.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_all(int *fds, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static int start(const struct strings *argv, char **environment, const int ends[6], pid_t *pid) {
    char **list = mem_zeroed(argv->count + 1, sizeof *list);
    for (size_t i = 0; i < argv->count; i++)
        list[i] = argv->items[i];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t how;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[3], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[5], STDERR_FILENO);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    int failed = posix_spawnp(pid, list[0], &actions, &how, list, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&how);
    free(list);
    return failed;
}

bool spawn(const struct strings *argv, struct spawned *out, struct error *err) {
    return spawn_with(argv, NULL, out, err);
}

bool spawn_with(const struct strings *argv, const struct strings *environment, struct spawned *out,
                struct error *err) {
    int ends[6] = {-1, -1, -1, -1, -1, -1}; /* read and write end of stdin, stdout, stderr */
    *out = (struct spawned){.to = -1, .from = -1, .errors = -1};
    for (int i = 0; i < 3; i++)
        if (pipe2(ends + 2 * i, O_CLOEXEC) != 0) {
            FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot make a pipe: %s", strerror(errno));
            close_all(ends, 6);
            return false;
        }
    char **variables = environment != NULL ? helper_environment(environment) : NULL;
    int failed = start(argv, variables != NULL ? variables : environ, ends, &out->pid);
    free(variables);
    close_all((int[]){ends[0], ends[3], ends[5]}, 3);
    if (failed != 0) {
        close_all((int[]){ends[1], ends[2], ends[4]}, 3);
        out->pid = 0;
        /* gpuvet starts itself by /proc/self/exe. */
        bool no_proc = failed == ENOENT && text_starts(argv->items[0], "/proc/");
        return FAIL_NATIVE(err, ERROR_SYSTEM, failed, "cannot start %s: %s%s", argv->items[0],
                           strerror(failed), no_proc ? "; mount /proc" : "");
    }
    out->to = ends[1];
    out->from = ends[2];
    out->errors = ends[4];
    fcntl(out->errors, F_SETFL, O_NONBLOCK);
    return true;
}

bool spawned_end(struct spawned *process, int64_t patience_ns, int *status) {
    int ignored = 0;
    int *where = status != NULL ? status : &ignored;
    close_all((int[]){process->to, process->from}, 2);
    bool gone = true;
    if (process->pid != 0 && process_wait(process->pid, patience_ns, process->errors))
        waitpid(process->pid, where, 0);
    else if (process->pid != 0)
        gone = process_end(process->pid, process->errors, where);
    /* Not before: a script that says something as it tidies up would die of it. */
    close_all(&process->errors, 1);
    *process = (struct spawned){.to = -1, .from = -1, .errors = -1};
    return gone;
}

/* nohup: a blocked signal reaches the descriptor although it is ignored, and would end the run at logout. */
static bool hangup_is_ignored(void) {
    struct sigaction how;
    return sigaction(SIGHUP, NULL, &how) == 0 && how.sa_handler == SIG_IGN;
}

bool interrupt_open(struct interrupt *interrupt, struct error *err) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (!hangup_is_ignored())
        sigaddset(&set, SIGHUP);
    *interrupt = (struct interrupt){.fd = -1};
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0 ||
        (interrupt->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot watch for signals: %s", strerror(errno));
    return true;
}

bool interrupt_came(struct interrupt *interrupt) {
    struct signalfd_siginfo info;
    if (interrupt->signal == 0 && interrupt->fd >= 0 &&
        read(interrupt->fd, &info, sizeof info) == sizeof info)
        interrupt->signal = (int)info.ssi_signo;
    return interrupt->signal != 0;
}

void interrupt_close(struct interrupt *interrupt) {
    if (interrupt->fd >= 0)
        close(interrupt->fd);
    interrupt->fd = -1;
}
