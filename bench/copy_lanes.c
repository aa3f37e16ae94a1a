/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/copy_lanes.h"

#include "base/mem.h"
#include "bench/copy_common.h"
#include "bench/copy_pair.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 3, OPERATIONS = 2 };

const char *const copy_direction_names[] = {"none", "h2d", "d2h", "both"};

void copy_lanes_set(struct instance *instance, const char *engine, int direction) {
    js_set_int(instance->params, "bytes", COPY_LARGE);
    js_set_string(instance->params, "memory", "pinned");
    copy_set_way(instance, engine);
    js_set_string(instance->params, "direction", copy_direction_names[direction]);
    instance->samples = SAMPLES;
    instance->operations = OPERATIONS;
}

/* ---- which lanes ---- */

int copy_lanes_plan(int n_gpus, bool one, int direction, int operations, struct copy_lane *out) {
    bool alone = n_gpus == 1; /* then the other direction is what the measured one is up against */
    int n = 0, measured = 0;
    for (int gpu = 0; gpu < n_gpus; gpu++)
        for (int d = COPY_H2D; d <= COPY_D2H; d++) {
            bool wanted = (direction & d) != 0;
            if (!wanted && !alone)
                continue;
            bool counts = wanted && (!one || gpu == 0);
            out[n++] = (struct copy_lane){gpu, d, {.timed = counts ? operations : 0}};
            measured += counts ? 1 : 0;
        }
    for (int i = 0; i < n; i++)
        out[i].load.total = measured == 1 && out[i].load.timed > 0 ? operations : 2 * operations;
    return n;
}

/* ---- slots ---- */

struct state {
    int n;
    struct copy_lane *plan;
    struct copy_pair *pairs;
    struct lane_load *loads;
    struct lanes *lanes;
    js **figures; /* a lane's own samples; NULL: not measured */
};

static int direction_of(const struct case_context *context) {
    for (int d = COPY_H2D; d <= COPY_BOTH; d++)
        if (strcmp(case_text(context, "direction"), copy_direction_names[d]) == 0)
            return d;
    return 0;
}

static struct state *make_state(const struct case_context *context, int direction) {
    struct state *s = mem_zeroed(1, sizeof *s);
    size_t room = 2 * (size_t)context->n_gpus;
    bool one = js_get(context->where, "gpu") != NULL;
    s->plan = mem_zeroed(room, sizeof *s->plan);
    s->pairs = mem_zeroed(room, sizeof *s->pairs);
    s->loads = mem_zeroed(room, sizeof *s->loads);
    s->figures = mem_zeroed(room, sizeof *s->figures);
    s->n = copy_lanes_plan(context->n_gpus, one, direction, context->operations, s->plan);
    for (int i = 0; i < s->n; i++) {
        s->loads[i] = s->plan[i].load;
        s->figures[i] = s->loads[i].timed > 0 ? js_new_array() : NULL;
    }
    return s;
}

static int os_node_of(const struct case_context *context, int gpu) {
    const js *several = js_get(context->attributes, "os_nodes");
    if (several != NULL)
        return (int)js_int(js_at(several, (size_t)gpu), -1);
    return (int)js_get_int(context->attributes, "os_node", -1);
}

bool copy_lanes_prepare(struct case_context *context, struct error *err) {
    int direction = direction_of(context);
    if (direction == 0 || context->n_gpus == 0)
        return FAIL(err, ERROR_DATA, "no direction or no GPU to copy with");
    struct state *s = make_state(context, direction);
    const struct gpu_device **devices = mem_zeroed((size_t)s->n, sizeof *devices);
    context->state = s;
    for (int i = 0; i < s->n; i++) {
        devices[i] = &context->gpus[s->plan[i].gpu];
        copy_pair_plan(&s->pairs[i], context, devices[i], s->plan[i].direction == COPY_H2D,
                       os_node_of(context, s->plan[i].gpu), i);
        s->pairs[i].name_gpu = context->n_gpus > 1;
    }
    bool good = true;
    for (int i = 0; good && i < s->n; i++)
        good = copy_pair_make(&s->pairs[i], context, err);
    good = good && lanes_make(s->n, devices, &s->lanes, err);
    free(devices);
    return good;
}

static bool poison(struct case_context *context, struct error *err) {
    struct state *s = context->state;
    for (int i = 0; i < s->n; i++)
        if (!copy_pair_poison(&s->pairs[i], err))
            return RELAY(err);
    return true;
}

static bool queue(void *arg, int lane, gpu_stream stream, int count, struct error *err) {
    struct state *s = arg;
    return copy_pair_enqueue(&s->pairs[lane], stream, count, err) || RELAY(err);
}

static double value(void *arg, const struct lane_time *times) {
    struct state *s = arg;
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

/* Each lane's part in a sum. */
static void tell_lanes(const struct state *s, struct case_context *context) {
    js *list = js_new_array();
    for (int i = 0; i < s->n; i++) {
        if (s->figures[i] == NULL)
            continue;
        js *lane = js_new_object();
        js_set_string(lane, "gpu", context->gpus[s->plan[i].gpu].uuid);
        js_set_string(lane, "direction", copy_direction_names[s->plan[i].direction]);
        js_set(lane, "bandwidth", js_keep(s->figures[i]));
        js_append(list, lane);
    }
    if (js_length(list) > 1)
        js_set(context->extra, "lanes", js_keep(list));
    js_free(list);
}

bool copy_lanes_sample(struct case_context *context, struct samples *out, struct error *err) {
    struct state *s = context->state;
    const struct lanes_work work = {
        .loads = s->loads, .queue = queue, .arg = s, .poison = poison, .value = value};
    bool good = lanes_sample(s->lanes, &work, context, out, err);
    tell_lanes(s, context);
    return good;
}

bool copy_lanes_verify(struct case_context *context, struct verification *out, struct error *err) {
    struct state *s = context->state;
    const char *how = case_text(context, "corrupt");
    if (how[0] != '\0') {
        uint64_t offset = 0;
        struct copy_pair *victim = &s->pairs[context->seed % (uint64_t)s->n];
        if (!copy_pair_damage(victim, NULL, how, context->seed, &offset, err))
            return RELAY(err);
        js_set_int(context->extra, "corrupted_at", (int64_t)offset);
    }
    for (int i = 0; i < s->n; i++)
        if (!copy_pair_verify(&s->pairs[i], out, err))
            return RELAY(err);
    return true;
}

void copy_lanes_finish(struct case_context *context) {
    struct state *s = context->state;
    if (s == NULL)
        return;
    lanes_free(s->lanes);
    for (int i = 0; i < s->n; i++) {
        copy_pair_free(&s->pairs[i], context->shelf);
        js_free(s->figures[i]);
    }
    free(s->plan);
    free(s->pairs);
    free(s->loads);
    free(s->figures);
    free(s);
    context->state = NULL;
}
