/* SPDX-License-Identifier: Apache-2.0 */
/* One item on made-up GPUs: which are opened, which still work, and who times. */
#include "unit/unit.h"

#include "base/text.h"
#include "run/measure.c"

static struct fake {
    struct text log;
    const char *dead;    /* this GPU's context breaks while the item runs */
    const char *missing; /* this one cannot be opened */
    int current;
    bool by_host;
    int operations; /* as the case saw them */
    int asked;      /* operations of the item */
    /* The warm-up: the clock starts so much below and the link so many generations, and they come up by a
     * step a batch; each batch takes the same time. */
    int clock_steps, link_steps;
    int batches;
} fake;

/* GPU-a is device 0, GPU-b device 1 … */
bool gpu_open(const char *uuid, struct gpu_device *out, struct error *err) {
    if (fake.missing != NULL && strcmp(uuid, fake.missing) == 0)
        return FAIL(err, ERROR_GPU, "no %s", uuid);
    *out = (struct gpu_device){.ordinal = uuid[4] - 'a'};
    snprintf(out->uuid, sizeof out->uuid, "%s", uuid);
    snprintf(out->bdf, sizeof out->bdf, "%s", uuid);
    text_addf(&fake.log, "open %s, ", uuid);
    fake.current = out->ordinal;
    return true;
}

bool gpu_use(const struct gpu_device *device, struct error *err) {
    (void)err;
    fake.current = device->ordinal;
    return true;
}

bool gpu_alive(struct error *err) {
    text_addf(&fake.log, "alive %c, ", 'a' + fake.current);
    return fake.dead == NULL || fake.current != fake.dead[4] - 'a' || FAIL(err, ERROR_GPU, "broken");
}

bool gpu_built(void) {
    return true;
}

bool gpu_start(int *count, struct error *err) {
    (void)err;
    *count = 26;
    return true;
}

static bool thing(void **out) {
    *out = &fake;
    return true;
}

bool gpu_stream_make(gpu_stream *out, struct error *err) {
    (void)err;
    return thing(out);
}

void gpu_stream_free(gpu_stream stream) {
    (void)stream;
}

bool gpu_stream_wait(gpu_stream stream, struct error *err) {
    (void)stream, (void)err;
    return true;
}

bool gpu_event_make_timed(gpu_event *out, struct error *err) {
    (void)err;
    return thing(out);
}

void gpu_event_free(gpu_event event) {
    (void)event;
}

bool gpu_event_record(gpu_event event, gpu_stream stream, struct error *err) {
    (void)event, (void)stream, (void)err;
    return true;
}

bool gpu_event_elapsed(gpu_event from, gpu_event to, double *seconds, struct error *err) {
    (void)from, (void)to, (void)err;
    *seconds = 0.5;
    return true;
}

bool gpu_gate_make(struct gpu_gate **out, struct error *err) {
    (void)err;
    return thing((void **)out);
}

void gpu_gate_free(struct gpu_gate *gate) {
    (void)gate;
}

bool gpu_gate_close(struct gpu_gate *gate, gpu_stream stream, int64_t limit_ns, struct error *err) {
    (void)gate, (void)stream, (void)limit_ns, (void)err;
    text_add(&fake.log, "gate, ");
    return true;
}

void gpu_gate_open(struct gpu_gate *gate) {
    (void)gate;
}

bool gpu_gate_held(const struct gpu_gate *gate, struct error *err) {
    (void)gate, (void)err;
    return true;
}

bool gpu_clock_probe_make(struct gpu_clock_probe **out, struct error *err) {
    (void)err;
    return thing((void **)out);
}

void gpu_clock_probe_free(struct gpu_clock_probe *probe) {
    (void)probe;
}

bool gpu_clock_probe_read(struct gpu_clock_probe *probe, gpu_stream stream, int which, struct error *err) {
    (void)probe, (void)stream, (void)which, (void)err;
    return true;
}

double gpu_clock_probe_mhz(const struct gpu_clock_probe *probe) {
    (void)probe;
    return 1500 - 20 * (fake.clock_steps > fake.batches ? fake.clock_steps - fake.batches : 0);
}

void link_look(struct case_context *context, gpu_stream stream) {
    assert_ptr_equal(context->bench, bench_find("made.up"));
    (void)stream;
    js *link = js_new_object();
    fake.batches++;
    js_set_int(link, "gen", fake.link_steps > fake.batches ? 5 - fake.link_steps + fake.batches : 5);
    js_set_int(link, "width", 16);
    js_set(context->links, "GPU-a", link);
}

/* ---- a case ---- */

static bool prepare(struct case_context *context, struct error *err) {
    (void)err;
    text_addf(&fake.log, "prepare on %c with %d, ", 'a' + fake.current, context->n_gpus);
    if (context->n_gpus > 0)
        assert_string_equal(context->gpu.uuid, context->gpus[0].uuid);
    fake.operations = context->operations;
    return true;
}

static bool enqueue(struct case_context *context, gpu_stream stream, int count, struct error *err) {
    (void)context, (void)stream, (void)count, (void)err;
    return true;
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    (void)err;
    text_add(&fake.log, "sample, ");
    for (int i = 0; i < context->wanted_samples; i++)
        samples_add(out, 7);
    return true;
}

static bool by_host(const struct case_context *context) {
    (void)context;
    return fake.by_host;
}

static double work(const struct case_context *context) {
    (void)context;
    return 1e9;
}

static const struct metric metrics[] = {{"bandwidth", QUANTITY_BANDWIDTH, TIMING_GATED}, {0}};
static const struct bench_case made_up = {.name = "made.up",
                                          .metrics = metrics,
                                          .prepare = prepare,
                                          .enqueue = enqueue,
                                          .sample = sample,
                                          .by_host = by_host,
                                          .work = work};

