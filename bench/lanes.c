/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lanes.h"

#include "base/clock.h"
#include "base/mem.h"
#include "run/link_look.h"
#include "run/steady.h"

#include <math.h>
#include <stdlib.h>

enum { WARM_MIN_BATCHES = 3, WARM_MAX_BATCHES = 8 };
static const int64_t warm_limit_ns = NS_PER_S;
/* Wider than for one stream alone: lanes that share a link never take quite the same time twice. */
static const double warm_tolerance = 0.03;

struct lane {
    int host; /* index of its GPU's holder */
    gpu_stream stream;
    gpu_event start, stop, end;
};

/* What a GPU needs once: the stream of the gate kernel, and of the clock probes. */
struct holder {
    struct gpu_device device;
    gpu_stream stream;
    gpu_event released;
    struct gpu_clock_probe *probe;
};

struct lanes {
    struct lane *lanes;
    int n;
    struct holder *holders;
    int n_holders;
    struct gpu_gate *gate;
};

static bool use(const struct lanes *l, int holder, struct error *err) {
    return gpu_use(&l->holders[holder].device, err) || RELAY(err);
}

static bool use_first(const struct lanes *l, struct error *err) {
    return use(l, l->lanes[0].host, err) || RELAY(err);
}

/* ---- making ---- */

static bool find_holder(struct lanes *l, const struct gpu_device *device, int *out, struct error *err) {
    for (*out = 0; *out < l->n_holders; (*out)++)
        if (l->holders[*out].device.ordinal == device->ordinal)
            return use(l, *out, err);
    struct holder *h = &l->holders[l->n_holders++];
    h->device = *device;
    return gpu_use(device, err) && gpu_stream_make(&h->stream, err) &&
           gpu_event_make(false, &h->released, err) && gpu_clock_probe_make(&h->probe, err);
}

static bool make_lane(struct lanes *l, int i, const struct gpu_device *device, struct error *err) {
    struct lane *lane = &l->lanes[i];
    return find_holder(l, device, &lane->host, err) && gpu_stream_make(&lane->stream, err) &&
           gpu_event_make_timed(&lane->start, err) && gpu_event_make_timed(&lane->stop, err) &&
           gpu_event_make_timed(&lane->end, err);
}

bool lanes_make(int n, const struct gpu_device *const *devices, struct lanes **out, struct error *err) {
    *out = NULL;
    if (n < 1 || n > LANES_MAX)
        return FAIL(err, ERROR_DATA, "%d lanes: 1 to %d can be", n, LANES_MAX);
    struct lanes *l = mem_zeroed(1, sizeof *l);
    l->lanes = mem_zeroed((size_t)n, sizeof *l->lanes);
    l->holders = mem_zeroed((size_t)n, sizeof *l->holders);
    l->n = n;
    bool good = true;
    for (int i = 0; good && i < n; i++)
        good = make_lane(l, i, devices[i], err);
    if (good && use_first(l, err) && gpu_gate_make(&l->gate, err)) {
        *out = l;
        return true;
    }
    lanes_free(l);
    return RELAY(err);
}

static void free_lane(struct lane *lane) {
    struct error ignored = {0};
    if (lane->stream != NULL)
        gpu_stream_wait(lane->stream, &ignored); /* what it works on is about to be released */
    gpu_event_free(lane->start);
    gpu_event_free(lane->stop);
    gpu_event_free(lane->end);
    gpu_stream_free(lane->stream);
}

void lanes_free(struct lanes *l) {
    struct error ignored = {0};
    if (l == NULL)
        return;
    if (l->gate != NULL)
        gpu_gate_open(l->gate);
    for (int i = 0; i < l->n; i++)
        free_lane(&l->lanes[i]);
    for (int i = 0; i < l->n_holders; i++) {
        if (l->holders[i].stream != NULL)
            gpu_stream_wait(l->holders[i].stream, &ignored);
        gpu_clock_probe_free(l->holders[i].probe);
        gpu_event_free(l->holders[i].released);
        gpu_stream_free(l->holders[i].stream);
    }
    gpu_gate_free(l->gate);
    if (l->n_holders > 0)
        use_first(l, &ignored);
    free(l->lanes);
    free(l->holders);
    free(l);
}

