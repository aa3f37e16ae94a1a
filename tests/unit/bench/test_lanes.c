/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes on made-up GPUs: streams with a time of their own, that know what is queued on which device and when
 * somebody waits. */
#include "unit/unit.h"

#include "base/text.h"
#include "bench/lanes.c"

#include <string.h>

struct fake_stream {
    int device;
    double at; /* when all that is queued on it will be done */
};

struct fake_event {
    int device;
    double at;
};

static struct fake {
    int current; /* device */
    int alive;   /* streams, events, gates and probes */
    bool gate_closed;
    int n_gates; /* kernels that the last closing holds */
    bool gate_gives_up;
    double cost[8];   /* of one operation, by lane */
    double drift;     /* added to every cost after each operation */
    int queued[8];    /* operations, by lane */
    int fail_at_lane; /* -1: none */
    struct text log;
} fake;

static void begin(void) {
    text_free(&fake.log);
    fake = (struct fake){.fail_at_lane = -1};
    for (int i = 0; i < 8; i++)
        fake.cost[i] = 1;
}

static void *new_thing(size_t size) {
    fake.alive++;
    return mem_zeroed(1, size);
}

static void free_thing(void *thing) {
    fake.alive -= thing != NULL ? 1 : 0;
    free(thing);
}

bool gpu_use(const struct gpu_device *device, struct error *err) {
    (void)err;
    fake.current = device->ordinal;
    return true;
}

bool gpu_stream_make(gpu_stream *out, struct error *err) {
    (void)err;
    struct fake_stream *s = new_thing(sizeof *s);
    s->device = fake.current;
    *out = s;
    return true;
}

void gpu_stream_free(gpu_stream stream) {
    free_thing(stream);
}

bool gpu_stream_wait(gpu_stream stream, struct error *err) {
    (void)stream;
    if (fake.gate_closed)
        return FAIL(err, ERROR_GPU, "somebody waits behind a closed gate");
    return true;
}

static bool make_event(gpu_event *out) {
    struct fake_event *e = new_thing(sizeof *e);
    e->device = fake.current;
    e->at = -1;
    *out = e;
    return true;
}

bool gpu_event_make(bool blocking, gpu_event *out, struct error *err) {
    (void)blocking, (void)err;
    return make_event(out);
}

bool gpu_event_make_timed(gpu_event *out, struct error *err) {
    (void)err;
    return make_event(out);
}

void gpu_event_free(gpu_event event) {
    free_thing(event);
}

bool gpu_event_record(gpu_event event, gpu_stream stream, struct error *err) {
    struct fake_event *e = event;
    const struct fake_stream *s = stream;
    if (e->device != s->device || s->device != fake.current)
        return FAIL(err, ERROR_GPU, "an event, its stream and the current device do not agree");
    e->at = s->at;
    return true;
}

bool gpu_stream_wait_event(gpu_stream stream, gpu_event event, struct error *err) {
    const struct fake_event *e = event;
    struct fake_stream *s = stream;
    if (e->at < 0)
        return FAIL(err, ERROR_GPU, "waits for an event that nobody recorded");
    s->at = fmax(s->at, e->at);
    return true;
}

bool gpu_event_elapsed(gpu_event from, gpu_event to, double *seconds, struct error *err) {
    const struct fake_event *a = from, *b = to;
    if (fake.gate_closed || a->device != b->device)
        return FAIL(err, ERROR_GPU, "these events have no time between them");
    *seconds = b->at - a->at;
    return true;
}

struct gpu_gate {
    int unused;
};

bool gpu_gate_make(struct gpu_gate **out, struct error *err) {
    (void)err;
    *out = new_thing(sizeof **out);
    return true;
}

void gpu_gate_free(struct gpu_gate *gate) {
    free_thing(gate);
}

/* What is behind a gate begins at a time of its own, which no lane has seen before. */
static bool hold(gpu_stream stream, struct error *err) {
    struct fake_stream *s = stream;
    if (s->device != fake.current)
        return FAIL(err, ERROR_GPU, "a kernel on another device's stream");
    s->at = fmax(s->at, 1000);
    fake.n_gates++;
    return true;
}

bool gpu_gate_close(struct gpu_gate *gate, gpu_stream stream, int64_t limit_ns, struct error *err) {
    (void)gate;
    assert_true(limit_ns > 0);
    fake.gate_closed = true;
    fake.n_gates = 0;
    text_add(&fake.log, "close ");
    return hold(stream, err);
}

bool gpu_gate_join(struct gpu_gate *gate, gpu_stream stream, struct error *err) {
    (void)gate;
    text_add(&fake.log, "join ");
    return hold(stream, err);
}

void gpu_gate_open(struct gpu_gate *gate) {
    (void)gate;
    if (fake.gate_closed)
        text_add(&fake.log, "open ");
    fake.gate_closed = false;
}

