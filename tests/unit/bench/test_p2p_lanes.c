/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of the P2P cases, over made-up lanes and pairs that note what is asked of them. */
#include "unit/unit.h"

#include "base/text.h"
#include "bench/p2p_lanes.c"

static struct fake {
    struct text log;
    int fail_pair; /* making this one fails; -1: none */
    int made, freed, lanes_alive;
    int current;
    double seconds[8]; /* a lane's timed operations */
    double alone;      /* seconds of one copy alone */
    bool ends_early;   /* the load's */
    bool links_looked; /* the warm-up may look at the PCIe links */
    uint64_t bad;
} fake;

static struct gpu_device gpus[4] = {{.ordinal = 0, .bdf = "0000:01:00.0"},
                                    {.ordinal = 1, .bdf = "0000:02:00.0"},
                                    {.ordinal = 2, .bdf = "0000:03:00.0"},
                                    {.ordinal = 3, .bdf = "0000:04:00.0"}};

static void note(const char *word) {
    size_t length = strlen(word);
    bool again =
        fake.log.length >= length && strcmp(text_string(&fake.log) + fake.log.length - length, word) == 0;
    if (!again)
        text_add(&fake.log, word);
}

/* ---- pairs ---- */

void peer_pair_plan(struct peer_pair *pair, const struct case_context *context, const struct gpu_device *from,
                    const struct gpu_device *to, int index) {
    *pair = (struct peer_pair){.from = from,
                               .to = to,
                               .read = strcmp(case_text(context, "access"), "read") == 0,
                               .direct = strcmp(case_text(context, "peer"), "off") != 0,
                               .bytes = 1000000000,
                               .seed = (uint32_t)index};
}

const struct gpu_device *peer_pair_initiator(const struct peer_pair *pair) {
    return pair->read ? pair->to : pair->from;
}

bool peer_pair_make(struct peer_pair *pair, struct case_context *context, struct error *err) {
    (void)context;
    if ((int)pair->seed == fake.fail_pair)
        return FAIL(err, ERROR_GPU, "no P2P");
    fake.made++;
    return true;
}

void peer_pair_free(struct peer_pair *pair, struct shelf *shelf) {
    (void)pair, (void)shelf;
    fake.freed++;
}

bool peer_pair_poison(struct peer_pair *pair, struct error *err) {
    (void)pair, (void)err;
    note("poison ");
    return true;
}

bool peer_pair_enqueue(struct peer_pair *pair, gpu_stream stream, int count, struct error *err) {
    (void)stream, (void)count, (void)err;
    assert_int_equal(fake.current, peer_pair_initiator(pair)->ordinal);
    note("copy ");
    return true;
}

bool peer_pair_enqueue_part(struct peer_pair *pair, gpu_stream stream, int count, struct error *err) {
    (void)stream, (void)count, (void)err;
    assert_int_equal(fake.current, peer_pair_initiator(pair)->ordinal);
    note("part ");
    return true;
}

bool peer_pair_damage(struct peer_pair *pair, const char *how, uint64_t seed, uint64_t *offset,
                      struct error *err) {
    (void)pair, (void)seed, (void)err;
    assert_string_equal(how, "word");
    fake.bad = 4;
    *offset = 4096;
    return true;
}

bool peer_pair_verify(struct peer_pair *pair, struct verification *out, struct error *err) {
    (void)pair, (void)err;
    note("verify ");
    out->bad += fake.bad;
    fake.bad = 0;
    return true;
}

/* ---- lanes ---- */

struct lanes {
    int n;
    int ordinals[8];
};

bool lanes_make(int n, const struct gpu_device *const *devices, struct lanes **out, struct error *err) {
    (void)err;
    *out = mem_zeroed(1, sizeof **out);
    (*out)->n = n;
    for (int i = 0; i < n; i++)
        (*out)->ordinals[i] = devices[i]->ordinal;
    fake.lanes_alive++;
    return true;
}

void lanes_free(struct lanes *lanes) {
    fake.lanes_alive -= lanes != NULL;
    free(lanes);
}

static bool queue_all(struct lanes *lanes, lanes_queue_fn *queue_lane, void *arg, struct error *err) {
    for (int i = 0; i < lanes->n; i++) {
        fake.current = lanes->ordinals[i];
        if (!queue_lane(arg, i, NULL, 1, err))
            return false;
    }
    return true;
}

bool lanes_warm_up(struct lanes *lanes, const struct lanes_work *work, struct case_context *context,
                   struct error *err) {
    (void)context;
    note("warm ");
    fake.links_looked = !work->links_idle;
    return queue_all(lanes, work->queue, work->arg, err);
}

