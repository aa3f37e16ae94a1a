/* SPDX-License-Identifier: Apache-2.0 */
/* What gpu/ makes of NVML's answers, and of a library that answers nothing, wrongly, or not at all. */
#include "base/clock.h"
#include "gpu/facts_child.h"
#include "gpu/nvml.h"

#include <string.h>

#include "unit/gpu/fake.h"

static const int64_t patient = 20 * NS_PER_S;

static void ask(struct gpu_list *out, int64_t timeout_ns) {
    struct error err = {0};
    assert_true(gpu_facts_child(out, timeout_ns, &err));
}

/* What a made-up library that answers `lines` gives as the reason for no GPU. */
static void expect_reason(const char *lines, int64_t timeout_ns, const char *part) {
    struct gpu_list list;
    use_fake("nvml", lines);
    ask(&list, timeout_ns);
    assert_int_equal(list.count, 0);
    if (strstr(list.reason, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", list.reason, part);
    gpu_list_free(&list);
}

static void counts(void **state) {
    (void)state;
    static const struct {
        const char *lines;
        size_t count;
    } rows[] = {{"count 1\n", 1}, {"count 2\n", 2}, {"count 64\n", 64}, {"count 100000\n", 64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu_list list;
        use_fake("nvml", rows[i].lines);
        ask(&list, patient);
        assert_int_equal(list.count, rows[i].count);
        assert_string_equal(list.reason, "");
        for (size_t k = 0; k < list.count; k++) {
            assert_int_equal(list.items[k].index, (int)k);
            assert_true(k == 0 || strcmp(list.items[k - 1].bdf, list.items[k].bdf) < 0);
        }
        gpu_list_free(&list);
    }
}

static void fields(void **state) {
    (void)state;
    struct gpu_list list;
    use_fake("nvml", "count 1\n");
    ask(&list, patient);
    assert_int_equal(list.count, 1);
    const struct gpu_info *gpu = &list.items[0];
    assert_string_equal(gpu->uuid, "GPU-00000000-0000-0000-0000-000000000000");
    assert_string_equal(gpu->bdf, "0000:c8:00.0");
    assert_string_equal(gpu->name, "Made-up GPU");
    assert_string_equal(gpu->driver, "580.159.04");
    assert_int_equal(gpu->cc_major, 12);
    assert_int_equal(gpu->memory_mib, 97887);
    assert_int_equal(gpu->mem_clock_max_mhz, 12481);
    assert_int_equal(gpu->sm_clock_max_mhz, 2430);
    assert_int_equal(gpu->pcie_gen_max, 5);
    assert_false(gpu->mig); /* "not supported" is an answer */
    assert_string_equal(gpu->unusable, "");
    const js *raw = js_at(list.raw, 0);
    assert_true(js_get_bool(js_get(raw, "ecc"), "enabled", false));
    assert_int_equal(js_get_int(js_get(raw, "power_w"), "limit", -1), 600);
    assert_int_equal(js_get_int(js_get(raw, "throttle_us"), "sw_power_cap", -1), 5000);
    assert_true(js_is_null(js_get(js_get(raw, "throttle_us"), "hw_thermal")));
    assert_string_equal(js_string(js_at(js_get(raw, "throttle"), 1), ""), "sw_power_cap");
    /* Functions that the library does not have. */
    assert_int_equal(gpu->bar1_mib, -1);
    assert_int_equal(gpu->memory_bus_bits, -1);
    assert_true(js_is_null(js_get(raw, "fabric_state")));
    gpu_list_free(&list);
}

static void old_library(void **state) {
    (void)state;
    struct gpu_list list;
    struct error err = {0};
    use_fake("nvml_old", "count 2\n");
    ask(&list, patient);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].bdf, "0000:c7:00.0");
    assert_int_equal(list.items[0].memory_mib, -1);
    assert_int_equal(list.items[0].cc_major, -1);
    gpu_list_free(&list);
    js *activity = gpu_activity_child(patient, &err);
    assert_int_equal(js_length(activity), 2);
    assert_true(js_is_null(js_get(js_at(activity, 0), "processes")));
    js_free(activity);
}

static void reasons(void **state) {
    (void)state;
    expect_reason("count 0\n", patient, "shows no GPU");
    expect_reason("init 9\n", patient, "not loaded");
    expect_reason("init 18\n", patient, "versions differ");
    expect_reason("init 17\n", patient, "refused");
    expect_reason("init 999\n", patient, "999");
    expect_reason("init 4711\n", patient, "4711");
    expect_reason("count_code 4\n", patient, "no permission");
    expect_reason("crash init\n", patient, "signal 11");
    expect_reason("crash gpu\n", patient, "signal 11");
    expect_reason("hang init\n", 200 * NS_PER_MS, "no answer within");
    expect_reason("hang gpu\n", 200 * NS_PER_MS, "no answer within");
}

static void absent_library(void **state) {
    (void)state;
    struct gpu_list list;
    setenv("GPUVET_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    ask(&list, patient);
    assert_int_equal(list.count, 0);
    assert_non_null(strstr(list.reason, "/nonexistent/libnvidia-ml.so.1"));
    gpu_list_free(&list);
    setenv("GPUVET_NVML", "/etc/passwd", 1); /* no library at all */
    ask(&list, patient);
    assert_int_equal(list.count, 0);
    assert_non_null(strstr(list.reason, "GPUVET_NVML"));
    gpu_list_free(&list);
}

static void lost_gpu(void **state) {
    (void)state;
    struct gpu_list list;
    use_fake("nvml", "count 3\nlost 1\n");
    ask(&list, patient);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].unusable, "");
    assert_non_null(strstr(list.items[1].unusable, "lost"));
    assert_string_equal(list.items[1].uuid, "");
    assert_string_equal(list.items[2].unusable, "");
    gpu_list_free(&list);
}