bool gpu_gate_held(const struct gpu_gate *gate, struct error *err) {
    (void)gate;
    return !fake.gate_gives_up || FAIL(err, ERROR_GPU, "gate: it gave up");
}

struct gpu_clock_probe {
    int device;
};

bool gpu_clock_probe_make(struct gpu_clock_probe **out, struct error *err) {
    (void)err;
    *out = new_thing(sizeof **out);
    (*out)->device = fake.current;
    return true;
}

void gpu_clock_probe_free(struct gpu_clock_probe *probe) {
    free_thing(probe);
}

bool gpu_clock_probe_read(struct gpu_clock_probe *probe, gpu_stream stream, int which, struct error *err) {
    const struct fake_stream *s = stream;
    (void)which;
    if (probe->device != fake.current || s->device != fake.current)
        return FAIL(err, ERROR_GPU, "a probe of another device");
    return true;
}

double gpu_clock_probe_mhz(const struct gpu_clock_probe *probe) {
    return probe->device == 0 ? 1900 : 1700;
}

void link_look(struct case_context *context, gpu_stream stream) {
    (void)context, (void)stream;
    text_add(&fake.log, "look ");
}

static bool queue(void *arg, int lane, gpu_stream stream, int count, struct error *err) {
    struct fake_stream *s = stream;
    assert_ptr_equal(arg, &fake);
    assert_int_equal(s->device, fake.current);
    if (lane == fake.fail_at_lane)
        return FAIL(err, ERROR_GPU, "lane %d cannot", lane);
    for (int i = 0; i < count; i++) {
        s->at += fake.cost[lane];
        fake.cost[lane] += fake.drift;
    }
    fake.queued[lane] += count;
    text_addf(&fake.log, "%d:%d ", lane, count);
    return true;
}

/* ---- tests ---- */

static const struct gpu_device gpu_a = {.ordinal = 0}, gpu_b = {.ordinal = 1};

static struct lanes *make_three(void) {
    const struct gpu_device *const devices[] = {&gpu_a, &gpu_b, &gpu_a};
    struct lanes *lanes = NULL;
    struct error err = {0};
    if (!lanes_make(3, devices, &lanes, &err))
        fail_msg("%s", err.text);
    return lanes;
}

static void each_lane_has_its_own_time(void **state) {
    (void)state;
    begin();
    struct lanes *lanes = make_three();
    const struct lane_load loads[] = {{4, 4}, {0, 8}, {4, 8}};
    struct lane_time times[3];
    struct error err = {0};
    fake.cost[1] = 2;
    fake.cost[2] = 3;
    for (int again = 0; again < 2; again++) {
        text_clear(&fake.log);
        if (!lanes_run(lanes, loads, queue, &fake, times, &err))
            fail_msg("%s", err.text);
        /* One gate kernel a GPU, everything queued before it opens, the timed part apart from what follows.
         */
        assert_string_equal(text_string(&fake.log), "close join 0:4 1:8 2:4 2:4 open ");
        assert_int_equal(fake.n_gates, 2);
        assert_float_equal(times[0].seconds, 4, 1e-9);
        assert_float_equal(times[0].whole, 4, 1e-9);
        assert_float_equal(times[1].seconds, 0, 0);
        assert_float_equal(times[1].whole, 16, 1e-9);
        assert_float_equal(times[2].seconds, 12, 1e-9);
        assert_float_equal(times[2].whole, 24, 1e-9);
        assert_int_equal(fake.current, 0);
        assert_float_equal(lanes_mhz(lanes), 1700, 1e-9);
    }
    lanes_free(lanes);
    assert_int_equal(fake.alive, 0);
}

static void a_lane_that_fails_opens_the_gate(void **state) {
    (void)state;
    begin();
    struct lanes *lanes = make_three();
    const struct lane_load loads[] = {{1, 1}, {1, 1}, {1, 1}};
    struct lane_time times[3];
    struct error err = {0};
    fake.fail_at_lane = 1;
    assert_false(lanes_run(lanes, loads, queue, &fake, times, &err));
    assert_string_equal(err.text, "lane 1 cannot");
    assert_false(fake.gate_closed);
    lanes_free(lanes);
    assert_int_equal(fake.alive, 0);
}

static void a_gate_that_gave_up_is_an_error(void **state) {
    (void)state;
    begin();
    struct lanes *lanes = make_three();
    const struct lane_load loads[] = {{1, 1}, {1, 1}, {1, 1}};
    struct lane_time times[3];
    struct error err = {0};
    fake.gate_gives_up = true;
    assert_false(lanes_run(lanes, loads, queue, &fake, times, &err));
    assert_string_equal(err.text, "gate: it gave up");
    lanes_free(lanes);
}

