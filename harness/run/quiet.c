/* SPDX-License-Identifier: Apache-2.0 */
#include "run/quiet.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "run/who.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A quiet node still runs its daemons: more than this is somebody at work. */
static const double max_cpu_share = 0.25;   /* of all CPUs together */
static const double max_one_process = 0.90; /* of one CPU: it can sit on the very core that is measured */
static const double max_pressure = 0.15;    /* share of the time that somebody waited for a CPU or memory */
static const double max_io_pressure = 0.50;
static const double max_steal = 0.10;
enum { MAX_GPU_UTILIZATION = 5, MAX_FOREIGN_MEMORY_MIB = 2048 };
static const int64_t look_ns = 2 * NS_PER_S;
static const int64_t keeper_limit_ns = 40 * NS_PER_S; /* waking eight GPUs without persistence */
static const int64_t answer_limit_ns = 5 * NS_PER_S;
/* Between two items a worker waits, and takes five seconds of silence for the end of us. */
static const int64_t counters_limit_ns = 3 * NS_PER_S;

/* ---- the keeper ---- */

/* One line of the keeper as JSON, NULL with the reason when it does not come in time. */
static js *keeper_line(struct quiet_gate *gate, int64_t limit_ns) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + limit_ns;
    struct error err = {0};
    char chunk[8192];
    for (;;) {
        char *newline = gate->answers.data == NULL ? NULL : strchr(gate->answers.data, '\n');
        if (newline != NULL) {
            js *line = js_parse(gate->answers.data, (size_t)(newline - gate->answers.data), &err);
            text_clear(&gate->answers); /* one answer at a time: nothing may follow it */
            return line;
        }
        int64_t left = end - clock_now(&clock);
        if (left <= 0 || gate->answers.length > CHANNEL_MAX_LINE)
            return NULL;
        struct pollfd p = {.fd = gate->keeper.from, .events = POLLIN};
        if (poll(&p, 1, (int)(left / NS_PER_MS) + 1) <= 0)
            continue;
        ssize_t n = read(gate->keeper.from, chunk, sizeof chunk);
        if (n <= 0)
            return NULL;
        text_add_bytes(&gate->answers, chunk, (size_t)n);
    }
}

static void lose_keeper(struct quiet_gate *gate, const char *why) {
    snprintf(gate->keeper_reason, sizeof gate->keeper_reason, "%.199s", why);
    spawned_end(&gate->keeper, 0, NULL);
}

static void start_keeper(struct quiet_gate *gate) {
    struct strings argv = {0};
    struct error err = {0};
    strings_add(&argv, "/proc/self/exe");
    strings_add(&argv, "keeper");
    bool started = spawn(&argv, &gate->keeper, &err);
    strings_free(&argv);
    js *ready = started ? keeper_line(gate, keeper_limit_ns) : NULL;
    if (ready == NULL)
        lose_keeper(gate, started ? "the keeper does not answer: the driver may hang" : err.text);
    else if (js_get_string(ready, "reason", NULL) != NULL)
        snprintf(gate->keeper_reason, sizeof gate->keeper_reason, "%s", js_get_string(ready, "reason", ""));
    js_free(ready);
}

/* Asks the keeper one question and takes it over. NULL: no keeper, or no answer. */
static js *ask_keeper(struct quiet_gate *gate, js *question, int64_t limit_ns) {
    struct error err = {0};
    struct text line = {0};
    js *answer = NULL;
    if (gate->keeper.pid != 0) {
        char *json = js_text(question);
        text_addf(&line, "%s\n", json);
        free(json);
        if (!fd_write_all(gate->keeper.to, text_string(&line), line.length, &err))
            lose_keeper(gate, "the keeper is gone");
        else if ((answer = keeper_line(gate, limit_ns)) == NULL)
            lose_keeper(gate, "the keeper no longer answers: the driver may hang");
    }
    text_free(&line);
    js_free(question);
    return answer;
}