bool lanes_run(struct lanes *lanes, const struct lane_load *loads, lanes_queue_fn *queue_lane, void *arg,
               struct lane_time *times, struct error *err) {
    note("run ");
    for (int i = 0; i < lanes->n; i++)
        times[i] = (struct lane_time){loads[i].timed > 0 ? fake.seconds[i] : 0, 2 * fake.seconds[i]};
    return queue_all(lanes, queue_lane, arg, err);
}

double lanes_mhz(const struct lanes *lanes) {
    (void)lanes;
    return 1700;
}

bool lanes_overlapped(const struct lane_load *loads, const struct lane_time *times, int n) {
    (void)loads, (void)times, (void)n;
    return !fake.ends_early;
}

/* ---- GPUs ---- */

bool gpu_use(const struct gpu_device *device, struct error *err) {
    (void)err;
    fake.current = device->ordinal;
    return true;
}

bool gpu_stream_make(gpu_stream *out, struct error *err) {
    (void)err;
    *out = mem_zeroed(1, 8);
    return true;
}

void gpu_stream_free(gpu_stream stream) {
    free(stream);
}

bool gpu_stream_wait(gpu_stream stream, struct error *err) {
    (void)stream, (void)err;
    return true;
}

bool gpu_event_make_timed(gpu_event *out, struct error *err) {
    return gpu_stream_make(out, err);
}

void gpu_event_free(gpu_event event) {
    free(event);
}

bool gpu_event_record(gpu_event event, gpu_stream stream, struct error *err) {
    (void)event, (void)stream, (void)err;
    return true;
}

bool gpu_event_elapsed(gpu_event from, gpu_event to, double *seconds, struct error *err) {
    (void)from, (void)to, (void)err;
    *seconds = fake.alone;
    return true;
}

/* ---- a bed ---- */

struct bed {
    struct case_context context;
    js *params, *attributes;
    struct samples samples;
    struct error err;
};

static void begin(struct bed *t, int n_gpus) {
    text_free(&fake.log);
    fake = (struct fake){.fail_pair = -1, .alone = 0.02};
    for (int i = 0; i < 8; i++)
        fake.seconds[i] = 0.02;
    *t = (struct bed){.params = js_new_object(), .attributes = js_new_object()};
    js_set_string(t->attributes, "path_class", "NODE");
    t->context = (struct case_context){.params = t->params,
                                       .attributes = t->attributes,
                                       .gpus = gpus,
                                       .n_gpus = n_gpus,
                                       .operations = 1,
                                       .wanted_samples = 2,
                                       .extra = js_new_object(),
                                       .flags = js_new_array(),
                                       .sm_mhz = js_new_array()};
}

static void end(struct bed *t) {
    p2p_finish(&t->context);
    p2p_finish(&t->context); /* twice does no harm */
    assert_int_equal(fake.lanes_alive, 0);
    free(t->samples.values);
    js_free(t->params);
    js_free(t->attributes);
    js_free(t->context.extra);
    js_free(t->context.flags);
    js_free(t->context.sm_mhz);
}

static void go(struct bed *t) {
    if (!p2p_prepare(&t->context, &t->err) || !p2p_sample(&t->context, &t->samples, &t->err))
        fail_msg("%s", t->err.text);
}

static void set_lanes(struct bed *t, const char *text) {
    struct error err = {0};
    js_set(t->attributes, "lanes", js_parse(text, strlen(text), &err));
}

/* ---- tests ---- */

static void spoiled_after_the_warm_up(void **state) {
    (void)state;
    struct bed t;
    struct verification v = {0};
    begin(&t, 2);
    go(&t);
    assert_true(p2p_verify(&t.context, &v, &t.err));
    assert_string_equal(text_string(&fake.log), "warm part poison run copy run copy verify ");
    assert_int_equal(t.samples.count, 2);
    assert_true(fabs(t.samples.values[0] - 50) < 1e-9); /* 1 GB in 20 ms */
    assert_int_equal(js_length(t.context.sm_mhz), 2);
    assert_true(fake.links_looked);
    assert_null(js_get(t.context.extra, "lanes"));
    end(&t);
}

static void a_reader_issues_its_copies(void **state) {
    (void)state;
    struct bed t;
    begin(&t, 2);
    js_set_string(t.params, "access", "read");
    go(&t); /* the pairs check who is current */
    assert_int_equal(fake.current, 1);
    end(&t);
}

