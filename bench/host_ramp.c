/* SPDX-License-Identifier: Apache-2.0 */
/* host.ramp: how long a core that comes out of idle takes to 95 % of the clock that it then keeps. Windows of
 * 10 us, each some chains long; the sample is the end of the first window from which on the clock holds. */
#include "bench/host_ramp.h"
#include "base/clock.h"
#include "base/mem.h"
#include "bench/host_chain.h"
#include "bench/host_common.h"
#include "stats/robust.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum {
    SAMPLES = 8,
    IDLE_US = 10000, /* long enough for the deepest states, and for a governor to forget the load */
    WARM_US = 30000, /* of it the last quarter gives the sustained clock */
    WINDOW_US = 10,
    LIMIT_US = 50000,  /* a ramp that takes longer is none: the clock is held down */
    CHUNK_LOOPS = 100, /* of imul: about 1.5 us, between two looks at the clock */
    MAX_WINDOWS = LIMIT_US / WINDOW_US + 1,
    HOLD = 20, /* windows that must hold */
};

static const struct metric metrics[] = {{"ramp", QUANTITY_TIME, TIMING_HOST}, {0}};

/* Nothing below one window can be told apart. */
static const struct series_row series[] = {
    {.metric = "ramp", .statistic = "p50", .delta_rel = 0.10, .delta_abs = WINDOW_US, .between_rel = 0.08},
    {0},
};

/* How long one ramp goes on, for the estimate: a governor that stays at the top has nothing to do but raise
 * the clock, one that looks at the load takes its period. */
static double busy_us(const struct node *node) {
    const char *governor = node_text(node, "cpu.governor");
    bool at_once = governor == NULL || strcmp(governor, "performance") == 0;
    return at_once ? 500 : 8000;
}

static void instances(const struct node *node, struct instance_list *out) {
    int nodes[64];
    int n = host_gpu_nodes(node, nodes, 64);
    for (int i = 0; i < n; i++) {
        struct instance *instance = instance_add(out, &metrics[0], LEVEL_PRIMARY);
        js_set_int(instance->where, "cpu_node", nodes[i]);
        js_set_string(instance->where, "core", "local");
        js_set_int(instance->params, "idle_us", IDLE_US);
        instance->cpu = topology_pin_cpu(node->topology, nodes[i]);
        instance->samples = SAMPLES;
        instance->seconds = (WARM_US + SAMPLES * (IDLE_US + busy_us(node))) * 1e-6 + 0.005;
        host_mark(node, instance);
        if (instance->cpu < 0)
            host_skip(instance, "no CPU of this node is allowed");
        if (chain_unknown() != NULL)
            host_skip(instance, "%s", chain_unknown());
    }
}

size_t ramp_find(const double *speed, size_t n, double threshold, size_t hold) {
    for (size_t first = 0; first + hold <= n; first++) {
        size_t below = 0;
        if (speed[first] < threshold)
            continue;
        for (size_t i = first; i < first + hold; i++)
            below += speed[i] < threshold ? 1 : 0;
        if (below * 10 <= hold)
            return first;
    }
    return n;
}

/* Loops per nanosecond over one window; `*now` moves to its end. */
static double window(int64_t *now) {
    int64_t start = *now;
    int64_t loops = 0;
    do {
        chain_imul(CHUNK_LOOPS);
        loops += CHUNK_LOOPS;
        *now = clock_raw();
    } while (*now - start < WINDOW_US * NS_PER_US);
    return (double)loops / (double)(*now - start);
}

static double sustained_speed(double *speed) {
    size_t n = 0;
    int64_t now = clock_raw();
    int64_t quarter = now + WARM_US * NS_PER_US * 3 / 4;
    int64_t end = now + WARM_US * NS_PER_US;
    while (now < end && n < MAX_WINDOWS) {
        double s = window(&now);
        if (now > quarter)
            speed[n++] = s;
    }
    return n > 0 ? stats_median(speed, n) : 0;
}

/* Microseconds to the end of the first window that holds; -1: none within the limit. */
static double ramp_us(double threshold, double *speed, int64_t *ends) {
    host_sleep_until(host_monotonic() + IDLE_US * NS_PER_US);
    int64_t start = clock_raw();
    int64_t now = start;
    size_t n = 0;
    size_t from = 0; /* windows before this one cannot begin a hold any more */
    while (n < MAX_WINDOWS && now - start < LIMIT_US * NS_PER_US) {
        speed[n] = window(&now);
        ends[n++] = now;
        if (n - from < HOLD)
            continue;
        if (ramp_find(speed + from, HOLD, threshold, HOLD) == 0)
            return (double)(ends[from] - start) / 1e3;
        from++;
    }
    return -1;
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    double *speed = mem_zeroed(MAX_WINDOWS, sizeof *speed);
    int64_t *ends = mem_zeroed(MAX_WINDOWS, sizeof *ends);
    int missed = 0;
    prctl(PR_SET_TIMERSLACK, 1UL);
    double sustained = sustained_speed(speed);
    for (int i = 0; i < context->wanted_samples; i++) {
        double us = ramp_us(0.95 * sustained, speed, ends);
        if (us > 0)
            samples_add(out, us);
        missed += us > 0 ? 0 : 1;
    }
    prctl(PR_SET_TIMERSLACK, 0UL);
    free(ends);
    free(speed);
    js_set_number(context->extra, "sustained_ghz", sustained * CHAIN_UNROLL * CHAIN_IMUL_CYCLES);
    if (missed > 0) {
        js_set_int(context->extra, "not_reached", missed);
        js_append_string(context->flags, "ramp-not-reached");
    }
    return out->count > 0 ||
           FAIL(err, ERROR_DATA, "the clock never held 95 %% of the sustained %.2f GHz within %d ms",
                sustained * CHAIN_UNROLL * CHAIN_IMUL_CYCLES, LIMIT_US / 1000);
}

const struct bench_case case_host_ramp = {
    .name = "host.ramp",
    .version = 1,
    .summary = "how long a core takes from idle to 95 % of the clock it then keeps",
    .block = BLOCK_QUIET,
    .quiet = true,
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
