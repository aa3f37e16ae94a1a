/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of the cases that copy between GPUs. */
#include "base/clock.h"
#include "base/mem.h"
#include "bench/lanes.h"
#include "bench/p2p_common.h"
#include "bench/peer_pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Four lanes of 52 GB/s that collapse still carry 28 together; a shared link that is filled carries all of
 * one. */
static const double collapse_share = 0.7;

struct state {
    int n;
    struct p2p_lane plan[LANES_MAX];
    struct lane_load loads[LANES_MAX];
    struct peer_pair *pairs;
    struct lanes *lanes;
    bool warming;     /* parts instead of whole copies */
    js **figures;     /* a lane's own samples; NULL: not measured */
    double *isolated; /* each lane alone; NULL: not asked for */
    double last;      /* total of the last sample */
};

/* ---- which lanes ---- */

static int plan_listed(const struct case_context *context, const js *list, struct p2p_lane *out, int room) {
    int n = (int)js_length(list);
    if (n < 1 || (size_t)n != js_length(list) || n > room)
        return -1;
    for (int i = 0; i < n; i++) {
        int64_t from = js_int(js_at(js_at(list, (size_t)i), 0), -1);
        int64_t to = js_int(js_at(js_at(list, (size_t)i), 1), -1);
        if (from < 0 || to < 0 || from >= context->n_gpus || to >= context->n_gpus || from == to)
            return -1;
        out[i] = (struct p2p_lane){(int)from, (int)to, context->operations, 2 * context->operations};
    }
    return n;
}

int p2p_lanes_plan(const struct case_context *context, struct p2p_lane *out, int room) {
    const char *direction = case_text(context, "direction");
    const js *list = js_get(context->attributes, "lanes");
    int operations = context->operations;
    if (list != NULL)
        return plan_listed(context, list, out, room);
    if (context->n_gpus != 2 || room < 2)
        return -1;
    bool both = strcmp(direction, "both") == 0;
    out[0] = (struct p2p_lane){0, 1, operations, both ? 2 * operations : operations};
    out[1] = (struct p2p_lane){1, 0, both ? operations : 0, 2 * operations};
    return direction[0] == '\0' ? 1 : 2;
}

/* ---- making ---- */

static struct state *make_state(const struct case_context *context, int n, const struct p2p_lane *plan) {
    struct state *s = mem_zeroed(1, sizeof *s);
    s->n = n;
    s->pairs = mem_zeroed((size_t)n, sizeof *s->pairs);
    s->figures = mem_zeroed((size_t)n, sizeof *s->figures);
    if (js_get(context->attributes, "lanes") != NULL)
        s->isolated = mem_zeroed((size_t)n, sizeof *s->isolated);
    for (int i = 0; i < n; i++) {
        s->plan[i] = plan[i];
        s->loads[i] = (struct lane_load){.timed = plan[i].timed, .total = plan[i].total};
        s->figures[i] = plan[i].timed > 0 ? js_new_array() : NULL;
        peer_pair_plan(&s->pairs[i], context, &context->gpus[plan[i].from], &context->gpus[plan[i].to], i);
    }
    return s;
}

bool p2p_prepare(struct case_context *context, struct error *err) {
    struct p2p_lane plan[LANES_MAX];
    const struct gpu_device *devices[LANES_MAX];
    int n = p2p_lanes_plan(context, plan, LANES_MAX);
    if (n < 1 || context->operations < 1 || 2 * context->operations > GPU_GATE_MAX_OPERATIONS)
        return FAIL(err, ERROR_DATA, "no lanes, or more than can be, between these GPUs");
    struct state *s = make_state(context, n, plan);
    context->state = s;
    bool good = true;
    for (int i = 0; good && i < n; i++) {
        devices[i] = peer_pair_initiator(&s->pairs[i]);
        good = peer_pair_make(&s->pairs[i], context, err);
    }
    if (good && s->pairs[0].direct)
        good = lanes_make(n, devices, &s->lanes, err);
    return good || RELAY(err);
}

/* ---- sampling ---- */

static bool poison(struct case_context *context, struct error *err) {
    struct state *s = context->state;
    for (int i = 0; i < s->n; i++)
        if (!peer_pair_poison(&s->pairs[i], err))
            return RELAY(err);
    return true;
}

static bool queue(void *arg, int lane, gpu_stream stream, int count, struct error *err) {
    struct state *s = arg;
    return (s->warming ? peer_pair_enqueue_part(&s->pairs[lane], stream, count, err)
                       : peer_pair_enqueue(&s->pairs[lane], stream, count, err)) ||
           RELAY(err);
}

static double value(struct state *s, const struct lane_time *times) {
    double total = 0;
    for (int i = 0; i < s->n; i++) {
        if (s->loads[i].timed == 0)
            continue;
        double its = (double)s->pairs[i].bytes * s->loads[i].timed / times[i].seconds / 1e9;
        js_append_number(s->figures[i], its);
        total += its;
    }
    return total;
}

/* One lane alone, ungated: its copies last milliseconds, beside which their launch does not count. */
static bool time_alone(struct state *s, int lane, gpu_stream stream, gpu_event start, gpu_event stop,
                       struct error *err) {
    struct peer_pair *p = &s->pairs[lane];
    int count = s->loads[lane].timed;
    double seconds = 0;
    bool good = peer_pair_enqueue_part(p, stream, 1, err) && gpu_event_record(start, stream, err) &&
                peer_pair_enqueue(p, stream, count, err) && gpu_event_record(stop, stream, err) &&
                gpu_stream_wait(stream, err) && gpu_event_elapsed(start, stop, &seconds, err);
    if (good && seconds > 0)
        s->isolated[lane] = (double)p->bytes * count / seconds / 1e9;
    return good;
}