const struct bench_case *bench_find(const char *name) {
    return strcmp(name, made_up.name) == 0 ? &made_up : NULL;
}

/* ---- tests ---- */

static js *measured(const char *where) {
    struct error err = {0};
    js *item = js_new_object();
    js *place = js_parse(where, strlen(where), &err);
    assert_non_null(place);
    text_clear(&fake.log);
    js_set_string(item, "case", "made.up");
    js_set_string(item, "metric", "bandwidth");
    js_set(item, "where", place);
    js_set_int(item, "samples", 2);
    js_set_int(item, "operations", fake.asked);
    js *result = measure_item(item, NULL);
    js_free(item);
    return result;
}

static void outcome_is(js *result, const char *outcome, bool sticky, const char *reason) {
    assert_string_equal(js_get_string(result, "outcome", ""), outcome);
    assert_int_equal(js_get_bool(result, "sticky", !sticky), sticky);
    assert_string_equal(js_get_string(result, "reason", ""), reason);
    js_free(result);
}

static void begin(void) {
    text_free(&fake.log);
    fake = (struct fake){.by_host = true, .current = 25, .asked = 5};
}

static void all_gpus_are_opened_and_asked(void **state) {
    (void)state;
    begin();
    outcome_is(measured("{\"gpus\":\"GPU-a+GPU-b\"}"), "ok", false, "");
    assert_string_equal(text_string(&fake.log),
                        "open GPU-a, open GPU-b, prepare on a with 2, sample, alive a, alive b, ");
    outcome_is(measured("{\"from\":\"GPU-c\",\"to\":\"GPU-a\"}"), "ok", false, "");
    assert_string_equal(text_string(&fake.log),
                        "open GPU-c, open GPU-a, prepare on c with 2, sample, alive c, alive a, ");
    outcome_is(measured("{}"), "ok", false, "");
    assert_string_equal(text_string(&fake.log), "prepare on a with 0, sample, ");
    assert_int_equal(fake.operations, 5);
}

static void one_that_broke_costs_the_process(void **state) {
    (void)state;
    begin();
    fake.dead = "GPU-b";
    outcome_is(measured("{\"gpus\":\"GPU-a+GPU-b\"}"), "error", true, "GPU-b: broken");
    outcome_is(measured("{\"gpu\":\"GPU-a\"}"), "ok", false, "");
}

static void one_that_is_missing(void **state) {
    (void)state;
    begin();
    fake.missing = "GPU-b";
    outcome_is(measured("{\"gpus\":\"GPU-a+GPU-b\"}"), "error", false, "no GPU-b");
    /* The one that was opened is asked, and for the other whatever is current. */
    assert_string_equal(text_string(&fake.log), "open GPU-a, alive a, alive a, ");
}

static void who_times(void **state) {
    (void)state;
    begin();
    js *result = measured("{\"gpu\":\"GPU-a\"}");
    assert_float_equal(js_number(js_at(js_get(result, "samples"), 1), 0), 7, 1e-9);
    js_free(result);
    fake.by_host = false;
    result = measured("{\"gpu\":\"GPU-a\"}");
    assert_string_equal(text_string(&fake.log), "open GPU-a, prepare on a with 1, gate, gate, alive a, ");
    assert_int_equal(js_length(js_get(result, "samples")), 2);
    /* Five operations of 1e9 bytes in half a second. */
    assert_float_equal(js_number(js_at(js_get(result, "samples"), 1), 0), 10, 1e-9);
    assert_int_equal(js_length(js_get(result, "sm_mhz")), 2);
    js_free(result);
    text_free(&fake.log);
}

/* None would be a division by zero, more than the driver's queue takes would wait for ever. */
static void only_so_many_behind_a_gate(void **state) {
    (void)state;
    begin();
    fake.by_host = false;
    fake.asked = 0;
    outcome_is(measured("{\"gpu\":\"GPU-a\"}"), "error", false,
               "0 operations a sample: 1 to 256 can wait behind the gate");
    fake.asked = GPU_GATE_MAX_OPERATIONS + 1;
    outcome_is(measured("{\"gpu\":\"GPU-a\"}"), "error", false,
               "257 operations a sample: 1 to 256 can wait behind the gate");
    assert_null(strstr(text_string(&fake.log), "gate"));
    fake.asked = GPU_GATE_MAX_OPERATIONS;
    outcome_is(measured("{\"gpu\":\"GPU-a\"}"), "ok", false, "");
    text_free(&fake.log);
}

/* Batches until the warm-up is over, all of which take half a second. */
static int batches_with(int clock_steps, int link_steps, const char *flags) {
    begin();
    fake.by_host = false;
    fake.clock_steps = clock_steps;
    fake.link_steps = link_steps;
    js *result = measured("{\"gpu\":\"GPU-a\"}");
    char *flagged = js_text(js_get(result, "flags"));
    assert_string_equal(flagged, flags);
    free(flagged);
    js_free(result);
    text_free(&fake.log);
    return fake.batches;
}

static void equal_times_are_not_enough(void **state) {
    (void)state;
    assert_int_equal(batches_with(0, 0, "[]"), 3);
    assert_int_equal(batches_with(6, 0, "[]"), 7); /* the clock stands from the sixth on */
    assert_int_equal(batches_with(0, 4, "[]"), 5);
    assert_int_equal(batches_with(69, 0, "[\"not-steady\"]"), 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_gpus_are_opened_and_asked), cmocka_unit_test(one_that_broke_costs_the_process),
        cmocka_unit_test(one_that_is_missing),           cmocka_unit_test(who_times),
        cmocka_unit_test(only_so_many_behind_a_gate),    cmocka_unit_test(equal_times_are_not_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
