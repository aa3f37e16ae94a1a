/* SPDX-License-Identifier: Apache-2.0 */
/* The call of copy.latency with a made-up GPU: what is done in which order, and that a copy which never ran
 * after the warm-up is found. */
#include "unit/unit.h"

#include "base/text.h"
#include "bench/copy_latency.c"

enum { N_SWEEPS = 8 };

static struct fake {
    int copies;    /* since the last time something else was done */
    int lost_from; /* the copies from this one on never run; 0: all do */
    int done, waits;
    bool spoilt;       /* the destination does not hold the data */
    enum gpu_wait how; /* of the last wait */
    struct text log;
    double sweeps[N_SWEEPS]; /* what each sweep takes; the last one again and again */
    int n_sweeps;
    int astray; /* this sweep goes astray, counted from 1; 0: none */
} fake;

static void note(const char *what) {
    if (fake.copies > 0)
        text_addf(&fake.log, "%d copies, ", fake.copies);
    fake.copies = 0;
    text_addf(&fake.log, "%s, ", what);
}

/* ---- instead of bench/copy_common.c ---- */

struct instance *copy_instance(const struct node *node, const struct gpu_info *gpu,
                               const struct metric *metric, enum level level, int64_t bytes,
                               const char *memory, struct instance_list *out) {
    (void)node, (void)gpu, (void)metric, (void)level, (void)bytes, (void)memory, (void)out;
    return NULL;
}

bool copy_prepare_h2d(struct case_context *context, struct error *err) {
    (void)context, (void)err;
    return true;
}

bool copy_prepare_d2h(struct case_context *context, struct error *err) {
    (void)context, (void)err;
    return true;
}

bool copy_poison(struct case_context *context, struct error *err) {
    (void)context, (void)err;
    fake.spoilt = true;
    note("spoil");
    return true;
}

bool copy_enqueue(struct case_context *context, gpu_stream stream, int count, struct error *err) {
    (void)context, (void)stream, (void)err;
    fake.copies += count;
    fake.done += count;
    if (fake.lost_from == 0 || fake.done < fake.lost_from)
        fake.spoilt = false;
    return true;
}

bool copy_verify(struct case_context *context, struct verification *out, struct error *err) {
    (void)context, (void)err;
    out->bad = fake.spoilt ? 1 : 0;
    return true;
}

void copy_finish(struct case_context *context) {
    (void)context;
}

/* ---- instead of bench/launch_common.c ---- */

void launch_set_clock(const struct gpu_info *gpu, struct instance *instance) {
    (void)gpu, (void)instance;
}

void launch_set_after(struct instance *instance, int64_t idle_us) {
    (void)instance, (void)idle_us;
}

void launch_set_wait(const struct node *node, struct instance *instance, enum gpu_wait how) {
    (void)node, (void)instance, (void)how;
}

enum gpu_wait launch_wait(const struct case_context *context) {
    return strcmp(case_text(context, "wait"), "block") == 0 ? GPU_WAIT_BLOCK : GPU_WAIT_SPIN;
}

void launch_rest(int64_t us) {
    assert_int_equal(us, 10000);
    note("rest");
}

bool launch_sample(struct case_context *context, launch_samples_fn *take, struct samples *out,
                   struct error *err) {
    struct launch_bench b = {0};
    note("wake");
    bool good = take(context, &b, out, err);
    note("still awake");
    return good;
}

bool gpu_wait_for(gpu_stream stream, enum gpu_wait how, gpu_event event, struct error *err) {
    (void)stream, (void)event, (void)err;
    fake.how = how;
    fake.waits++;
    return true;
}

/* ---- what the chase asks for ---- */

bool gpu_stream_make(gpu_stream *out, struct error *err) {
    *out = NULL;
    return FAIL(err, ERROR_GPU, "no stream is wanted here");
}

void gpu_stream_free(gpu_stream stream) {
    (void)stream;
}

bool gpu_host_alloc(size_t bytes, void **out, struct error *err) {
    (void)bytes;
    *out = NULL;
    return FAIL(err, ERROR_GPU, "no memory is wanted here");
}

void gpu_host_free(void *p) {
    (void)p;
}

bool gpu_register(void *p, size_t bytes, struct error *err) {
    (void)p, (void)bytes;
    return FAIL(err, ERROR_GPU, "no memory is wanted here");
}

void gpu_unregister(void *p) {
    (void)p;
}

bool gpu_chase_sweep(const struct gpu_chase *chase, const struct gpu_device *device, gpu_stream stream,
                     struct gpu_chase_result *out, struct error *err) {
    (void)chase, (void)device, (void)stream, (void)err;
    *out = (struct gpu_chase_result){.ns = fake.sweeps[fake.n_sweeps], .sm_mhz = 1500, .multiprocessors = 7};
    fake.n_sweeps += fake.n_sweeps + 1 < N_SWEEPS ? 1 : 0;
    out->wrong = fake.n_sweeps == fake.astray ? 1 : 0;
    return true;
}