static bool measure_isolated(struct state *s, struct error *err) {
    bool good = true;
    for (int i = 0; good && i < s->n; i++) {
        gpu_stream stream = NULL;
        gpu_event start = NULL, stop = NULL;
        good = gpu_use(peer_pair_initiator(&s->pairs[i]), err) && gpu_stream_make(&stream, err) &&
               gpu_event_make_timed(&start, err) && gpu_event_make_timed(&stop, err) &&
               time_alone(s, i, stream, start, stop, err);
        gpu_event_free(stop);
        gpu_event_free(start);
        gpu_stream_free(stream);
    }
    return good;
}

static void tell_lanes(const struct state *s, struct case_context *context) {
    js *list = js_new_array();
    for (int i = 0; i < s->n; i++) {
        if (s->figures[i] == NULL)
            continue;
        js *lane = js_new_object();
        js_set_string(lane, "from", s->pairs[i].from->bdf);
        js_set_string(lane, "to", s->pairs[i].to->bdf);
        js_set(lane, "bandwidth", js_keep(s->figures[i]));
        if (s->isolated != NULL)
            js_set_number(lane, "isolated", s->isolated[i]);
        js_append(list, lane);
    }
    if (js_length(list) > 1)
        js_set(context->extra, "lanes", js_keep(list));
    js_free(list);
}

bool p2p_collapsed(double total, const double *isolated, int n) {
    double best = 0;
    for (int i = 0; i < n; i++)
        best = fmax(best, isolated[i]);
    return n > 1 && total < collapse_share * best;
}

static void tell_sum(const struct state *s, struct case_context *context) {
    double sum = 0;
    for (int i = 0; i < s->n; i++)
        sum += s->isolated[i];
    js_set_number(context->extra, "isolated_sum", sum);
    if (sum > 0)
        js_set_number(context->extra, "of_isolated", s->last / sum);
    js_set_bool(context->extra, "collapsed", p2p_collapsed(s->last, s->isolated, s->n));
}

static bool sample_lanes(struct case_context *context, struct samples *out, struct error *err) {
    struct state *s = context->state;
    const char *path_class = js_get_string(context->attributes, "path_class", "");
    bool pcie = strncmp(path_class, "NV", 2) != 0;
    const struct lanes_work work = {.loads = s->loads, .queue = queue, .arg = s, .links_idle = !pcie};
    struct lane_time *times = mem_zeroed((size_t)s->n, sizeof *times);
    bool overlapped = true;
    s->warming = true;
    bool good = lanes_warm_up(s->lanes, &work, context, err);
    s->warming = false;
    good = good && (s->isolated == NULL || measure_isolated(s, err)) && poison(context, err);
    for (int i = 0; good && i < context->wanted_samples; i++) {
        good = lanes_run(s->lanes, s->loads, queue, s, times, err);
        if (!good)
            break;
        s->last = value(s, times);
        samples_add(out, s->last);
        js_append_number(context->sm_mhz, lanes_mhz(s->lanes));
        overlapped = overlapped && lanes_overlapped(s->loads, times, s->n);
    }
    if (!overlapped)
        js_append_string(context->flags, "load-ended-early");
    free(times);
    return good || RELAY(err);
}

/* Without peer access the driver goes through the host and waits by itself: by the host's clock. */
static bool sample_staged(struct case_context *context, struct samples *out, struct error *err) {
    struct state *s = context->state;
    struct peer_pair *p = &s->pairs[0];
    gpu_stream stream = NULL;
    bool good = gpu_use(peer_pair_initiator(p), err) && gpu_stream_make(&stream, err) &&
                peer_pair_enqueue_part(p, stream, 1, err) && gpu_stream_wait(stream, err) &&
                peer_pair_poison(p, err) && gpu_use(peer_pair_initiator(p), err);
    for (int i = 0; good && i < context->wanted_samples; i++) {
        int64_t start = clock_raw();
        good = peer_pair_enqueue(p, stream, context->operations, err) && gpu_stream_wait(stream, err);
        double seconds = (double)(clock_raw() - start) / 1e9;
        if (good)
            samples_add(out, (double)p->bytes * context->operations / seconds / 1e9);
    }
    gpu_stream_free(stream);
    return good || RELAY(err);
}

bool p2p_sample(struct case_context *context, struct samples *out, struct error *err) {
    struct state *s = context->state;
    if (!s->pairs[0].direct)
        return sample_staged(context, out, err) || RELAY(err);
    bool good = sample_lanes(context, out, err);
    tell_lanes(s, context);
    if (good && s->isolated != NULL)
        tell_sum(s, context);
    return good;
}

/* ---- checking and ending ---- */

bool p2p_verify(struct case_context *context, struct verification *out, struct error *err) {
    struct state *s = context->state;
    const char *how = case_text(context, "corrupt");
    if (how[0] != '\0') {
        uint64_t offset = 0;
        if (!peer_pair_damage(&s->pairs[context->seed % (uint64_t)s->n], how, context->seed, &offset, err))
            return RELAY(err);
        js_set_int(context->extra, "corrupted_at", (int64_t)offset);
    }
    for (int i = 0; i < s->n; i++)
        if (!peer_pair_verify(&s->pairs[i], out, err))
            return RELAY(err);
    return true;
}

void p2p_finish(struct case_context *context) {
    struct state *s = context->state;
    if (s == NULL)
        return;
    lanes_free(s->lanes);
    for (int i = 0; i < s->n; i++) {
        peer_pair_free(&s->pairs[i], context->shelf);
        js_free(s->figures[i]);
    }
    free(s->pairs);
    free(s->figures);
    free(s->isolated);
    free(s);
    context->state = NULL;
}
