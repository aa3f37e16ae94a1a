/* SPDX-License-Identifier: Apache-2.0 */
/* host.handoff: how long a cache line takes from one core to another. Two cores count up one word in turn,
 * one the odd, one the even numbers; the sample is half the mean round trip of a batch. */
#include "base/clock.h"
#include "bench/cache_word.h"
#include "bench/host_common.h"
#include "bench/host_team.h"
#include "system/pin.h"

#include <stdatomic.h>

enum { SAMPLES = 200, TRIPS = 200, WARM_BATCHES = 20, LINE_BYTES = 4096 };

static const struct metric metrics[] = {{"handoff", QUANTITY_LATENCY, TIMING_HOST}, {0}};

static const struct series_row series[] = {
    {.metric = "handoff", .statistic = "p50", .delta_rel = 0.05, .between_rel = 0.03},
    {0},
};

static const struct {
    const char *role;
    enum core_relation relation;
    const char *missing;
} roles[] = {
    {"same-complex", CORE_SAME_COMPLEX, "there is no second core in the complex"},
    {"other-complex", CORE_OTHER_COMPLEX, "all cores of the socket share one L3"},
    {"other-socket", CORE_OTHER_SOCKET, "there is one socket"},
};

static void instances(const struct node *node, struct instance_list *out) {
    int nodes[64];
    int n = host_gpu_nodes(node, nodes, 64);
    for (int i = 0; i < n; i++)
        for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
            struct instance *instance = instance_add(out, &metrics[0], LEVEL_PRIMARY);
            int cpus[2] = {topology_pin_cpu(node->topology, nodes[i]), -1};
            js_set_int(instance->where, "cpu_node", nodes[i]);
            js_set_string(instance->where, "role", roles[r].role);
            if (cpus[0] >= 0)
                cpus[1] = topology_related_cpu(node->topology, cpus[0], roles[r].relation);
            host_set_cpus(instance, cpus, 2);
            cache_set(instance, "hot"); /* in the other core's */
            js_set_int(instance->attributes, "os_node", topology_node_os_index(node->topology, nodes[i]));
            instance->cpu = cpus[0];
            instance->samples = SAMPLES;
            instance->seconds = (SAMPLES + WARM_BATCHES) * TRIPS * 0.4e-6 + 0.005;
            host_mark(node, instance);
            if (cpus[0] < 0)
                host_skip(instance, "no CPU of this node is allowed");
            else if (cpus[1] < 0)
                host_skip(instance, "%s",
                          topology_core_count(node->topology) < 2 ? "there is no other core"
                                                                  : roles[r].missing);
        }
}

struct ball {
    _Atomic uint32_t *line;
    int batches;
    struct samples *out; /* filled by the first thread only */
};

/* Waits until the word is `expected`, then writes the number after it. No pause in the loop: on some cores
 * it takes longer than the line does. */
static inline void pass(_Atomic uint32_t *line, uint32_t expected) {
    while (atomic_load_explicit(line, memory_order_acquire) != expected)
        ;
    atomic_store_explicit(line, expected + 1, memory_order_release);
}

static void play(struct host_team *team, void *shared, int index) {
    struct ball *ball = shared;
    uint32_t turn = (uint32_t)index;
    host_team_meet(team);
    for (int batch = 0; batch < ball->batches; batch++) {
        int64_t start = clock_raw();
        for (int i = 0; i < TRIPS; i++, turn += 2)
            pass(ball->line, turn);
        int64_t ns = clock_raw() - start;
        if (index == 0 && batch >= WARM_BATCHES)
            samples_add(ball->out, (double)ns / (2.0 * TRIPS));
    }
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    int cpus[2];
    struct host_buffer page;
    if (host_cpus(context, cpus, 2) != 2)
        return FAIL(err, ERROR_DATA, "no two cores to measure between");
    if (!host_buffer_make(LINE_BYTES, (int)js_get_int(context->attributes, "os_node", -1), &page, err))
        return RELAY(err);
    host_tell_memory(context, &page, false);
    struct ball ball = {.line = page.data, .batches = context->wanted_samples + WARM_BATCHES, .out = out};
    atomic_store(ball.line, 0);
    bool good = host_team_run(cpus, 2, play, &ball, err);
    uint32_t passes = atomic_load(ball.line);
    uint32_t expected = 2U * TRIPS * (uint32_t)ball.batches;
    host_buffer_free(&page);
    if (good && passes != expected)
        good = FAIL(err, ERROR_VERIFY, "the word was counted to %u instead of %u", passes, expected);
    return good;
}

const struct bench_case case_host_handoff = {
    .name = "host.handoff",
    .version = 1,
    .summary = "how long a cache line takes from one core to another",
    .block = BLOCK_QUIET,
    .quiet = true,
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