js *quiet_counters(struct quiet_gate *gate, const js *uuids, bool whole) {
    js *question = message_new("counters");
    js_set(question, "gpus", js_copy(uuids));
    js_set_bool(question, "whole", whole);
    js *answer = ask_keeper(gate, question, counters_limit_ns);
    js *gpus = js_get(answer, "gpus");
    gpus = js_length(gpus) > 0 ? js_keep(gpus) : NULL;
    js_free(answer);
    return gpus;
}

/* ---- judging ---- */

void quiet_judge_cpu(const struct activity_report *r, char *out, size_t size) {
    char who[240] = "";
    char name[200];
    if (r->top_pid != 0 && r->top_share > 0.05) {
        who_process(r->top_pid, r->top_name, name, sizeof name);
        snprintf(who, sizeof who, ", most by %s, %.0f %% of a CPU", name, 100 * r->top_share);
    }
    out[0] = '\0';
    if (r->throttled) {
        who_throttles(name, sizeof name);
        snprintf(out, size, "%s is throttling it", name);
    } else if (r->cpu_share > max_cpu_share || r->top_share > max_one_process)
        snprintf(out, size, "others use %.0f %% of the CPUs%s", 100 * r->cpu_share, who);
    else if (r->psi_cpu > max_pressure && r->cpu_share > max_cpu_share / 2)
        snprintf(out, size, "tasks wait for a CPU %.0f %% of the time%s", 100 * r->psi_cpu, who);
    else if (r->psi_memory > max_pressure)
        snprintf(out, size, "tasks wait for memory %.0f %% of the time", 100 * r->psi_memory);
    else if (r->psi_io > max_io_pressure)
        snprintf(out, size, "tasks wait for disks %.0f %% of the time", 100 * r->psi_io);
    else if (r->steal_share > max_steal)
        snprintf(out, size, "the hypervisor takes %.0f %% of the CPU time", 100 * r->steal_share);
}

void quiet_judge_gpus(const js *activity, bool own_round, struct text *out) {
    for (size_t g = 0; g < js_length(activity); g++) {
        const js *gpu = js_at(activity, g);
        const js *processes = js_get(gpu, "processes");
        for (size_t i = 0; i < js_length(processes); i++) {
            int64_t pid = js_get_int(js_at(processes, i), "pid", -1);
            char name[200];
            who_process(pid, NULL, name, sizeof name);
            text_addf(out, "%sGPU %zu is used by %s", out->length > 0 ? "; " : "", g, name);
        }
        if (js_length(processes) > 0)
            continue;
        /* A process of another PID namespace is not listed, but its work and memory show. */
        if (!own_round && js_get_int(gpu, "utilization_percent", 0) > MAX_GPU_UTILIZATION)
            text_addf(out, "%sGPU %zu is %lld %% busy", out->length > 0 ? "; " : "", g,
                      (long long)js_get_int(gpu, "utilization_percent", 0));
        else if (js_get_int(gpu, "memory_used_mib", 0) > MAX_FOREIGN_MEMORY_MIB)
            text_addf(out, "%s%lld MiB of GPU %zu are in use", out->length > 0 ? "; " : "",
                      (long long)js_get_int(gpu, "memory_used_mib", 0), g);
    }
}

/* ---- the gate ---- */

static int64_t ended_children_ns(void) {
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_S +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
}

/* Once a run: a gate that sees nothing is no quiet node. */
static void tell_blind(struct quiet_gate *gate, const char *why) {
    if (!gate->told_blind)
        log_warning("whether others use the CPUs is not known, so it is measured all the same: %s", why);
    gate->told_blind = true;
}

void quiet_mark(struct quiet_gate *gate) {
    struct error unread = {0};
    if (gate->have_last)
        activity_free(&gate->last);
    gate->have_last = activity_read("", &gate->last, &unread);
    if (!gate->have_last)
        tell_blind(gate, unread.text);
    gate->ended_cpu_ns = ended_children_ns();
}

