/* SPDX-License-Identifier: Apache-2.0 */
/* One item of a collective: data, warm-up, the two ways of timing, verification. */
#include "bench/nccl_common.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bench/nccl_set.h"
#include "kernels/corrupt.h"
#include "stats/robust.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operations to warm up: as nccl-tests 5; more where the host's part counts, fewer where one takes long. */
enum { SMALL_WARM_UP = 25, WARM_UP = 5, LARGE_WARM_UP = 2, MIN_BYTES = 16384 + 256 };
static const double spread_most = 0.005;

struct state {
    struct nccl_set *set;
    struct nccl_shape shape;
    enum nccl_metric metric;
    size_t stride; /* bytes from window to window */
    int windows;
    int touched; /* windows that the timed operations used, from the first on */
    uint32_t seed;
    bool gather; /* threads start as nccl-tests' do */
    bool narrow; /* samples are taken until the interval of their median is */
    int samples, loop;
    _Atomic int taken; /* samples, `samples` at most */
    double *seconds;   /* one row of `samples` a rank: of one operation */
    struct gpu_clock_probe *probe;
};

/* ---- preparing ---- */

static enum nccl_metric metric_of(const struct case_context *context) {
    for (int m = 0; m < NCCL_METRICS; m++)
        if (strcmp(context->metric, nccl_metrics[m].name) == 0)
            return (enum nccl_metric)m;
    return NCCL_TIME;
}

static bool wants_narrow(const struct state *s) {
    return s->metric != NCCL_CALL && s->shape.bytes >= NCCL_NARROW_FROM;
}

static bool plan(struct case_context *context, enum nccl_op op, struct state *s, struct error *err) {
    enum nccl_type type = NCCL_FLOAT;
    int64_t bytes = case_number(context, "bytes");
    if (!nccl_type_of(case_text(context, "dtype"), &type) || bytes <= 0)
        return FAIL(err, ERROR_DATA, "no such data type, or no bytes");
    bool in_place = strcmp(case_text(context, "place"), "in") == 0;
    if (!nccl_shape_make(op, context->n_gpus, type, (size_t)bytes, in_place, &s->shape))
        return FAIL(err, ERROR_DATA, "%s has no such form", nccl_op_name(op));
    s->shape.root = (int)case_number(context, "root");
    if (s->shape.root < 0 || s->shape.root >= s->shape.ranks)
        return FAIL(err, ERROR_DATA, "the root is none of the ranks");
    s->metric = metric_of(context);
    s->stride = nccl_stride(&s->shape);
    s->seed = pattern_seed(context->seed, 0);
    s->samples = context->wanted_samples;
    s->loop = s->metric == NCCL_CALL ? 1 : context->operations;
    s->loop = s->loop < 1 ? 1 : s->loop;
    s->windows = nccl_windows(&s->shape, s->loop);
    s->narrow = wants_narrow(s);
    s->gather = strcmp(js_get_string(context->attributes, "start", ""), "signal") == 0;
    return true;
}

bool nccl_prepare(struct case_context *context, enum nccl_op op, struct error *err) {
    struct state *s = mem_zeroed(1, sizeof *s);
    struct nccl_set_options options = {.absent_rank = -1};
    context->state = s;
    if (!plan(context, op, s, err) || !nccl_set_get(context, &options, &s->set, err))
        return RELAY(err);
    size_t room = s->stride * (size_t)s->windows;
    s->seconds = mem_zeroed((size_t)s->samples * (size_t)s->set->n, sizeof *s->seconds);
    js_set_int(context->extra, "windows", s->windows);
    return (nccl_set_room(context, s->set, room < MIN_BYTES ? MIN_BYTES : room, err) &&
            gpu_clock_probe_make(&s->probe, err)) ||
           RELAY(err);
}

/* ---- in a rank's thread ---- */

static uint64_t first_of(const struct state *s, int window) {
    return (uint64_t)window * (s->stride / s->shape.element);
}