static void impossible_loads(void **state) {
    (void)state;
    begin();
    struct lanes *lanes = make_three();
    static const struct lane_load bad[] = {
        {0, 0}, {-1, 1}, {2, 1}, {1, GPU_GATE_MAX_OPERATIONS + 1}, {1, -1}};
    struct lane_time times[3];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct lane_load loads[] = {{1, 1}, {1, 1}, bad[i]};
        struct error err = {0};
        assert_false(lanes_run(lanes, loads, queue, &fake, times, &err));
        assert_int_equal(err.kind, ERROR_DATA);
        assert_int_equal(fake.queued[0], 0);
    }
    lanes_free(lanes);
    const struct gpu_device *devices[LANES_MAX + 1];
    struct error err = {0};
    assert_false(lanes_make(0, devices, &lanes, &err));
    assert_false(lanes_make(LANES_MAX + 1, devices, &lanes, &err));
    assert_null(lanes);
    lanes_free(NULL);
}

static void whether_all_overlapped(void **state) {
    (void)state;
    const struct lane_load load[] = {{4, 4}, {0, 8}};
    const struct lane_load both[] = {{4, 8}, {4, 8}};
    assert_true(lanes_overlapped(load, (struct lane_time[]){{10, 10}, {0, 10}}, 2));
    assert_false(lanes_overlapped(load, (struct lane_time[]){{10, 10}, {0, 9.9}}, 2));
    /* One three times as fast as the other is through with its second half too early. */
    assert_true(lanes_overlapped(both, (struct lane_time[]){{10, 20}, {6, 12}}, 2));
    assert_false(lanes_overlapped(both, (struct lane_time[]){{10, 20}, {3, 6}}, 2));
    /* Lanes that are only measured load nobody. */
    assert_true(
        lanes_overlapped((struct lane_load[]){{4, 4}, {4, 4}}, (struct lane_time[]){{10, 10}, {3, 3}}, 2));
}

static double first_lane(void *arg, const struct lane_time *times) {
    assert_ptr_equal(arg, &fake);
    return 100 / times[0].seconds;
}

static bool spoil(struct case_context *context, struct error *err) {
    (void)context, (void)err;
    text_add(&fake.log, "poison ");
    return true;
}

/* Samples of two lanes, one of them load; the text of all flags. */
static void sample_two(double load_cost, double drift, struct samples *out, struct text *flags, js *mhz) {
    const struct gpu_device *const devices[] = {&gpu_a, &gpu_a};
    const struct lane_load loads[] = {{4, 4}, {0, 8}};
    struct case_context context = {.wanted_samples = 2, .flags = js_new_array(), .sm_mhz = mhz};
    struct lanes *lanes = NULL;
    struct error err = {0};
    const struct lanes_work work = {loads, queue, &fake, false, spoil, first_lane};
    begin();
    fake.cost[0] = 2;
    fake.cost[1] = load_cost;
    fake.drift = drift;
    if (!lanes_make(2, devices, &lanes, &err) || !lanes_sample(lanes, &work, &context, out, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < js_length(context.flags); i++)
        text_addf(flags, "%s ", js_string(js_at(context.flags, i), "?"));
    lanes_free(lanes);
    assert_int_equal(fake.alive, 0);
    js_free(context.flags);
}

static void warm_up_then_poison_then_samples(void **state) {
    (void)state;
    struct samples samples = {0};
    struct text flags = {0};
    js *mhz = js_new_array();
    sample_two(2, 0, &samples, &flags, mhz);
    assert_int_equal(samples.count, 2);
    assert_float_equal(samples.values[0], 12.5, 1e-9);
    assert_float_equal(samples.values[1], 12.5, 1e-9);
    assert_string_equal(text_string(&flags), "");
    assert_int_equal(js_length(mhz), 2);
    assert_string_equal(text_string(&fake.log), "0:1 1:2 look 0:1 1:2 look 0:1 1:2 look poison "
                                                "close 0:4 1:8 open close 0:4 1:8 open ");
    free(samples.values);
    text_free(&flags);
    js_free(mhz);
}

static void what_makes_samples_doubtful(void **state) {
    (void)state;
    struct samples samples = {0};
    struct text flags = {0};
    js *mhz = js_new_array();
    sample_two(0.9, 0, &samples, &flags, mhz); /* 8 × 0.9 < 4 × 2 */
    assert_string_equal(text_string(&flags), "load-ended-early ");
    text_clear(&flags);
    sample_two(2, 1, &samples, &flags, mhz); /* slower and slower */
    assert_string_equal(text_string(&flags), "not-steady ");
    free(samples.values);
    text_free(&flags);
    text_free(&fake.log);
    js_free(mhz);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_lane_has_its_own_time),      cmocka_unit_test(a_lane_that_fails_opens_the_gate),
        cmocka_unit_test(a_gate_that_gave_up_is_an_error), cmocka_unit_test(impossible_loads),
        cmocka_unit_test(whether_all_overlapped),          cmocka_unit_test(warm_up_then_poison_then_samples),
        cmocka_unit_test(what_makes_samples_doubtful),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
