/* SPDX-License-Identifier: Apache-2.0 */
#include "target/process_end.h"

#include "base/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READS_AT_ONCE = 16 };
static const int64_t grace_ns = 2 * NS_PER_S;
static const int64_t group_look_ns = 20 * NS_PER_MS;
static const int64_t reap_limit_ns = 2 * NS_PER_S;

/* It stays a zombie, whose number nobody else can have: its group may still be signalled. */
static bool has_ended(pid_t pid) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

bool process_wait(pid_t pid, int64_t limit_ns, int talk) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + limit_ns;
    char dropped[4096];
    while (!has_ended(pid)) {
        if (clock_now(&clock) >= end)
            return false;
        for (int i = 0; i < READS_AT_ONCE && talk >= 0 && read(talk, dropped, sizeof dropped) > 0; i++)
            ;
        clock_sleep(&clock, NS_PER_MS);
    }
    return true;
}

/* True for one of the group that still runs, as /proc/PID/stat says. */
static bool is_of_group(const char *number, pid_t group) {
    char path[64];
    char line[512];
    char state = 'X';
    int of = 0;
    snprintf(path, sizeof path, "/proc/%.20s/stat", number);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, line, sizeof line - 1) : -1;
    if (fd >= 0)
        close(fd);
    line[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(line, ')');
    return name_end != NULL && sscanf(name_end + 1, " %c %*d %d", &state, &of) == 2 && of == group &&
           state != 'Z' && state != 'X';
}

static bool group_runs(pid_t group) {
    DIR *all = opendir("/proc");
    bool found = false;
    for (struct dirent *e; !found && all != NULL && (e = readdir(all)) != NULL;)
        found = isdigit((unsigned char)e->d_name[0]) && is_of_group(e->d_name, group);
    if (all != NULL)
        closedir(all);
    return found;
}

bool process_end(pid_t pid, int talk, int *status) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + grace_ns;
    kill(-pid, SIGTERM);
    kill(-pid, SIGCONT); /* one that was stopped would not hear it */
    bool gone = process_wait(pid, grace_ns, talk);
    /* What a script has started may take longer than the script. */
    while (gone && group_runs(pid) && clock_now(&clock) < end)
        clock_sleep(&clock, group_look_ns);
    kill(-pid, SIGKILL);
    if (!gone) {
        kill(pid, SIGKILL); /* also where it has gone into another group */
        process_wait(pid, reap_limit_ns, talk);
    }
    return waitpid(pid, status, WNOHANG) != 0;
}
