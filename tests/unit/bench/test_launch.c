/* SPDX-License-Identifier: Apache-2.0 */
/* Where the launch cases and copy.latency run, with what, and what is judged. */
#include "unit/unit.h"

#include "base/files.h"
#include "base/text.h"
#include "bench/launch_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS = 8 };

/* Four GPUs on each of two nodes; the second one listed is on the second node. */
static const char *const bdfs[GPUS] = {"0000:16:00.0", "0000:84:00.0", "0000:17:00.0", "0000:75:00.0",
                                       "0000:76:00.0", "0000:85:00.0", "0000:f4:00.0", "0000:f5:00.0"};

static int set_up(void **state) {
    struct node *node = calloc(1, sizeof *node);
    struct text xml = {0};
    struct error err = {0};
    if (!file_read(GPUVET_SOURCE_DIR "/tests/fixtures/topologies/switch-8gpu.xml", 4 << 20, &xml, &err))
        fail_msg("%s", err.text);
    node->topology = topology_from_xml(xml.data, xml.length, &err);
    text_free(&xml);
    assert_non_null(node->topology);
    node->environment = js_new_object();
    node->moving = js_new_object();
    node->gpus.items = calloc(GPUS, sizeof *node->gpus.items);
    node->gpus.count = GPUS;
    for (int i = 0; i < GPUS; i++) {
        struct gpu_info *gpu = &node->gpus.items[i];
        *gpu = (struct gpu_info){.index = i, .memory_mib = 100000, .sm_clock_max_mhz = 1980};
        snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-%d", i);
        snprintf(gpu->bdf, sizeof gpu->bdf, "%s", bdfs[i]);
    }
    *state = node;
    return 0;
}

static int tear_down(void **state) {
    node_free(*state);
    free(*state);
    return 0;
}

static struct instance_list made(const struct node *node, const char *name) {
    struct instance_list list = {0};
    const struct bench_case *bench = bench_find(name);
    assert_non_null(bench);
    bench->instances(node, &list);
    return list;
}

static bool has(const struct instance *instance, const char *param, const char *value) {
    return strcmp(js_get_string(instance->params, param, ""), value) == 0;
}

/* Spin after busy, block after the longest idle, on the first GPU of each node; nothing else. */
static void what_is_judged(void **state) {
    static const char *const names[] = {"launch.latency", "launch.sync", "launch.graph"};
    for (size_t n = 0; n < 3; n++) {
        struct instance_list list = made(*state, names[n]);
        int judged = 0;
        for (size_t i = 0; i < list.count; i++) {
            const struct instance *instance = &list.items[i];
            if (instance->level != LEVEL_PRIMARY)
                continue;
            const char *gpu = js_get_string(instance->where, "gpu", "");
            bool busy = has(instance, "after", "busy");
            judged++;
            assert_true(strcmp(gpu, "GPU-0") == 0 || strcmp(gpu, "GPU-1") == 0);
            assert_true(has(instance, "wait", busy ? "spin" : "block"));
            assert_int_equal(js_get_int(instance->params, "idle_us", -1), busy ? 0 : LAUNCH_IDLE_US);
            assert_string_equal(instance->metric->name, "call");
        }
        assert_int_equal(judged, 4);
        instance_list_free(&list);
    }
}

/* Two items with the same metric, where and params would be one series. */
static void all_differ(void **state) {
    static const char *const names[] = {"launch.latency", "launch.sync", "launch.graph", "launch.gap",
                                        "copy.latency"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct instance_list list = made(*state, names[n]);
        assert_true(list.count >= GPUS);
        for (size_t i = 0; i < list.count; i++) {
            assert_int_equal(list.items[i].cpu >= 0, 1);
            assert_true(list.items[i].seconds > 0 && list.items[i].samples > 0);
            assert_in_range(list.items[i].operations, 1, 256);
            for (size_t j = 0; j < i; j++)
                assert_false(list.items[i].metric == list.items[j].metric &&
                             js_equal(list.items[i].where, list.items[j].where) &&
                             js_equal(list.items[i].params, list.items[j].params));
        }
        instance_list_free(&list);
    }
}

/* Of copy.latency only the call of 4 KiB that is waited for by spinning, after busy, is judged, on each GPU,
 * both ways. */