/* ---- one sample ---- */

static bool check_loads(const struct lanes *l, const struct lane_load *loads, struct error *err) {
    for (int i = 0; i < l->n; i++)
        if (loads[i].timed < 0 || loads[i].total < 1 || loads[i].timed > loads[i].total ||
            loads[i].total > GPU_GATE_MAX_OPERATIONS)
            return FAIL(err, ERROR_DATA, "lane %d: %d of %d operations timed; at most %d can be queued", i,
                        loads[i].timed, loads[i].total, GPU_GATE_MAX_OPERATIONS);
    return true;
}

static bool close_gates(struct lanes *l, struct error *err) {
    for (int i = 0; i < l->n_holders; i++) {
        struct holder *h = &l->holders[i];
        bool good = use(l, i, err) &&
                    (i == 0 ? gpu_gate_close(l->gate, h->stream, GPU_GATE_LIMIT_NS, err)
                            : gpu_gate_join(l->gate, h->stream, err)) &&
                    gpu_clock_probe_read(h->probe, h->stream, 0, err) &&
                    gpu_event_record(h->released, h->stream, err);
        if (!good)
            return RELAY(err);
    }
    return true;
}

/* The lane's events around its operations; with `gated`, behind the gate of its GPU. */
static bool queue_lane(struct lanes *l, int i, struct lane_load load, bool gated, lanes_queue_fn *queue,
                       void *arg, struct error *err) {
    struct lane *lane = &l->lanes[i];
    int after = load.total - load.timed;
    return use(l, lane->host, err) &&
           (!gated || gpu_stream_wait_event(lane->stream, l->holders[lane->host].released, err)) &&
           gpu_event_record(lane->start, lane->stream, err) &&
           (load.timed == 0 || queue(arg, i, lane->stream, load.timed, err)) &&
           gpu_event_record(lane->stop, lane->stream, err) &&
           (after == 0 || queue(arg, i, lane->stream, after, err)) &&
           gpu_event_record(lane->end, lane->stream, err);
}

/* The second clock reading comes when all lanes of the GPU are through. */
static bool close_probes(struct lanes *l, struct error *err) {
    for (int i = 0; i < l->n; i++)
        if (!gpu_stream_wait_event(l->holders[l->lanes[i].host].stream, l->lanes[i].end, err))
            return RELAY(err);
    for (int i = 0; i < l->n_holders; i++)
        if (!use(l, i, err) || !gpu_clock_probe_read(l->holders[i].probe, l->holders[i].stream, 1, err))
            return RELAY(err);
    return true;
}

static bool wait_for_all(struct lanes *l, struct error *err) {
    for (int i = 0; i < l->n; i++)
        if (!gpu_stream_wait(l->lanes[i].stream, err))
            return RELAY(err);
    for (int i = 0; i < l->n_holders; i++)
        if (!gpu_stream_wait(l->holders[i].stream, err))
            return RELAY(err);
    return true;
}

static bool read_times(const struct lanes *l, const struct lane_load *loads, struct lane_time *times,
                       struct error *err) {
    for (int i = 0; i < l->n; i++) {
        const struct lane *lane = &l->lanes[i];
        if (!use(l, lane->host, err) || !gpu_event_elapsed(lane->start, lane->stop, &times[i].seconds, err) ||
            !gpu_event_elapsed(lane->start, lane->end, &times[i].whole, err))
            return RELAY(err);
        if (loads[i].timed == 0)
            times[i].seconds = 0;
        else if (!(times[i].seconds > 0))
            return FAIL(err, ERROR_DATA, "lane %d took no time at all", i);
    }
    return true;
}