static char *receive_at(const struct state *s, const struct nccl_rank *rank, int window) {
    return rank->receive + (size_t)window * s->stride +
           nccl_receive_offset(&s->shape, rank->rank) * s->shape.element;
}

static char *send_at(const struct state *s, const struct nccl_rank *rank, int window) {
    char *buffer = s->shape.in_place ? rank->receive : rank->send;
    return buffer + (size_t)window * s->stride + nccl_send_offset(&s->shape, rank->rank) * s->shape.element;
}

static bool fill(const struct state *s, struct nccl_rank *rank, int windows, struct error *err) {
    for (int w = 0; w < windows; w++) {
        struct collective_data data;
        nccl_give(&s->shape, rank->rank, first_of(s, w), s->seed, &data);
        if (!gpu_check(collective_fill_device(send_at(s, rank, w), s->shape.sent, &data, rank->stream),
                       "cannot fill a buffer", err))
            return RELAY(err);
    }
    return gpu_stream_wait(rank->stream, err) || RELAY(err);
}

static bool issue(const struct state *s, struct nccl_rank *rank, int window, struct error *err) {
    rank->stage = NCCL_ISSUING;
    return nccl_issue(rank->set->nccl, &s->shape, rank->rank, send_at(s, rank, window),
                      receive_at(s, rank, window), rank->comm, rank->stream, err) ||
           RELAY(err);
}

static bool issue_many(const struct state *s, struct nccl_rank *rank, int count, int *window,
                       struct error *err) {
    for (int i = 0; i < count; i++) {
        if (!issue(s, rank, *window, err))
            return RELAY(err);
        *window = *window + 1 < s->windows ? *window + 1 : 0;
    }
    return true;
}

/* The first operation makes the connections; the thread takes its core after it. */
static bool warm_up(const struct state *s, struct nccl_rank *rank, struct error *err) {
    int window = 0;
    if (!fill(s, rank, s->windows, err) || !issue_many(s, rank, 1, &window, err) || !nccl_wait(rank, err))
        return RELAY(err);
    nccl_settle(rank);
    /* What is short is bound by the host, whose first calls after a pause are slow. */
    int more = (s->shape.bytes < NCCL_NARROW_FROM ? SMALL_WARM_UP
                : s->windows < WARM_UP            ? LARGE_WARM_UP
                                                  : WARM_UP) -
               1;
    return (issue_many(s, rank, more, &window, err) && nccl_wait(rank, err)) || RELAY(err);
}

/* Every bit of what will arrive is turned on: not a number, and no value of ours. */
static bool poison(const struct state *s, struct nccl_rank *rank, struct error *err) {
    if (s->shape.in_place)
        return true; /* the destination is the source: it is filled anew instead, for a last operation */
    return gpu_memset(rank->receive, 0xff, s->stride * (size_t)s->windows, err) || RELAY(err);
}

static bool time_loop(const struct state *s, struct nccl_rank *rank, int *window, double *seconds,
                      struct error *err) {
    if (!(s->gather ? nccl_gather(rank, err) : nccl_barrier(rank, err)))
        return RELAY(err);
    int64_t start = clock_raw();
    if (!issue_many(s, rank, s->loop, window, err) || !nccl_wait(rank, err))
        return RELAY(err);
    *seconds = (double)(clock_raw() - start) / 1e9 / s->loop;
    return true;
}

static bool time_call(const struct state *s, struct nccl_rank *rank, int *window, double *seconds,
                      struct error *err) {
    if (!nccl_barrier(rank, err))
        return RELAY(err);
    int64_t start = clock_raw();
    if (!issue_many(s, rank, 1, window, err))
        return RELAY(err);
    rank->stage = NCCL_WAITING;
    if (!gpu_stream_wait(rank->stream, err))
        return RELAY(err);
    *seconds = (double)(clock_raw() - start) / 1e9;
    return true;
}

/* The SM clock of the first rank, read outside the timed part. */
static bool probe_clock(const struct state *s, struct nccl_rank *rank, int which, struct error *err) {
    if (rank->rank != 0)
        return true;
    return (gpu_clock_probe_read(s->probe, rank->stream, which, err) && gpu_stream_wait(rank->stream, err)) ||
           RELAY(err);
}