static void activity(void **state) {
    (void)state;
    struct error err = {0};
    use_fake("nvml", "count 2\nprocesses 200\n"); /* more than are first made room for */
    js *found = gpu_activity_child(patient, &err);
    assert_int_equal(js_length(found), 2);
    const js *second = js_at(found, 1);
    assert_int_equal(js_get_int(second, "utilization_percent", -1), 8);
    assert_int_equal(js_get_int(second, "memory_used_mib", -1), 887);
    const js *processes = js_get(second, "processes");
    assert_int_equal(js_length(processes), 200);
    assert_int_equal(js_get_int(js_at(processes, 199), "pid", -1), 1199);
    assert_int_equal(js_get_int(js_at(processes, 199), "used_mib", -1), 64);
    assert_true(js_is_null(js_get(js_at(processes, 0), "used_mib")));
    js_free(found);
    use_fake("nvml", "crash count\n");
    assert_null(gpu_activity_child(patient, &err));
    assert_non_null(strstr(err.text, "signal 11"));
}

static void counters(void **state) {
    (void)state;
    struct error err = {0};
    use_fake("nvml", "count 2\n");
    struct nvml *nvml = nvml_open(&err);
    assert_non_null(nvml);
    js *known = nvml_counters(nvml, "GPU-00000000-0000-0000-0000-000000000001", NVML_STATE);
    assert_int_equal(js_get_int(js_get(known, "throttled_us"), "sw_power_cap", -1), 5000);
    assert_true(js_is_null(js_get(known, "replays")));
    js *unknown = nvml_counters(nvml, "GPU-of-another-machine", NVML_STATE | NVML_LINK);
    assert_true(js_is_null(js_get(js_get(unknown, "throttled_us"), "sw_power_cap")));
    assert_true(js_is_null(js_get(unknown, "power_w")));
    js_free(known);
    js_free(unknown);
    nvml_close(nvml);
}

/* Each numbering of the slowdown counters gives the same; where both are there and disagree, neither. */
static void throttle_numbers(void **state) {
    (void)state;
    static const struct {
        const char *lines;
        int64_t hw_thermal, hw_power_brake;
    } rows[] = {{"slowdowns earlier\n", 7000, 8000},
                {"slowdowns later\n", 7000, 8000},
                {"slowdowns both\n", 7000, 8000},
                {"slowdowns differ\n", -1, -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err = {0};
        use_fake("nvml", rows[i].lines);
        struct nvml *nvml = nvml_open(&err);
        assert_non_null(nvml);
        js *counters = nvml_counters(nvml, "GPU-00000000-0000-0000-0000-000000000000", 0);
        const js *us = js_get(counters, "throttled_us");
        assert_int_equal(js_get_int(us, "sw_power_cap", -1), 5000);
        assert_int_equal(js_get_int(us, "sw_thermal", -1), 6000);
        assert_int_equal(js_get_int(us, "hw_thermal", -1), rows[i].hw_thermal);
        assert_int_equal(js_get_int(us, "hw_power_brake", -1), rows[i].hw_power_brake);
        js_free(counters);
        nvml_close(nvml);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(counts, drop_fake),
        cmocka_unit_test_teardown(fields, drop_fake),
        cmocka_unit_test_teardown(old_library, drop_fake),
        cmocka_unit_test_teardown(reasons, drop_fake),
        cmocka_unit_test_teardown(absent_library, drop_fake),
        cmocka_unit_test_teardown(lost_gpu, drop_fake),
        cmocka_unit_test_teardown(activity, drop_fake),
        cmocka_unit_test_teardown(counters, drop_fake),
        cmocka_unit_test_teardown(throttle_numbers, drop_fake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