/* Looks back to the last mark and sets a new one. */
static void look(struct quiet_gate *gate) {
    struct activity before = gate->last;
    int64_t ended = gate->ended_cpu_ns;
    bool had = gate->have_last;
    gate->have_last = false;
    quiet_mark(gate);
    gate->busy[0] = '\0';
    gate->steal = NAN;
    if (had && gate->have_last) {
        struct activity_report report;
        activity_between(&before, &gate->last, getpid(), gate->ended_cpu_ns - ended, &report);
        quiet_judge_cpu(&report, gate->busy, sizeof gate->busy);
        if (before.total_ns == gate->last.total_ns && report.seconds > 1)
            tell_blind(gate, "the CPU times in /proc/stat stand still; only a single busy process shows");
        gate->steal = report.steal_share;
    }
    if (had)
        activity_free(&before);
    js *answer = ask_keeper(gate, message_new("activity"), answer_limit_ns);
    gate->unasked[0] = '\0';
    if (gate->uses_gpus && !js_is_array(js_get(answer, "gpus")))
        snprintf(gate->unasked, sizeof gate->unasked, "%s",
                 js_get_string(answer, "reason", gate->keeper_reason));
    struct text gpus = {0};
    quiet_judge_gpus(js_get(answer, "gpus"), gate->own_round, &gpus);
    gate->own_round = false;
    if (gpus.length > 0) {
        size_t used = strlen(gate->busy);
        snprintf(gate->busy + used, sizeof gate->busy - used, "%s%s", used > 0 ? "; " : "",
                 text_string(&gpus));
    }
    text_free(&gpus);
    js_free(answer);
}

/* Sleeps in the eye of signals. False: one came. */
static bool rest(struct interrupt *interrupt, int64_t ns) {
    struct pollfd p = {.fd = interrupt->fd, .events = POLLIN};
    poll(&p, 1, (int)(ns / NS_PER_MS));
    return !interrupt_came(interrupt);
}

bool quiet_wait(struct quiet_gate *gate, struct interrupt *interrupt, void (*on_wait)(void *, const char *),
                void *state, struct error *err) {
    struct clock clock = clock_real();
    int64_t end = clock_now(&clock) + gate->wait_ns;
    if (!gate->have_last) {
        quiet_mark(gate);
        if (!rest(interrupt, look_ns))
            return FAIL(err, ERROR_INTERRUPTED, "interrupted");
    }
    look(gate);
    gate->steal_before = gate->steal;
    bool told = false;
    while (gate->busy[0] != '\0' && !gate->allow_busy) {
        if (clock_now(&clock) >= end)
            return FAIL(
                err, ERROR_BUSY,
                "the node is not quiet: %s; stop it, wait longer (--wait-quiet S), or accept it (--allow-busy)",
                gate->busy);
        if (!told && on_wait != NULL)
            on_wait(state, gate->busy);
        told = true;
        if (!rest(interrupt, look_ns))
            return FAIL(err, ERROR_INTERRUPTED, "interrupted");
        look(gate);
    }
    quiet_mark(gate);
    gate->own_round = true;
    return true;
}

void quiet_open(struct quiet_gate *gate, bool allow_busy, int64_t wait_ns, bool uses_gpus) {
    *gate = (struct quiet_gate){.allow_busy = allow_busy, .wait_ns = wait_ns, .uses_gpus = uses_gpus};
    gate->keeper.to = gate->keeper.from = gate->keeper.errors = -1;
    if (uses_gpus)
        start_keeper(gate);
}

void quiet_close(struct quiet_gate *gate) {
    spawned_end(&gate->keeper, 2 * NS_PER_S, NULL);
    text_free(&gate->answers);
    if (gate->have_last)
        activity_free(&gate->last);
    gate->have_last = false;
}