/* In place every operation changed its own input: one more on fresh data is what gets checked. */
static bool once_more(const struct state *s, struct nccl_rank *rank, struct error *err) {
    int window = 0;
    if (!s->shape.in_place)
        return true;
    return (nccl_barrier(rank, err) && fill(s, rank, 1, err) && nccl_barrier(rank, err) &&
            issue_many(s, rank, 1, &window, err) && nccl_wait(rank, err)) ||
           RELAY(err);
}

/* Over the ranks: nccl-tests' mean for what runs in a row; the slowest for one call, which everybody waits
 * for. */
static double over_ranks(const struct state *s, int sample) {
    double sum = 0, most = 0;
    for (int r = 0; r < s->set->n; r++) {
        double one = s->seconds[(size_t)r * (size_t)s->samples + (size_t)sample];
        sum += one;
        most = fmax(most, one);
    }
    return s->metric == NCCL_CALL ? most : sum / s->set->n;
}

/* Of the first `taken` samples: how wide the 95 % interval of their median is, as a share of it. NAN: too
 * few. */
static double width_of(const struct state *s, int taken) {
    double *seconds = mem_zeroed((size_t)taken, sizeof *seconds);
    double low = NAN, high = NAN;
    for (int i = 0; i < taken; i++)
        seconds[i] = over_ranks(s, i);
    stats_median_interval(seconds, (size_t)taken, &low, &high);
    double width = (high - low) / stats_median(seconds, (size_t)taken);
    free(seconds);
    return width;
}

/* Samples are taken until the interval is narrow, within what was asked for. All ranks have the same samples
 * before them once all have come, so that all decide alike. */
static bool is_enough(const struct state *s, struct nccl_rank *rank, int taken, bool *enough,
                      struct error *err) {
    *enough = taken >= s->samples;
    if (*enough || taken < NCCL_LEAST_SAMPLES || !s->narrow)
        return true;
    if (!nccl_barrier(rank, err))
        return RELAY(err);
    *enough = width_of(s, taken) <= spread_most;
    return true;
}

static bool measure(struct nccl_rank *rank, void *arg, struct error *err) {
    struct state *s = arg;
    double *seconds = s->seconds + (size_t)rank->rank * (size_t)s->samples;
    bool call = s->metric == NCCL_CALL, enough = s->samples < 1;
    int window = 0, taken = 0;
    rank->stage = NCCL_PREPARING;
    if (!warm_up(s, rank, err) || !nccl_barrier(rank, err) || !poison(s, rank, err) ||
        !probe_clock(s, rank, 0, err))
        return RELAY(err);
    while (!enough) {
        if (!(call ? time_call(s, rank, &window, &seconds[taken], err)
                   : time_loop(s, rank, &window, &seconds[taken], err)) ||
            !is_enough(s, rank, ++taken, &enough, err))
            return RELAY(err);
    }
    s->taken = taken; /* the same number by each */
    return (probe_clock(s, rank, 1, err) && once_more(s, rank, err)) || RELAY(err);
}

/* ---- results ---- */

static void tell_rates(struct case_context *context, const struct state *s, const double *seconds) {
    double middle = stats_median(seconds, (size_t)s->taken);
    double algbw = nccl_algbw(&s->shape, middle);
    js_set_number(context->extra, "time_us", middle * 1e6);
    js_set_number(context->extra, "algbw", algbw);
    js_set_number(context->extra, "busbw", algbw * nccl_busbw_factor(s->shape.op, s->shape.ranks));
}

static void tell_spread(struct case_context *context, const struct state *s) {
    double width = s->narrow ? width_of(s, s->taken) : NAN;
    if (isfinite(width))
        js_set_number(context->extra, "median_interval", width);
    if (s->narrow && !(width <= spread_most))
        js_append_string(context->flags, "spread");
}

