/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "run/gpu_state.h"

#include <string.h>

static js *parse(const char *text) {
    struct error err = {0};
    js *value = js_parse(text, strlen(text), &err);
    if (value == NULL)
        fail_msg("%s", err.text);
    return value;
}

static js *between(const char *before, const char *after) {
    js *x = before == NULL ? NULL : parse(before);
    js *y = parse(after);
    js *state = gpu_state_between(x, y);
    js_free(x);
    js_free(y);
    return state;
}

static void differences(void **state) {
    (void)state;
    js *s = between(
        "{\"GPU-a\":{\"replays\":3,\"throttled_us\":{\"sw_power_cap\":10,\"hw_thermal\":null},"
        "\"aer\":{\"0000:01:00.0\":{\"correctable\":1,\"fatal\":0},\"0000:00:01.1\":{\"correctable\":2}}}}",
        "{\"GPU-a\":{\"replays\":5,\"throttled_us\":{\"sw_power_cap\":40,\"hw_thermal\":7},\"pcie_gen\":5,"
        "\"pcie_width\":16,\"temperature_c\":41,\"power_w\":null,"
        "\"aer\":{\"0000:01:00.0\":{\"correctable\":1,\"fatal\":0},\"0000:00:01.1\":{\"correctable\":6}}}}");
    const js *gpu = js_get(s, "GPU-a");
    assert_int_equal(js_get_int(gpu, "replays", -1), 2);
    assert_int_equal(js_get_int(js_get(gpu, "throttled_us"), "sw_power_cap", -1), 30);
    assert_true(js_is_null(js_get(js_get(gpu, "throttled_us"), "hw_thermal")));
    assert_int_equal(js_get_int(js_get(gpu, "aer"), "correctable", -1), 4);
    assert_int_equal(js_get_int(js_get(gpu, "aer"), "fatal", -1), 0);
    assert_true(js_is_null(js_get(js_get(gpu, "aer"), "nonfatal"))); /* nobody knows it */
    assert_int_equal(js_length(js_get(gpu, "aer_at")), 1);
    assert_int_equal(js_get_int(js_get(js_get(gpu, "aer_at"), "0000:00:01.1"), "correctable", -1), 4);
    assert_int_equal(js_get_int(gpu, "pcie_gen", -1), 5);
    assert_int_equal(js_get_int(gpu, "temperature_c", -1), 41);
    assert_true(js_is_null(js_get(gpu, "power_w")));
    js_free(s);
}

static void unknown(void **state) {
    (void)state;
    assert_null(gpu_state_between(NULL, NULL));
    /* Nothing before, a counter that began anew, rubbish instead of numbers: unknown, never a number. */
    static const char *const befores[] = {NULL, "{}", "{\"GPU-a\":{\"replays\":9}}",
                                          "{\"GPU-a\":{\"replays\":\"x\"}}", "[]"};
    for (size_t i = 0; i < sizeof befores / sizeof *befores; i++) {
        js *s = between(befores[i], "{\"GPU-a\":{\"replays\":5,\"aer\":{}}}");
        assert_true(js_is_null(js_get(js_get(s, "GPU-a"), "replays")));
        assert_true(js_is_null(js_get(js_get(js_get(s, "GPU-a"), "aer"), "fatal")));
        assert_null(js_get(js_get(s, "GPU-a"), "aer_at"));
        assert_false(gpu_state_throttled(s));
        js_free(s);
    }
}

static void links(void **state) {
    (void)state;
    js *where = parse("{\"from\":\"GPU-a\",\"to\":\"GPU-b\"}");
    js *uuids = gpu_state_uuids(where);
    assert_int_equal(js_length(uuids), 2);
    js *seen = parse("{\"GPU-a\":{\"gen\":5,\"width\":16},\"GPU-b\":{\"gen\":99,\"width\":16},"
                     "\"GPU-x\":{\"gen\":5,\"width\":16}}");
    js *s = gpu_state_add_links(NULL, uuids, seen);
    assert_int_equal(js_length(s), 1); /* nonsense and GPUs of other items are left out */
    assert_int_equal(js_get_int(js_get(js_get(s, "GPU-a"), "link"), "gen", -1), 5);
    s = gpu_state_add_links(s, uuids, NULL);
    assert_int_equal(js_length(s), 1);
    assert_null(gpu_state_add_links(NULL, uuids, NULL));
    js_free(s);
    js_free(seen);
    js_free(uuids);
    js_free(where);
}

static void throttled(void **state) {
    (void)state;
    js *power = parse("{\"GPU-a\":{\"throttled_us\":{\"sw_power_cap\":500,\"hw_thermal\":0}}}");
    js *heat = parse("{\"GPU-a\":{},\"GPU-b\":{\"throttled_us\":{\"hw_thermal\":1}}}");
    assert_false(gpu_state_throttled(NULL));
    assert_false(gpu_state_throttled(power)); /* GEMM at its power limit is as it should be */
    assert_true(gpu_state_throttled(heat));
    js_free(power);
    js_free(heat);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences),
        cmocka_unit_test(unknown),
        cmocka_unit_test(links),
        cmocka_unit_test(throttled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
