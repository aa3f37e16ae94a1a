/* SPDX-License-Identifier: Apache-2.0 */
/* launch.sync: how late the host sees that the GPU has finished. A kernel of known length says to the host
 * when it begins; the host then waits. Sample = completion seen - beginning seen - length. What the issue
 * costs is not in it (launch.latency has that); what a core costs that has slept while the GPU worked is. */
#include "base/clock.h"
#include "bench/host_common.h"
#include "bench/launch_common.h"

enum {
    SHORT_US = 50, /* longer than issuing an event takes, so that the wait begins before the end */
    SHORT_SAMPLES = 500,
    MIDDLE_US = 1000,
    MIDDLE_SAMPLES = 30,
    WARM_US = 2000,
    MAX_WARM = 20,
    SHARP_NS = 1000, /* a look takes about 50 ns */
    TRIES = 6,       /* for one sample */
};
static const int64_t start_limit_ns = 5 * NS_PER_S;

static const struct metric metrics[] = {{"call", QUANTITY_TIME, TIMING_HOST}, {0}};

static const struct series_row series[] = {
    {.metric = "call", .statistic = "p50", .delta_rel = 0.05, .delta_abs = 0.2, .between_rel = 0.05},
    {.metric = "call",
     .statistic = "p99",
     .only = "after=busy",
     .delta_rel = 0.25,
     .between_rel = 0.15,
     .descriptive = true},
    {0},
};

/* While the GPU works the host waits; the short wait is "busy": no idle state pays for it. */
static const struct {
    int delay_us, samples;
    bool idle;
} rows[] = {
    {SHORT_US, SHORT_SAMPLES, false},
    {MIDDLE_US, MIDDLE_SAMPLES, true},
    {LAUNCH_IDLE_US, LAUNCH_IDLE_SAMPLES, true},
};

static int warm_delays(int64_t delay_us) {
    int64_t n = WARM_US / delay_us;
    return n < 1 ? 1 : n > MAX_WARM ? MAX_WARM : (int)n;
}

static void instances(const struct node *node, struct instance_list *out) {
    for (size_t i = 0; i < node->gpus.count; i++)
        for (int how = 0; how < LAUNCH_WAITS; how++)
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                enum level level =
                    launch_level(host_first_gpu_of_node(node, i), (enum gpu_wait)how, rows[r].idle);
                if (level == LEVEL_PRIMARY && rows[r].delay_us == MIDDLE_US)
                    level = LEVEL_DESCRIPTIVE;
                struct instance *instance =
                    launch_instance(node, &node->gpus.items[i], &metrics[0], level, out);
                int delays = rows[r].samples + warm_delays(rows[r].delay_us) + 1;
                launch_set_wait(node, instance, (enum gpu_wait)how);
                launch_set_after(instance, rows[r].idle ? rows[r].delay_us : 0);
                js_set_int(instance->params, "delay_us", rows[r].delay_us);
                instance->samples = rows[r].samples;
                instance->seconds = delays * (rows[r].delay_us + 20) * 1e-6 + 0.01;
            }
}

/* Until the delay that was issued last says that it runs. `when` is the time at which that was seen, `sharp`
 * whether it is known to SHARP_NS: the look before saw it not running yet. A host that was held up just then
 * (an interrupt, a hypervisor) sees the beginning too late, and would make the end seem early. */
static bool see_start(struct launch_bench *b, int64_t *when, bool *sharp, struct error *err) {
    int64_t issued = clock_raw();
    int64_t last = -1;
    do {
        bool begun = __atomic_load_n(&b->words->started, __ATOMIC_ACQUIRE) == b->delays;
        *when = clock_raw();
        if (begun) {
            *sharp = last >= 0 && *when - last <= SHARP_NS;
            return true;
        }
        last = *when;
    } while (*when - issued < start_limit_ns);
    return FAIL(err, ERROR_GPU, "a kernel did not begin within %d s of its launch",
                (int)(start_limit_ns / NS_PER_S));
}

static bool one(struct launch_bench *b, enum gpu_wait how, int64_t delay_ns, int64_t *ns, bool *sharp,
                struct error *err) {
    int64_t begun = 0;
    if (!launch_delay(b, delay_ns, false, err) || !see_start(b, &begun, sharp, err) ||
        !gpu_wait_for(b->stream, how, b->sleeping, err))
        return RELAY(err);
    *ns = clock_raw() - begun;
    return true;
}

/* As many samples as are wanted, whose beginning was seen sharply; at most six tries for one: after an idle
 * time of its own the launch itself is late, and half of the beginnings with it. */
static bool take_samples(struct case_context *context, struct launch_bench *b, int64_t delay_ns,
                         int64_t length_ns, struct samples *out, struct error *err) {
    enum gpu_wait how = launch_wait(context);
    int warm = warm_delays(delay_ns / NS_PER_US);
    int tries = TRIES * context->wanted_samples;
    int dropped = 0;
    for (int i = -warm; i < tries && out->count < (size_t)context->wanted_samples; i++) {
        int64_t ns = 0;
        bool sharp = false;
        if (!one(b, how, delay_ns, &ns, &sharp, err))
            return RELAY(err);
        if (i >= 0 && sharp && ns > length_ns)
            samples_add(out, (double)(ns - length_ns) / 1e3);
        else if (i >= 0)
            dropped++;
    }
    js_set_int(context->extra, "start_seen_late", dropped);
    return launch_enough(context, out->count, dropped, err) || RELAY(err);
}

static bool sample_on(struct case_context *context, struct launch_bench *b, struct samples *out,
                      struct error *err) {
    int64_t delay_ns = case_number(context, "delay_us") * NS_PER_US;
    /* The delay ends on a step of the device's timer, the same step every time: asked once. */
    if (!launch_delay(b, delay_ns, true, err) || !gpu_stream_wait(b->stream, err))
        return RELAY(err);
    int64_t length_ns = (int64_t)b->words->ns;
    js_set_int(context->extra, "delay_ns", length_ns);
    if (length_ns < delay_ns || length_ns > 2 * delay_ns)
        return FAIL(err, ERROR_GPU, "a kernel of %lld ns lasted %lld ns by the GPU's own clock",
                    (long long)delay_ns, (long long)length_ns);
    return take_samples(context, b, delay_ns, length_ns, out, err) || RELAY(err);
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    return launch_sample(context, sample_on, out, err) || RELAY(err);
}

const struct bench_case case_launch_sync = {
    .name = "launch.sync",
    .version = 1,
    .summary = "how late the host sees the end of a kernel of known length",
    .block = BLOCK_LATENCY,
    .quiet = true,
    .needs = {.gpus = 1},
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