static void small_copies(void **state) {
    struct instance_list list = made(*state, "copy.latency");
    int judged = 0, chases = 0, devices = 0, waits = 0, left_out = 0;
    for (size_t i = 0; i < list.count; i++) {
        const struct instance *instance = &list.items[i];
        bool call = strcmp(instance->metric->name, "call") == 0;
        chases += strcmp(instance->metric->name, "chase") == 0;
        devices += strcmp(instance->metric->name, "device") == 0;
        bool primary = call && js_get_int(instance->params, "bytes", 0) == 4096 &&
                       has(instance, "wait", "spin") && has(instance, "after", "busy");
        assert_true(has(instance, "cache", "hot"));
        waits += call && !(has(instance, "wait", "spin") && has(instance, "after", "busy"));
        /* What is not judged is the host's doing, or CUDA's: the first GPU of each node tells. */
        bool thorough = instance->level == LEVEL_THOROUGH && !primary;
        assert_int_equal(instance->level, primary    ? LEVEL_PRIMARY
                                          : thorough ? LEVEL_THOROUGH
                                                     : LEVEL_DESCRIPTIVE);
        judged += primary;
        left_out += thorough;
    }
    assert_int_equal(judged, 2 * GPUS);
    assert_int_equal(devices, 2 * 3 * GPUS);
    assert_int_equal(chases, 3 * GPUS);
    /* Of each other GPU: two chases, four calls, six on the device. */
    assert_int_equal(left_out, 12 * (GPUS - 2));
    assert_int_equal(waits, 2 * 2 * 5); /* both ways, the first GPU of two nodes */
    instance_list_free(&list);
}

/* The device's own time is no host series: a guest does not spoil it. */
static void a_guest_marks_what_the_host_times(void **state) {
    static const char *const names[] = {"launch.latency", "launch.sync", "launch.graph", "launch.gap",
                                        "copy.latency"};
    const struct node *node = *state;
    js_set_string(node->environment, "hypervisor", "kvm");
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct instance_list list = made(node, names[n]);
        for (size_t i = 0; i < list.count; i++)
            assert_int_equal(js_get(list.items[i].attributes, "guest") != NULL,
                             strcmp(list.items[i].metric->name, "call") == 0);
        instance_list_free(&list);
    }
}

static void ways_of_waiting(void **state) {
    for (int how = 0; how < LAUNCH_WAITS; how++) {
        struct instance_list list = {0};
        static const struct metric metric = {"call", QUANTITY_TIME, TIMING_HOST};
        struct instance *instance = instance_add(&list, &metric, LEVEL_PRIMARY);
        launch_set_wait(*state, instance, (enum gpu_wait)how);
        struct case_context context = {.params = instance->params};
        assert_int_equal(launch_wait(&context), how);
        instance_list_free(&list);
    }
}

/* What launch.sync makes of beginnings that it saw late, where they are and where they are not the node's
 * own fault. */
static void enough_samples(void **state) {
    (void)state;
    static const struct {
        int count;
        bool guest;
        enum error_kind kind; /* ERROR_NONE: they will do */
        int flags;
    } rows[] = {
        {8, false, ERROR_NONE, 0},   {7, false, ERROR_SYSTEM, 0}, {8, true, ERROR_NONE, 0},
        {7, true, ERROR_NONE, 1},    {2, true, ERROR_NONE, 1},    {1, true, ERROR_ABSENT, 0},
        {0, false, ERROR_SYSTEM, 0}, {0, true, ERROR_ABSENT, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        js *attributes = js_new_object();
        struct error err = {0};
        struct case_context context = {
            .wanted_samples = 8, .attributes = attributes, .flags = js_new_array()};
        if (rows[i].guest)
            js_set_string(attributes, "guest", "kvm");
        bool good = launch_enough(&context, (size_t)rows[i].count, 48 - rows[i].count, &err);
        assert_int_equal(good, rows[i].kind == ERROR_NONE);
        if (!good) {
            assert_int_equal(err.kind, rows[i].kind);
            assert_non_null(strstr(err.text, "of 48 beginnings"));
        }
        assert_int_equal(js_length(context.flags), rows[i].flags);
        js_free(context.flags);
        js_free(attributes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_judged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_differ, set_up, tear_down),
        cmocka_unit_test_setup_teardown(small_copies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_guest_marks_what_the_host_times, set_up, tear_down),
        cmocka_unit_test(enough_samples),
        cmocka_unit_test_setup_teardown(ways_of_waiting, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
