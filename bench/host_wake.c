/* SPDX-License-Identifier: Apache-2.0 */
/* host.wake: how late a core is after an idle time, which is what a deeper idle state costs. Source timer:
 * timer slack 1 ns, absolute sleeps on CLOCK_MONOTONIC (the clock that sets the timer also reads it), sample
 * = now - target. Source remote: another core writes to an eventfd after the same idle time, sample = now -
 * just before the write. */
#include "base/clock.h"
#include "bench/host_common.h"
#include "bench/host_idle.h"
#include "bench/host_waker.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

enum { WARM_US = 20000, MAX_WARM_SLEEPS = 20, MAX_NODES = 64, USUAL_WAKE_US = 30 };

/* A few sleeps warm code and timer up; long ones need no more than one. */
static int warm_sleeps(int64_t idle_us) {
    int64_t n = WARM_US / (idle_us > 0 ? idle_us : 1);
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
    /* The timer's tail is judged on the local core, where a core that was taken away shows first. A remote
     * one holds what happened to the waking core as well. */
    {.metric = "wake",
     .statistic = "p99",
     .only = "idle_us=50&source=timer|idle_us=1000&source=timer",
     .delta_rel = 0.25,
     .between_rel = 0.15},
    {.metric = "wake",
     .statistic = "p99",
     .only = "idle_us=50&source=remote",
     .delta_rel = 0.25,
     .between_rel = 0.15,
     .descriptive = true},
    {0},
};

enum source { SOURCE_TIMER, SOURCE_REMOTE, N_SOURCES };
static const char *const sources[] = {"timer", "remote"};

enum core { CORE_LOCAL, CORE_IRQ, CORE_FAR, N_CORES };
static const char *const cores[] = {"local", "irq", "far"};

/* What is held off meanwhile, by PM-QoS. */
enum control { CONTROL_NONE, CONTROL_POLL, CONTROL_FIRST, N_CONTROLS };
static const char *const controls[] = {"none", "poll", "first-state"};

/* Idle time and samples a round, by source: a thousand where there is a p99, fewer for a p90 or a median. */
static const struct {
    int idle_us;
    int samples[N_SOURCES];
} rows[] = {{50, {1000, 1000}}, {1000, {1000, 150}}, {10000, {50, 50}}, {100000, {6, 6}}};
enum { N_ROWS = sizeof rows / sizeof *rows, ROW_1_MS = 1 };

/* Judged: the local core as it is, after short idles. Of the rest, what tells most (a remote wake after 1 ms)
 * is shown now and then, the whole matrix in the thorough profile. */
static enum level level_of(enum core core, enum control control, size_t row, enum source source) {
    bool plain = core == CORE_LOCAL && control == CONTROL_NONE;
    if (plain)
        return row <= ROW_1_MS ? LEVEL_PRIMARY : LEVEL_DESCRIPTIVE;
    return row == ROW_1_MS && source == SOURCE_REMOTE ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH;
}

/* What is the same for all items of one core. */
struct place {
    int cpu_node, cpu, waker;
    enum core core;
    char bdf[16];               /* whose interrupts it serves */
    const char *missing;        /* why there is no such core */
    int64_t bounds[N_CONTROLS]; /* us held; -1: none */
    const char *no_control;     /* why none can be held */
};

static struct place find_place(const struct node *node, int cpu_node, enum core core) {
    struct place p = {.cpu_node = cpu_node, .core = core};
    int local = topology_pin_cpu(node->topology, cpu_node);
    if (core == CORE_LOCAL) {
        p.cpu = local;
        p.missing = local < 0 ? "no CPU of this node is allowed" : NULL;
    } else if (core == CORE_IRQ) {
        p.cpu = host_irq_cpu(node, cpu_node, p.bdf);
        p.missing = p.cpu < 0 ? "which CPU serves the GPU's interrupts is not known"
                    : !topology_cpu_allowed(node->topology, p.cpu)
                        ? "the CPU that serves the GPU's interrupts is not allowed to us"
                        : NULL;
    } else {
        p.cpu = local < 0 ? -1 : topology_far_cpu(node->topology, local);
        p.missing = p.cpu < 0 ? "there is no other core" : NULL;
    }
    p.waker = p.missing == NULL ? topology_other_cpu(node->topology, p.cpu) : -1;
    if (p.missing == NULL && p.waker < 0)
        p.waker = topology_far_cpu(node->topology, p.cpu);
    p.bounds[CONTROL_NONE] = -1;
    p.bounds[CONTROL_POLL] = 0;
    p.bounds[CONTROL_FIRST] = idle_first_state_bound(node);
    p.no_control = idle_no_control(node);
    return p;
}

