/* SPDX-License-Identifier: Apache-2.0 */
/* The "gpus" array, from a driver or from anybody. */
#include "system/gpus.h"

#include "system/facts.h"

#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

static struct gpu_list from_text(const char *text) {
    struct error err = {0};
    struct gpu_list list;
    js *array = js_parse(text, strlen(text), &err);
    gpu_list_from_json(array, &list);
    js_free(array);
    return list;
}

static void addresses(void **state) {
    static const struct {
        const char *said, *is;
    } rows[] = {{"0000:41:00.0", "0000:41:00.0"},
                {"00000000:4A:00.0", "0000:4a:00.0"},
                {"0002:03:1f.7", "0002:03:1f.7"},
                {"10000:01:00.0", "10000:01:00.0"},
                {"00010000:01:00.0", ""},
                {"41:00.0", ""},
                {"0000:41:00", ""},
                {"0000:41:00.0x", ""},
                {"0000:411:00.0", ""},
                {"0000:4:00.0", ""},
                {"0000: 1:00.0", ""},
                {"", ""},
                {"000000000:41:00.0", ""},
                {"../../../etc", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char bdf[16];
        bool good = gpu_bdf(rows[i].said, bdf);
        assert_string_equal(bdf, rows[i].is);
        assert_int_equal(good, rows[i].is[0] != '\0');
    }
}

static void takes_what_is_there(void **state) {
    (void)state;
    struct gpu_list list = from_text(
        "[{\"index\":0,\"uuid\":\"GPU-a\",\"bdf\":\"0000:AB:00.0\",\"name\":\"X\",\"driver\":\"580.1\","
        "\"cc\":\"12.0\",\"memory_mib\":97887,\"mig\":true,\"clocks_mhz\":{\"mem_max\":12481},"
        "\"pcie\":{\"gen_max\":5},\"power_w\":{\"limit\":600,\"draw\":80},\"ecc\":{\"enabled\":null}}]");
    assert_int_equal(list.count, 1);
    const struct gpu_info *gpu = &list.items[0];
    assert_string_equal(gpu->bdf, "0000:ab:00.0");
    assert_int_equal(gpu->cc_major, 12);
    assert_int_equal(gpu->cc_minor, 0);
    assert_int_equal(gpu->memory_mib, 97887);
    assert_int_equal(gpu->mem_clock_max_mhz, 12481);
    assert_int_equal(gpu->pcie_gen_max, 5);
    assert_int_equal(gpu->pcie_width_max, -1); /* not there: unknown */
    assert_int_equal(gpu->bar1_mib, -1);
    assert_true(gpu->mig);
    assert_string_equal(gpu->unusable, "");
    js *stable = js_new_object(), *moving = js_new_object();
    gpu_list_environment(&list, stable, moving);
    assert_int_equal(js_get_int(stable, "gpu.GPU-a.power_limit_w", 0), 600);
    assert_int_equal(js_get_int(moving, "gpu.GPU-a.power_draw_w", 0), 80);
    assert_null(js_get(stable, "gpu.GPU-a.ecc")); /* null is no value */
    assert_null(js_get(stable, "gpu.GPU-a.power_draw_w"));
    js_free(stable);
    js_free(moving);
    gpu_list_free(&list);
}

/* A GPU that fell off the bus has an address at best, and the driver's reason. */
static void keeps_why_a_gpu_is_unusable(void **state) {
    (void)state;
    struct gpu_list list = from_text(
        "[{\"index\":0,\"driver\":\"580.1\",\"unusable\":\"NVML: the GPU is lost\"},{\"index\":1}]");
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].unusable, "NVML: the GPU is lost");
    assert_non_null(strstr(list.items[1].unusable, "UUID"));
    gpu_list_free(&list);
}

static void survives_anything(void **state) {
    (void)state;
    static const char *const rows[] = {
        "{}",
        "[]",
        "[null,1,\"x\",[],{}]",
        "[{\"uuid\":5,\"bdf\":{},\"cc\":\"a.b\",\"index\":-9,\"memory_mib\":\"1\",\"mig\":3}]",
        "[{\"cc\":\"99999999999.1\",\"index\":99999999999999,\"clocks_mhz\":[],\"pcie\":1e300}]",
        "[{\"uuid\":\"GPU-\\u001b[31m\",\"bdf\":\"00000000000000000000000000000000000000\"}]",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu_list list = from_text(rows[i]);
        js *stable = js_new_object(), *moving = js_new_object();
        gpu_list_environment(&list, stable, moving);
        for (size_t g = 0; g < list.count; g++) {
            assert_null(strchr(list.items[g].uuid, '\033'));
            assert_true(list.items[g].index >= 0);
        }
        if (list.count == 0)
            assert_true(strlen(list.reason) > 0);
        js_free(stable);
        js_free(moving);
        gpu_list_free(&list);
    }
    js *many = js_new_array();
    struct gpu_list list;
    for (int i = 0; i < 1000; i++)
        js_append(many, js_new_object());
    gpu_list_from_json(many, &list);
    assert_int_equal(list.count, 64);
    gpu_list_free(&list);
    js_free(many);
}

static void nodes_answer_by_reason(void **state) {
    (void)state;
    struct node node = {.environment = js_new_object(), .moving = js_new_object()};
    js_set_string(node.environment, "a", "text");
    js_set_string(node.environment, "b", FACT_NEEDS_ROOT);
    js_set_string(node.environment, "c", FACT_UNKNOWN);
    js_set_int(node.environment, "pci.x.mps", 256);
    js_set_int(node.moving, "pci.x.link_gen", 1);
    assert_string_equal(node_text(&node, "a"), "text");
    assert_null(node_text(&node, "b"));
    assert_null(node_text(&node, "c"));
    assert_null(node_text(&node, "d"));
    assert_true(node_number(&node, "pci.%s.mps", "x") == 256);
    assert_true(node_number(&node, "pci.%s.link_gen", "x") == 1);
    assert_true(node_number(&node, "b") == -1);
    assert_true(node_number(&node, "d") == -1);
    node_free(&node);
    struct error err = {0};
    js *bad = js_new_object();
    js_set_string(bad, "topology", "<no xml");
    assert_false(node_from_json(bad, &node, &err));
    js_set(bad, "environment", js_new_object());
    assert_false(node_from_json(bad, &node, &err));
    assert_false(node_from_json(NULL, &node, &err));
    js_free(bad);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(takes_what_is_there),
        cmocka_unit_test(keeps_why_a_gpu_is_unusable),
        cmocka_unit_test(survives_anything),
        cmocka_unit_test(nodes_answer_by_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