static void nvlinks_leave_the_pcie_link_alone(void **state) {
    (void)state;
    struct bed t;
    begin(&t, 2);
    js_set_string(t.attributes, "path_class", "NV18");
    go(&t);
    assert_false(fake.links_looked);
    end(&t);
}

static void both_ways_are_summed(void **state) {
    (void)state;
    struct bed t;
    begin(&t, 2);
    js_set_string(t.params, "direction", "both");
    fake.seconds[1] = 0.025;
    go(&t);
    assert_true(fabs(t.samples.values[1] - 90) < 1e-9);
    assert_int_equal(js_length(js_get(t.context.extra, "lanes")), 2);
    end(&t);
    begin(&t, 2);
    js_set_string(t.params, "direction", "one");
    fake.seconds[1] = 0.025;
    fake.ends_early = true;
    go(&t);
    assert_true(fabs(t.samples.values[1] - 50) < 1e-9); /* the load does not count … */
    assert_string_equal(js_string(js_at(t.context.flags, 0), ""), "load-ended-early"); /* … but must last */
    end(&t);
}

static void staged_copies_have_no_gate(void **state) {
    (void)state;
    struct bed t;
    begin(&t, 2);
    js_set_string(t.params, "peer", "off");
    assert_true(p2p_prepare(&t.context, &t.err));
    assert_int_equal(fake.lanes_alive, 0);
    assert_true(p2p_sample(&t.context, &t.samples, &t.err));
    assert_string_equal(text_string(&fake.log), "part poison copy ");
    assert_int_equal(t.samples.count, 2);
    end(&t);
}

static void a_pattern_is_set_beside_its_lanes_alone(void **state) {
    (void)state;
    struct bed t;
    begin(&t, 4);
    set_lanes(&t, "[[0,2],[1,3]]");
    fake.alone = 0.025; /* 40 GB/s */
    go(&t);
    assert_true(fabs(js_get_number(t.context.extra, "isolated_sum", 0) - 80) < 1e-9);
    assert_true(fabs(js_get_number(t.context.extra, "of_isolated", 0) - 100.0 / 80) < 1e-9);
    assert_false(js_get_bool(t.context.extra, "collapsed", true));
    /* What they copied alone is spoiled again. */
    assert_string_equal(text_string(&fake.log), "warm part copy part copy poison run copy run copy ");
    end(&t);
    begin(&t, 4);
    set_lanes(&t, "[[0,2],[1,3]]");
    fake.seconds[0] = fake.seconds[1] = 0.5; /* 4 GB/s together */
    go(&t);
    assert_true(js_get_bool(t.context.extra, "collapsed", false));
    end(&t);
}

static void damage_is_done_before_the_check(void **state) {
    (void)state;
    struct bed t;
    struct verification v = {0};
    begin(&t, 2);
    js_set_string(t.params, "corrupt", "word");
    go(&t);
    assert_true(p2p_verify(&t.context, &v, &t.err));
    assert_int_equal(v.bad, 4);
    assert_int_equal(js_get_int(t.context.extra, "corrupted_at", -1), 4096);
    end(&t);
}

static void what_cannot_be_made_is_an_error(void **state) {
    (void)state;
    static const char *const wrong[] = {"[]", "[[0,0]]", "[[0,4]]", "[[0]]", "[3]", "[[-1,2]]"};
    struct bed t;
    begin(&t, 2);
    js_set_string(t.params, "direction", "both");
    fake.fail_pair = 1;
    assert_false(p2p_prepare(&t.context, &t.err));
    end(&t);
    assert_int_equal(fake.freed, 2);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        begin(&t, 4);
        set_lanes(&t, wrong[i]);
        assert_false(p2p_prepare(&t.context, &t.err));
        end(&t);
    }
    begin(&t, 2);
    t.context.operations = 200; /* twice as many cannot be queued */
    assert_false(p2p_prepare(&t.context, &t.err));
    end(&t);
    begin(&t, 1);
    assert_false(p2p_prepare(&t.context, &t.err));
    end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spoiled_after_the_warm_up),
        cmocka_unit_test(a_reader_issues_its_copies),
        cmocka_unit_test(nvlinks_leave_the_pcie_link_alone),
        cmocka_unit_test(both_ways_are_summed),
        cmocka_unit_test(staged_copies_have_no_gate),
        cmocka_unit_test(a_pattern_is_set_beside_its_lanes_alone),
        cmocka_unit_test(damage_is_done_before_the_check),
        cmocka_unit_test(what_cannot_be_made_is_an_error),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    text_free(&fake.log);
    return failed;
}
