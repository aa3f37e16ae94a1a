/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/launch_common.h"

#include "base/clock.h"
#include "bench/host_common.h"

#include <math.h>
#include <string.h>

enum { WAKE_MIN = 3, WAKE_MAX = 50, WAKE_DELAY_NS = 1000000 };
static const double steady = 0.01, moved = 0.1, awake_share = 1.0 / 3;

static const char *const waits[LAUNCH_WAITS] = {
    [GPU_WAIT_SPIN] = "spin", [GPU_WAIT_BLOCK] = "block", [GPU_WAIT_POLL] = "poll"};

void launch_set_clock(const struct gpu_info *gpu, struct instance *instance) {
    if (gpu->sm_clock_max_mhz > 0)
        js_set_int(instance->attributes, "sm_clock_max_mhz", gpu->sm_clock_max_mhz);
}

struct instance *launch_instance(const struct node *node, const struct gpu_info *gpu,
                                 const struct metric *metric, enum level level, struct instance_list *out) {
    struct instance *instance = instance_add(out, metric, level);
    js_set_string(instance->where, "gpu", gpu->uuid);
    js_set_string(instance->attributes, "bdf", gpu->bdf);
    launch_set_clock(gpu, instance);
    instance->cpu = topology_pin_cpu(node->topology, topology_device_node(node->topology, gpu->bdf));
    return instance;
}

void launch_set_after(struct instance *instance, int64_t idle_us) {
    js_set_string(instance->params, "after", idle_us > 0 ? "idle" : "busy");
    js_set_int(instance->params, "idle_us", idle_us);
}

void launch_set_wait(const struct node *node, struct instance *instance, enum gpu_wait how) {
    js_set_string(instance->params, "wait", waits[how]);
    host_mark(node, instance);
}

enum gpu_wait launch_wait(const struct case_context *context) {
    int how = LAUNCH_WAITS - 1;
    while (how > 0 && strcmp(case_text(context, "wait"), waits[how]) != 0)
        how--;
    return (enum gpu_wait)how;
}

enum level launch_level(bool first_of_node, enum gpu_wait how, bool idle) {
    if (!first_of_node)
        return how == GPU_WAIT_SPIN && !idle ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH;
    return how == (idle ? GPU_WAIT_BLOCK : GPU_WAIT_SPIN) ? LEVEL_PRIMARY : LEVEL_DESCRIPTIVE;
}

bool launch_bench_make(struct launch_bench *b, struct error *err) {
    void *words = NULL;
    bool good = gpu_stream_make(&b->stream, err) && gpu_event_make(true, &b->sleeping, err) &&
                gpu_event_make_timed(&b->start, err) && gpu_event_make_timed(&b->stop, err) &&
                gpu_gate_make(&b->gate, err) && gpu_host_alloc(sizeof *b->words, &words, err);
    b->words = words;
    if (good)
        memset(words, 0, sizeof *b->words);
    return good || RELAY(err);
}

void launch_bench_free(struct launch_bench *b) {
    struct error ignored = {0};
    gpu_gate_free(b->gate);
    if (b->stream != NULL)
        gpu_stream_wait(b->stream, &ignored); /* a delay that still runs writes to the words */
    gpu_host_free(b->words);
    gpu_event_free(b->sleeping);
    gpu_event_free(b->start);
    gpu_event_free(b->stop);
    gpu_stream_free(b->stream);
    *b = (struct launch_bench){0};
}

void launch_rest(int64_t us) {
    host_sleep_until(host_monotonic() + us * NS_PER_US);
}

bool launch_delay(struct launch_bench *b, int64_t ns, bool report, struct error *err) {
    b->delays++;
    return gpu_check(delay_launch(b->words, b->delays, (uint64_t)ns, report, b->stream),
                     "cannot launch a delay of known length", err) ||
           RELAY(err);
}

bool launch_gated(struct launch_bench *b, gpu_queue_fn *queue, void *arg, double *seconds,
                  struct error *err) {
    bool queued = gpu_gate_close(b->gate, b->stream, GPU_GATE_LIMIT_NS, err) &&
                  gpu_event_record(b->start, b->stream, err) && queue(arg, b->stream, err) &&
                  gpu_event_record(b->stop, b->stream, err);
    gpu_gate_open(b->gate); /* also after a failure: the stream must come free */
    return (queued && gpu_stream_wait(b->stream, err) && gpu_gate_held(b->gate, err) &&
            gpu_event_elapsed(b->start, b->stop, seconds, err)) ||
           RELAY(err);
}

/* The SM clock over a millisecond in which the GPU works. */
static bool read_clock(struct launch_bench *b, double *mhz, struct error *err) {
    if (!launch_delay(b, WAKE_DELAY_NS, true, err) || !gpu_stream_wait(b->stream, err))
        return RELAY(err);
    *mhz = b->words->ns > 0 ? (double)b->words->cycles * 1e3 / (double)b->words->ns : 0;
    return true;
}

/* True also where the highest clock is not known. */
static bool fast_enough(const struct case_context *context, double mhz) {
    return !(mhz < awake_share * js_get_number(context->attributes, "sm_clock_max_mhz", 0));
}

bool launch_wake(struct case_context *context, struct launch_bench *b, struct error *err) {
    double last = NAN;
    bool stands = false;
    for (int i = 0; i < WAKE_MAX && !(stands && i >= WAKE_MIN && fast_enough(context, b->mhz)); i++) {
        if (!read_clock(b, &b->mhz, err))
            return RELAY(err);
        stands = fabs(b->mhz - last) <= steady * last;
        last = b->mhz;
    }
    js_set_number(context->extra, "sm_mhz_before", b->mhz);
    if (!stands)
        js_append_string(context->flags, "not-steady");
    return true;
}

bool launch_still_awake(struct case_context *context, struct launch_bench *b, struct error *err) {
    double mhz = 0;
    if (!read_clock(b, &mhz, err))
        return RELAY(err);
    js_set_number(context->extra, "sm_mhz_after", mhz);
    if (!fast_enough(context, b->mhz) || !fast_enough(context, mhz))
        js_append_string(context->flags, "gpu-not-awake");
    else if (fabs(mhz - b->mhz) > moved * b->mhz)
        js_append_string(context->flags, "sm-clock-moved");
    return true;
}

bool launch_enough(struct case_context *context, size_t count, int dropped, struct error *err) {
    bool guest = js_get(context->attributes, "guest") != NULL;
    size_t wanted = (size_t)context->wanted_samples;
    if (count >= wanted)
        return true;
    if (guest && count > 0 && 4 * count >= wanted) {
        js_append_string(context->flags, "start-seen-late");
        return true;
    }
    return FAIL(err, guest ? ERROR_ABSENT : ERROR_SYSTEM,
                "the core is held up too often: %d of %d beginnings were seen late", dropped,
                (int)count + dropped);
}

bool launch_sample(struct case_context *context, launch_samples_fn *take, struct samples *out,
                   struct error *err) {
    struct launch_bench b = {0};
    bool good = launch_bench_make(&b, err) && launch_wake(context, &b, err) && take(context, &b, out, err) &&
                launch_still_awake(context, &b, err);
    launch_bench_free(&b);
    return good || RELAY(err);
}