bool nccl_sample(struct case_context *context, struct samples *out, struct error *err) {
    struct state *s = context->state;
    if (!nccl_set_run(context, s->set, measure, s, err)) {
        nccl_set_drop(context, s->set, true);
        s->set = NULL;
        return RELAY(err);
    }
    int taken = s->taken;
    double *seconds = mem_zeroed((size_t)taken, sizeof *seconds);
    double factor = nccl_busbw_factor(s->shape.op, s->shape.ranks);
    s->touched = s->windows < s->loop * taken ? s->windows : s->loop * taken;
    for (int i = 0; i < taken; i++) {
        seconds[i] = over_ranks(s, i);
        double algbw = nccl_algbw(&s->shape, seconds[i]);
        samples_add(out, s->metric == NCCL_ALGBW   ? algbw
                         : s->metric == NCCL_BUSBW ? algbw * factor
                                                   : seconds[i] * 1e6);
    }
    js_append_number(context->sm_mhz, gpu_clock_probe_mhz(s->probe));
    tell_rates(context, s, seconds);
    tell_spread(context, s);
    free(seconds);
    return true;
}

/* ---- verification ---- */

static bool damage(struct case_context *context, const struct state *s, struct error *err) {
    const struct nccl_rank *rank = &s->set->ranks[s->shape.op == NCCL_REDUCE ? s->shape.root : s->set->n - 1];
    size_t count = 0;
    struct collective_data data;
    nccl_expect(&s->shape, rank->rank, 0, s->seed, &data, &count);
    size_t blocks = count * s->shape.element / CORRUPT_WORD_BYTES;
    if (strcmp(case_text(context, "corrupt"), "word") != 0)
        return true;
    uint64_t offset = blocks > 0 ? context->seed % blocks * CORRUPT_WORD_BYTES : 0;
    js_set_int(context->extra, "corrupted_at", (int64_t)offset);
    return (gpu_use(&rank->device, err) &&
            gpu_check(corrupt_word_device(receive_at(s, rank, 0), offset, rank->stream),
                      "cannot damage the data", err) &&
            gpu_stream_wait(rank->stream, err)) ||
           RELAY(err);
}

static bool check_window(const struct state *s, struct nccl_rank *rank, int window, struct verification *out,
                         struct error *err) {
    struct collective_fault fault;
    struct collective_data data;
    size_t count = 0;
    nccl_expect(&s->shape, rank->rank, first_of(s, window), s->seed, &data, &count);
    if (!gpu_check(collective_check_device(receive_at(s, rank, window), count, &data, &fault, rank->stream),
                   "cannot check a buffer", err))
        return RELAY(err);
    out->checked_bytes += count * s->shape.element;
    if (out->bad == 0 && fault.bad > 0) {
        snprintf(out->what, sizeof out->what, "result at rank %d (%.40s)", rank->rank, rank->device.bdf);
        out->first_bad_offset = (uint64_t)window * s->stride + fault.first_offset;
        out->expected = fault.expected;
        out->found = fault.found;
    }
    out->bad += fault.bad;
    return true;
}

bool nccl_verify(struct case_context *context, struct verification *out, struct error *err) {
    struct state *s = context->state;
    int windows = s->shape.in_place ? 1 : s->touched;
    snprintf(out->what, sizeof out->what, "results at all ranks");
    if (!damage(context, s, err))
        return RELAY(err);
    for (int r = 0; r < s->set->n; r++) {
        struct nccl_rank *rank = &s->set->ranks[r];
        if (!gpu_use(&rank->device, err))
            return RELAY(err);
        for (int w = 0; w < windows; w++)
            if (!check_window(s, rank, w, out, err))
                return error_context(err, "rank %d", r);
    }
    return gpu_use(&s->set->ranks[0].device, err) || RELAY(err);
}

void nccl_finish(struct case_context *context) {
    struct state *s = context->state;
    if (s == NULL)
        return;
    gpu_clock_probe_free(s->probe);
    free(s->seconds);
    free(s);
    context->state = NULL;
}