static void add(const struct node *node, const struct place *place, size_t row, enum source source,
                enum control control, struct instance_list *out) {
    struct instance *instance = instance_add(out, &metrics[0], level_of(place->core, control, row, source));
    int idle_us = rows[row].idle_us, samples = rows[row].samples[source];
    js_set_int(instance->where, "cpu_node", place->cpu_node);
    js_set_string(instance->where, "core", cores[place->core]);
    js_set_int(instance->params, "idle_us", idle_us);
    js_set_string(instance->params, "source", sources[source]);
    js_set_string(instance->params, "control", controls[control]);
    if (place->bdf[0] != '\0')
        js_set_string(instance->attributes, "irq_bdf", place->bdf);
    if (source == SOURCE_REMOTE)
        js_set_int(instance->attributes, "waker_cpu", place->waker);
    if (control != CONTROL_NONE)
        js_set_int(instance->attributes, "pm_qos_us", place->bounds[control]);
    instance->cpu = place->cpu;
    instance->samples = samples;
    instance->seconds = (samples + warm_sleeps(idle_us)) * (idle_us + USUAL_WAKE_US) * 1e-6;
    host_mark(node, instance);
    if (place->missing != NULL)
        host_skip(instance, "%s", place->missing);
    if (source == SOURCE_REMOTE && place->waker < 0)
        host_skip(instance, "there is no other core that could wake this one");
    if (control != CONTROL_NONE && place->no_control != NULL)
        host_skip(instance, "%s", place->no_control);
    if (control == CONTROL_FIRST && place->bounds[control] < 0)
        host_skip(instance, "there is no second idle state whose exit latency is known");
}

static void instances(const struct node *node, struct instance_list *out) {
    int nodes[MAX_NODES];
    int n = host_gpu_nodes(node, nodes, MAX_NODES);
    for (int i = 0; i < n; i++)
        for (int core = 0; core < N_CORES; core++) {
            struct place place = find_place(node, nodes[i], (enum core)core);
            int n_controls = core == CORE_LOCAL ? N_CONTROLS : 1;
            for (int control = 0; control < n_controls; control++)
                for (size_t row = 0; row < N_ROWS; row++)
                    for (int source = 0; source < N_SOURCES; source++)
                        add(node, &place, row, (enum source)source, (enum control)control, out);
        }
}

/* ---- in the worker ---- */

static int64_t lateness_ns(int64_t idle_ns) {
    int64_t target = host_monotonic() + idle_ns;
    host_sleep_until(target);
    return host_monotonic() - target;
}

/* `waker` NULL: by the timer. */
static bool once(struct waker *waker, int64_t idle_ns, int64_t *ns, struct error *err) {
    if (waker != NULL)
        return waker_lateness(waker, ns, err);
    *ns = lateness_ns(idle_ns);
    return true;
}

static double clock_cost_ns(void) {
    enum { READS = 1000 };
    int64_t start = host_monotonic();
    int64_t last = start;
    for (int i = 0; i < READS; i++)
        last = host_monotonic();
    return (double)(last - start) / READS;
}

static bool take(struct case_context *context, struct waker *waker, struct samples *out, struct error *err) {
    struct idle_count before[IDLE_MAX_STATES];
    struct idle_count after[IDLE_MAX_STATES];
    int64_t idle_us = case_number(context, "idle_us");
    int64_t ns = 0;
    for (int i = 0; i < warm_sleeps(idle_us); i++)
        if (!once(waker, idle_us * NS_PER_US, &ns, err))
            return RELAY(err);
    int n = idle_read("", context->cpu, before);
    int64_t most = 0;
    for (int i = 0; i < context->wanted_samples; i++) {
        if (!once(waker, idle_us * NS_PER_US, &ns, err))
            return RELAY(err);
        samples_add(out, (double)ns / 1e3);
        most = ns > most ? ns : most;
    }
    int m = idle_read("", context->cpu, after);
    /* Shown, never compared: the more samples, the larger it is. */
    js_set_number(context->extra, "max_us", (double)most / 1e3);
    js_set_int(context->extra, "max_of", context->wanted_samples);
    idle_record(context->extra, before, after, n < m ? n : m);
    return true;
}

static bool with_source(struct case_context *context, struct samples *out, struct error *err) {
    if (strcmp(case_text(context, "source"), sources[SOURCE_REMOTE]) != 0)
        return take(context, NULL, out, err);
    struct waker *waker = waker_start((int)js_get_int(context->attributes, "waker_cpu", -1),
                                      case_number(context, "idle_us") * NS_PER_US, err);
    bool good = waker != NULL && take(context, waker, out, err);
    waker_stop(waker);
    return good || RELAY(err);
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    int held = -1;
    int64_t bound = js_get_int(context->attributes, "pm_qos_us", -1);
    bool controlled = strcmp(case_text(context, "control"), controls[CONTROL_NONE]) != 0;
    if (controlled && bound < 0)
        return FAIL(err, ERROR_DATA, "no PM-QoS bound to hold");
    if (prctl(PR_SET_TIMERSLACK, 1UL) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot set the timer slack: %s", strerror(errno));
    bool good = (!controlled || idle_hold((int32_t)bound, &held, err)) && with_source(context, out, err);
    int64_t effective = idle_bound(); /* while ours is still held */
    idle_release(held);
    prctl(PR_SET_TIMERSLACK, 0UL); /* back to the default */
    if (effective >= 0)
        js_set_int(context->extra, "pm_qos_us", effective);
    js_set_number(context->extra, "clock_cost_ns", clock_cost_ns());
    return good;
}

const struct bench_case case_host_wake = {
    .name = "host.wake",
    .version = 2,
    .summary =
        "how late a core is after an idle time, woken by a timer or another core: what idle states cost",
    .block = BLOCK_QUIET,
    .quiet = true,
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