bool lanes_run(struct lanes *l, const struct lane_load *loads, lanes_queue_fn *queue, void *arg,
               struct lane_time *times, struct error *err) {
    if (!check_loads(l, loads, err))
        return RELAY(err);
    bool queued = close_gates(l, err);
    for (int i = 0; queued && i < l->n; i++)
        queued = queue_lane(l, i, loads[i], true, queue, arg, err);
    queued = queued && close_probes(l, err);
    gpu_gate_open(l->gate); /* also after a failure: the streams must come free */
    return queued && wait_for_all(l, err) && gpu_gate_held(l->gate, err) &&
           read_times(l, loads, times, err) && use_first(l, err);
}

double lanes_mhz(const struct lanes *l) {
    double least = -1;
    for (int i = 0; i < l->n_holders; i++) {
        double mhz = gpu_clock_probe_mhz(l->holders[i].probe);
        if (mhz > 0 && (least < 0 || mhz < least))
            least = mhz;
    }
    return least;
}

/* ---- a case's samples ---- */

/* Seconds of the slowest lane, ungated: warming up must not depend on what may synchronise by itself. */
static bool run_batch(struct lanes *l, const struct lanes_work *work, struct case_context *context,
                      double *seconds, struct error *err) {
    for (int i = 0; i < l->n; i++) {
        int count = work->loads[i].total > 4 ? work->loads[i].total / 4 : 1;
        struct lane_load load = {.timed = count, .total = count};
        if (!queue_lane(l, i, load, false, work->queue, work->arg, err))
            return RELAY(err);
    }
    if (!work->links_idle)
        link_look(context, l->lanes[l->n - 1].stream);
    *seconds = 0;
    for (int i = 0; i < l->n; i++) {
        const struct lane *lane = &l->lanes[i];
        double its = 0;
        if (!use(l, lane->host, err) || !gpu_stream_wait(lane->stream, err) ||
            !gpu_event_elapsed(lane->start, lane->end, &its, err))
            return RELAY(err);
        *seconds = fmax(*seconds, its);
    }
    return true;
}

bool lanes_warm_up(struct lanes *l, const struct lanes_work *work, struct case_context *context,
                   struct error *err) {
    int64_t end = clock_raw() + warm_limit_ns;
    struct steady steady = {.tolerance = warm_tolerance};
    bool good = check_loads(l, work->loads, err);
    bool stands = false;
    for (int i = 0; good && !stands && i < WARM_MAX_BATCHES && (clock_raw() < end || i < WARM_MIN_BATCHES);
         i++) {
        double seconds = 0;
        good = run_batch(l, work, context, &seconds, err);
        stands = good && steady_agrees(&steady, seconds, 0, context->links) && i + 1 >= WARM_MIN_BATCHES;
    }
    steady_free(&steady);
    if (good && !stands)
        js_append_string(context->flags, "not-steady");
    return (good && use_first(l, err)) || RELAY(err);
}

bool lanes_overlapped(const struct lane_load *loads, const struct lane_time *times, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (j != i && loads[i].total > loads[i].timed && loads[j].timed > 0 &&
                times[i].whole < times[j].seconds)
                return false;
    return true;
}

bool lanes_sample(struct lanes *l, const struct lanes_work *work, struct case_context *context,
                  struct samples *out, struct error *err) {
    struct lane_time *times = mem_zeroed((size_t)l->n, sizeof *times);
    bool overlapped = true;
    bool good = lanes_warm_up(l, work, context, err) && (work->poison == NULL || work->poison(context, err));
    for (int i = 0; good && i < context->wanted_samples; i++) {
        good = lanes_run(l, work->loads, work->queue, work->arg, times, err);
        if (!good)
            break;
        samples_add(out, work->value(work->arg, times));
        js_append_number(context->sm_mhz, lanes_mhz(l));
        overlapped = overlapped && lanes_overlapped(work->loads, times, l->n);
    }
    if (!overlapped)
        js_append_string(context->flags, "load-ended-early");
    free(times);
    return good;
}
