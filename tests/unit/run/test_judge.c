/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "run/judge.h"

#include <math.h>
#include <string.h>

static const struct metric bandwidth = {"bandwidth", QUANTITY_BANDWIDTH, TIMING_GATED};
static const struct metric call = {"call", QUANTITY_TIME, TIMING_HOST};
static const struct bench_case bench = {.name = "test", .version = 3};

static struct plan_item make(struct instance_list *list, const struct metric *metric, double limit,
                             double raw) {
    struct instance *instance = instance_add(list, metric, LEVEL_PRIMARY);
    instance->limit = limit;
    instance->limit_raw = raw;
    return (struct plan_item){.id = 4, .bench = &bench, .instance = *instance};
}

static js *answer(const char *outcome, const char *samples) {
    struct error err = {0};
    js *m = js_new_object();
    js_set_string(m, "outcome", outcome);
    js_set_string(m, "case", "another");
    js_set_int(m, "version", 9);
    js *values = js_parse(samples, strlen(samples), &err);
    assert_non_null(values);
    js_set(m, "samples", values);
    return m;
}

static void judged(const struct metric *metric, double limit, double raw, const char *claimed,
                   const char *samples, const char *outcome, const char *words, const char *flag) {
    struct instance_list list = {0};
    struct plan_item item = make(&list, metric, limit, raw);
    js *measured = answer(claimed, samples);
    js *record = judge_record(&item, "host", 2, measured, NULL, NULL);
    assert_string_equal(js_get_string(record, "outcome", ""), outcome);
    if (words != NULL)
        assert_non_null(strstr(js_get_string(record, "reason", ""), words));
    else
        assert_null(js_get(record, "reason"));
    assert_int_equal(js_length(js_get(record, "flags")), flag != NULL ? 1 : 0);
    if (flag != NULL)
        assert_string_equal(js_string(js_at(js_get(record, "flags"), 0), ""), flag);
    /* Who it is comes from the plan, never from the worker. */
    assert_string_equal(js_get_string(record, "case", ""), "test");
    assert_int_equal(js_get_int(record, "version", 0), 3);
    assert_int_equal(js_get_int(record, "round", 0), 2);
    js_free(record);
    js_free(measured);
    instance_list_free(&list);
}

static void limits(void **state) {
    (void)state;
    judged(&bandwidth, 57.6, 63.0, "ok", "[55.3, 55.4]", "ok", NULL, NULL);
    judged(&bandwidth, 57.6, 63.0, "ok", "[55.3, 58.0]", "ok", NULL, "above-header-limit");
    judged(&bandwidth, 57.6, 63.0, "ok", "[55.3, 63.1]", "fail", "impossible", NULL);
    judged(&bandwidth, NAN, NAN, "ok", "[1e9]", "ok", NULL, NULL);
    judged(&call, 1.0, 1.0, "ok", "[5.0]", "ok", NULL, NULL); /* a time has no upper limit */
}

static void samples(void **state) {
    (void)state;
    judged(&bandwidth, NAN, NAN, "ok", "[]", "error", "not a positive number", NULL);
    judged(&bandwidth, NAN, NAN, "ok", "[1, -2]", "error", "not a positive number", NULL);
    judged(&bandwidth, NAN, NAN, "ok", "[1, 0]", "error", "not a positive number", NULL);
    judged(&bandwidth, NAN, NAN, "ok", "[1, null]", "error", "not a positive number", NULL);
    judged(&bandwidth, NAN, NAN, "ok", "[1, \"2\"]", "error", "not a positive number", NULL);
    judged(&bandwidth, NAN, NAN, "ok", "{\"a\":1}", "error", "not a positive number", NULL);
}

static void outcomes(void **state) {
    (void)state;
    judged(&bandwidth, NAN, NAN, "splendid", "[1]", "error", "no reason was given", NULL);
    judged(&bandwidth, NAN, NAN, "fail", "[1]", "fail", "no reason was given", NULL);
}

static void nothing_came(void **state) {
    (void)state;
    struct instance_list list = {0};
    struct plan_item item = make(&list, &bandwidth, NAN, NAN);
    js *record = judge_record(&item, "host", 0, NULL, "hang", "no end within 2 s");
    assert_string_equal(js_get_string(record, "outcome", ""), "hang");
    assert_null(js_get(record, "samples"));
    js_free(record);
    instance_list_free(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits),
        cmocka_unit_test(samples),
        cmocka_unit_test(outcomes),
        cmocka_unit_test(nothing_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
