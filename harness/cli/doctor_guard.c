/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_guard.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/output.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t slow_ns = 120 * NS_PER_S;

static void tell(const js *dead) {
    struct error err = {0};
    struct text points = {0};
    for (size_t i = 0; i < js_length(dead); i++)
        text_addf(&points, "%s%s", i > 0 ? ", " : "", js_string(js_at(dead, i), ""));
    if (points.length > 0)
        FAIL(
            &err, ERROR_SYSTEM,
            "reading this machine hangs: the file system mounted at %s does not answer; bring its server back, or "
            "umount -l it",
            text_string(&points));
    else
        FAIL(
            &err, ERROR_SYSTEM,
            "reading this machine hangs: look for the stuck process (ps -eo pid,stat,wchan:32,cmd) and at dmesg");
    log_error(&err);
    text_free(&points);
}

static int died(int number) {
    struct error err = {0};
    FAIL(&err, ERROR_SYSTEM, "reading this machine ended early: killed by signal %d%s", number,
         number == SIGKILL ? " (by somebody, or for want of memory: see dmesg)" : "");
    log_error(&err);
    return 2;
}

/* -1: late. */
static int wait_for(pid_t pid, int64_t limit_ns) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + limit_ns;
    int64_t nap = NS_PER_MS / 2;
    int status = 0;
    for (;;) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : died(WTERMSIG(status));
        if (clock_now(&clock) > end)
            return -1;
        clock_sleep(&clock, nap);
        nap = nap < 10 * NS_PER_MS ? nap + nap / 8 : nap;
    }
}

int doctor_guarded(int (*body)(void *argument), void *argument, const js *dead, bool slow) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return body(argument); /* without a guard rather than not at all */
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int status = output_finish(body(argument));
        fflush(NULL);
        _exit(status);
    }
    int64_t limit_ms = js_length(dead) > 0 ? DOCTOR_DEAD_MS : DOCTOR_USUAL_MS;
    int status = wait_for(pid, slow ? slow_ns : limit_ms * NS_PER_MS);
    if (status >= 0)
        return status;
    kill(pid, SIGKILL); /* one stuck in the kernel stays behind */
    tell(dead);
    return 1;
}