/* ---- tests ---- */

static struct verification measured(const char *params, int samples) {
    struct error err = {0};
    struct samples out = {0};
    struct verification found = {0};
    js *all = js_parse(params, strlen(params), &err);
    struct case_context context = {.params = all, .wanted_samples = samples};
    assert_non_null(all);
    assert_true(case_copy_latency.poison(&context, &err));
    assert_true(case_copy_latency.sample(&context, &out, &err));
    assert_int_equal(out.count, samples);
    assert_true(case_copy_latency.verify(&context, &found, &err));
    free(out.values);
    js_free(all);
    return found;
}

static void busy_and_idle(void **state) {
    (void)state;
    fake = (struct fake){0};
    assert_int_equal(measured("{\"wait\":\"spin\",\"idle_us\":0,\"direction\":\"h2d\"}", 7).bad, 0);
    assert_string_equal(text_string(&fake.log), "spoil, wake, 200 copies, spoil, 7 copies, still awake, ");
    assert_int_equal(fake.waits, 207); /* one operation at a time */
    assert_int_equal(fake.how, GPU_WAIT_SPIN);
    text_free(&fake.log);
    fake = (struct fake){0};
    assert_int_equal(measured("{\"wait\":\"block\",\"idle_us\":10000,\"direction\":\"d2h\"}", 2).bad, 0);
    assert_string_equal(text_string(&fake.log),
                        "spoil, wake, 200 copies, spoil, rest, 1 copies, rest, 1 copies, still awake, ");
    assert_int_equal(fake.how, GPU_WAIT_BLOCK);
    text_free(&fake.log);
}

static void copies_that_stop_after_the_warm_up(void **state) {
    (void)state;
    fake = (struct fake){.lost_from = WARM + 1};
    assert_true(measured("{\"wait\":\"spin\",\"direction\":\"h2d\"}", 5).bad > 0);
    text_free(&fake.log);
}

/* Three samples of a chase whose sweeps `fake` names. */
struct chased {
    struct case_context context;
    js *params;
    struct chase_state chase;
    struct samples out;
};

static void chased_begin(struct chased *c) {
    struct error err = {0};
    static const char params[] = "{\"hops\":256}";
    *c = (struct chased){.params = js_parse(params, sizeof params - 1, &err)};
    c->context = (struct case_context){.params = c->params,
                                       .wanted_samples = 3,
                                       .state = &c->chase,
                                       .flags = js_new_array(),
                                       .extra = js_new_object(),
                                       .sm_mhz = js_new_array()};
    assert_true(case_copy_latency.sample(&c->context, &c->out, &err));
}

static void chased_end(struct chased *c) {
    free(c->out.values);
    js_free(c->params);
    js_free(c->context.flags);
    js_free(c->context.extra);
    js_free(c->context.sm_mhz);
}

/* A sweep that goes astray fails the item, in the warm-up too: nothing after it hides it. */
static void a_chase_that_goes_astray(void **state) {
    (void)state;
    for (int at = 1; at <= 4; at++) {
        struct error err = {0};
        struct verification found = {0};
        struct chased c;
        fake = (struct fake){.sweeps = {1190, 1190, 1190, 1190, 1190, 1190, 1190, 1190}, .astray = at};
        chased_begin(&c);
        assert_true(c.out.count > 0);
        assert_true(case_copy_latency.verify(&c.context, &found, &err));
        assert_int_equal(found.bad, 1);
        chased_end(&c);
    }
}

static void expect_chase(const double *sweeps, double first, const char *flag) {
    struct chased c;
    fake = (struct fake){0};
    memcpy(fake.sweeps, sweeps, sizeof fake.sweeps);
    chased_begin(&c);
    assert_int_equal(c.out.count, 3);
    assert_int_equal(js_length(c.context.sm_mhz), 3);
    assert_true(c.out.values[0] == first);
    assert_string_equal(js_string(js_at(c.context.flags, 0), "none"), flag);
    chased_end(&c);
}

/* Samples begin after two sweeps that agree; when none do, the figure says so. */
static void a_chase_begins_when_link_and_clock_are_awake(void **state) {
    (void)state;
    expect_chase((const double[N_SWEEPS]){3000, 1300, 1190, 1189, 1188, 1, 1, 1}, 1188, "none");
    expect_chase((const double[N_SWEEPS]){3000, 2500, 2000, 1500, 1400, 1300, 1200, 1100}, 1200,
                 "not-steady");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_and_idle),
        cmocka_unit_test(copies_that_stop_after_the_warm_up),
        cmocka_unit_test(a_chase_begins_when_link_and_clock_are_awake),
        cmocka_unit_test(a_chase_that_goes_astray),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
