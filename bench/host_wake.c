/* SPDX-License-Identifier: Apache-2.0 */
/* host.wake: how late a core is after an idle time, which is what a deeper idle state costs. Timer slack 1
 * ns, absolute sleeps on CLOCK_MONOTONIC (the clock that sets the timer also reads it), sample = now -
 * target. */
#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "bench/host_common.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { WARM_US = 20000, MAX_WARM_SLEEPS = 20, MAX_IDLE_STATES = 16 };

/* A few sleeps warm code and timer up; long ones need no more than one. */
static int warm_sleeps(int64_t idle_us) {
    int64_t n = WARM_US / idle_us;
    return n < 1 ? 1 : n > MAX_WARM_SLEEPS ? MAX_WARM_SLEEPS : (int)n;
}

static const struct metric metrics[] = {{"wake", QUANTITY_TIME, TIMING_HOST}, {0}};

static const struct series_row series[] = {
    {.metric = "wake",
     .statistic = "p50",
     .only = "idle_us=50|idle_us=1000|idle_us=100000",
     .delta_rel = 0.10,
     .delta_abs = 1,
     .between_rel = 0.08},
    {.metric = "wake", .statistic = "p90", .only = "idle_us=10000", .delta_rel = 0.25, .between_rel = 0.15},
    {.metric = "wake",
     .statistic = "p99",
     .only = "idle_us=50|idle_us=1000",
     .delta_rel = 0.25,
     .between_rel = 0.15,
     .descriptive = true},
    {0},
};

/* Idle time, samples a round: p99 needs a thousand, the long ones only a median. */
static const struct {
    int idle_us, samples;
    enum level level;
} rows[] = {
    {50, 1000, LEVEL_PRIMARY},
    {1000, 1000, LEVEL_PRIMARY},
    {10000, 100, LEVEL_DESCRIPTIVE},
    {100000, 20, LEVEL_DESCRIPTIVE},
};

static void instances(const struct node *node, struct instance_list *out) {
    int nodes[64];
    int n = host_gpu_nodes(node, nodes, 64);
    for (int i = 0; i < n; i++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            struct instance *instance = instance_add(out, &metrics[0], rows[r].level);
            js_set_int(instance->where, "cpu_node", nodes[i]);
            js_set_string(instance->where, "core", "local");
            js_set_int(instance->params, "idle_us", rows[r].idle_us);
            js_set_string(instance->params, "source", "timer");
            instance->cpu = topology_pin_cpu(node->topology, nodes[i]);
            instance->samples = rows[r].samples;
            instance->seconds =
                (rows[r].samples + warm_sleeps(rows[r].idle_us)) * (rows[r].idle_us + 60) * 1e-6;
            host_mark(node, instance);
        }
}

/* One idle state's counters of one CPU. */
struct idle_count {
    char name[32];
    int64_t usage, time_us, above, below;
};

static int64_t read_count(int cpu, int state, const char *file) {
    char path[128];
    struct text text = {0};
    struct error err = {0};
    int64_t value = -1;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpuidle/state%d/%s", cpu, state, file);
    if (!file_read(path, 256, &text, &err) || !text_to_int(text_trim(text.data), &value))
        value = -1;
    text_free(&text);
    return value;
}

static int read_idle(int cpu, struct idle_count *out) {
    int n = 0;
    for (; n < MAX_IDLE_STATES; n++) {
        char path[128];
        struct text name = {0};
        struct error err = {0};
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpuidle/state%d/name", cpu, n);
        bool there = file_read(path, 256, &name, &err);
        if (there)
            snprintf(out[n].name, sizeof out[n].name, "%.31s", text_trim(name.data));
        text_free(&name);
        if (!there)
            break;
        out[n].usage = read_count(cpu, n, "usage");
        out[n].time_us = read_count(cpu, n, "time");
        out[n].above = read_count(cpu, n, "above");
        out[n].below = read_count(cpu, n, "below");
    }
    return n;
}

/* Which states were entered during the item: proof that an idle time reached the state it stands for. */
static void record_residency(js *extra, const struct idle_count *before, const struct idle_count *after,
                             int n) {
    js *states = js_new_object();
    for (int i = 0; i < n; i++) {
        js *state = js_new_object();
        js_set_int(state, "usage", after[i].usage - before[i].usage);
        js_set_int(state, "time_us", after[i].time_us - before[i].time_us);
        js_set_int(state, "above", after[i].above - before[i].above);
        js_set_int(state, "below", after[i].below - before[i].below);
        js_set(states, after[i].name, state);
    }
    js_set(extra, "idle_states", n > 0 ? states : js_new_string("not visible"));
    if (n == 0)
        js_free(states);
}

static int64_t monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int64_t lateness_ns(int64_t idle_ns) {
    int64_t target = monotonic_ns() + idle_ns;
    struct timespec t = {.tv_sec = target / NS_PER_S, .tv_nsec = target % NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
    return monotonic_ns() - target;
}

static double clock_cost_ns(void) {
    enum { READS = 1000 };
    int64_t start = monotonic_ns();
    int64_t last = start;
    for (int i = 0; i < READS; i++)
        last = monotonic_ns();
    return (double)(last - start) / READS;
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    struct idle_count before[MAX_IDLE_STATES];
    struct idle_count after[MAX_IDLE_STATES];
    int64_t idle_ns = case_number(context, "idle_us") * NS_PER_US;
    if (prctl(PR_SET_TIMERSLACK, 1UL) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot set the timer slack: %s", strerror(errno));
    for (int i = 0; i < warm_sleeps(case_number(context, "idle_us")); i++)
        lateness_ns(idle_ns);
    int n = context->cpu >= 0 ? read_idle(context->cpu, before) : 0;
    for (int i = 0; i < context->wanted_samples; i++)
        samples_add(out, (double)lateness_ns(idle_ns) / 1e3);
    int m = context->cpu >= 0 ? read_idle(context->cpu, after) : 0;
    record_residency(context->extra, before, after, n < m ? n : m);
    js_set_number(context->extra, "clock_cost_ns", clock_cost_ns());
    prctl(PR_SET_TIMERSLACK, 0UL); /* back to the default */
    return true;
}

const struct bench_case case_host_wake = {
    .name = "host.wake",
    .version = 1,
    .summary = "lateness of a timer after an idle time: what idle states cost",
    .block = BLOCK_QUIET,
    .quiet = true,
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
