/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "bench/link_limit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GPU "0000:41:00.0"
#define PORT "0000:40:01.0"
#define SWITCH "0000:3f:01.0"

/* Expected values are worked out here by hand, to the digits that a data sheet gives. */
static void near(double value, double expected, double within) {
    if (!(fabs(value - expected) <= within))
        fail_msg("%.6g instead of %.6g", value, expected);
}

static void raw_by_generation(void **state) {
    (void)state;
    near(link_raw(1, 1), 0.25, 1e-9); /* 2.5 GT/s, 8b/10b */
    near(link_raw(1, 16), 4.0, 1e-9);
    near(link_raw(2, 16), 8.0, 1e-9);
    near(link_raw(3, 16), 15.754, 0.001); /* 8 GT/s, 128b/130b */
    near(link_raw(4, 16), 31.508, 0.001);
    near(link_raw(5, 8), 31.508, 0.001); /* half the lanes, twice the rate */
    near(link_raw(5, 16), 63.015, 0.001);
    near(link_raw(6, 16), 121.0, 0.001); /* 64 GT/s, flits of 256 bytes with 242 for packets */
}

static void raw_of_what_does_not_exist(void **state) {
    (void)state;
    assert_true(isnan(link_raw(0, 16)));
    assert_true(isnan(link_raw(-1, -1)));
    assert_true(isnan(link_raw(8, 16)));
    assert_true(isnan(link_raw(5, 0)));
    assert_true(isnan(link_raw(5, 33)));
}

static void after_headers(void **state) {
    (void)state;
    double raw = link_raw(5, 16);
    near(link_after_headers(raw, 128), 53.0, 0.1);
    near(link_after_headers(raw, 256), 57.6, 0.05);
    near(link_after_headers(raw, 512), 60.2, 0.05);
    assert_true(link_after_headers(raw, 4096) < raw);
    assert_true(isnan(link_after_headers(raw, 0)));
    assert_true(isnan(link_after_headers(raw, -1)));
    assert_true(isnan(link_after_headers(NAN, 256)));
}

/* One device of a made-up path; -1 leaves a key out. */
static void device(struct node *node, const char *bdf, int generation, int width, int mps,
                   const char *parent) {
    const struct {
        const char *name;
        int value;
    } rows[] = {{"link_gen_max", generation}, {"link_width_max", width}, {"mps", mps}};
    char key[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(key, sizeof key, "pci.%s.%s", bdf, rows[i].name);
        if (rows[i].value >= 0)
            js_set_int(node->environment, key, rows[i].value);
    }
    snprintf(key, sizeof key, "pci.%s.parent", bdf);
    if (parent != NULL)
        js_set_string(node->environment, key, parent);
}

static struct node begin(void) {
    return (struct node){.environment = js_new_object(), .moving = js_new_object()};
}

/* Checks both limits and frees the node. `generation` and `width` are what NVML says; -1 unknown. */
static void limits_are(struct node *node, int generation, int width, double raw, double limit) {
    struct instance_list list = {0};
    static const struct metric metric = {"bandwidth", QUANTITY_BANDWIDTH, TIMING_GATED};
    struct instance *instance = instance_add(&list, &metric, LEVEL_PRIMARY);
    struct gpu_info gpu = {.bdf = GPU, .pcie_gen_max = generation, .pcie_width_max = width};
    link_set_limits(node, &gpu, instance);
    if (isnan(raw)) {
        assert_true(isnan(instance->limit_raw));
        assert_true(isnan(instance->limit));
    } else {
        near(instance->limit_raw, raw, 0.001);
        near(instance->limit, limit, 0.001);
    }
    instance_list_free(&list);
    js_free(node->environment);
    js_free(node->moving);
}

static void whole_path(void **state) {
    (void)state;
    struct node node = begin();
    device(&node, GPU, 5, 16, 256, PORT);
    device(&node, PORT, 5, 16, 256, NULL);
    double raw = link_raw(5, 16);
    limits_are(&node, -1, -1, raw, link_after_headers(raw, 256));
}

static void narrowest_link_and_smallest_mps(void **state) {
    (void)state;
    struct node node = begin();
    device(&node, GPU, 5, 16, 512, PORT);
    device(&node, PORT, 5, 16, 128, SWITCH);
    device(&node, SWITCH, 4, 8, 256, NULL);
    double raw = link_raw(4, 8);
    limits_are(&node, -1, -1, raw, link_after_headers(raw, 128));
}

static void a_wider_bridge_changes_nothing(void **state) {
    (void)state;
    struct node node = begin();
    device(&node, GPU, 4, 8, 256, PORT);
    device(&node, PORT, 5, 16, 512, NULL);
    double raw = link_raw(4, 8);
    limits_are(&node, -1, -1, raw, link_after_headers(raw, 256));
}

static void lanes_that_did_not_train(void **state) {
    (void)state;
    struct node node = begin();
    device(&node, GPU, 5, 16, 256, PORT);
    device(&node, PORT, 5, 16, 256, NULL);
    js_set_int(node.environment, "pci." GPU ".link_width", 4);
    double raw = link_raw(5, 4);
    limits_are(&node, -1, -1, raw, link_after_headers(raw, 256));
}

static void an_idle_generation_is_no_limit(void **state) {
    (void)state;
    struct node node = begin();
    device(&node, GPU, 5, 16, 256, PORT);
    device(&node, PORT, 5, 16, 256, NULL);
    js_set_int(node.moving, "pci." GPU ".link_gen", 1);
    js_set_int(node.moving, "pci." PORT ".link_gen", 1);
    double raw = link_raw(5, 16);
    limits_are(&node, -1, -1, raw, link_after_headers(raw, 256));
}

static void unknown_mps_leaves_the_raw_limit(void **state) {
    (void)state;
    double raw = link_raw(5, 16);
    struct node node = begin();
    device(&node, GPU, 5, 16, 256, PORT);
    device(&node, PORT, 5, 16, -1, NULL);
    limits_are(&node, -1, -1, raw, raw);
    node = begin();
    device(&node, GPU, 5, 16, -1, PORT);
    device(&node, PORT, 5, 16, 256, NULL);
    js_set_string(node.environment, "pci." GPU ".mps", "needs root");
    limits_are(&node, -1, -1, raw, raw);
    /* The GPU's own MPS says nothing of a path that is not to be seen. */
    node = begin();
    device(&node, GPU, 5, 16, 128, NULL);
    limits_are(&node, -1, -1, raw, raw);
}

static void nvml_where_the_environment_is_silent(void **state) {
    (void)state;
    double raw = link_raw(5, 16);
    struct node node = begin();
    limits_are(&node, 5, 16, raw, raw);
    node = begin();
    limits_are(&node, 5, -1, NAN, NAN);
    node = begin();
    limits_are(&node, -1, -1, NAN, NAN);
    /* The environment goes before NVML. */
    node = begin();
    device(&node, GPU, 4, 16, -1, NULL);
    limits_are(&node, 5, 16, link_raw(4, 16), link_raw(4, 16));
}

static void a_guest_has_invented_bridges(void **state) {
    (void)state;
    double raw = link_raw(5, 16);
    struct node node = begin();
    device(&node, GPU, 5, 16, 128, PORT);
    device(&node, PORT, 1, 1, 128, NULL);
    js_set_string(node.environment, "hypervisor", "kvm");
    limits_are(&node, -1, -1, raw, raw);
    /* The same path on bare metal is what it says. */
    node = begin();
    device(&node, GPU, 5, 16, 128, PORT);
    device(&node, PORT, 1, 1, 128, NULL);
    js_set_string(node.environment, "hypervisor", "none");
    limits_are(&node, -1, -1, link_raw(1, 1), link_after_headers(link_raw(1, 1), 128));
}

static void hostile_values(void **state) {
    (void)state;
    double raw = link_raw(5, 16);
    struct node node = begin();
    device(&node, GPU, 5, 16, 256, GPU); /* its own parent */
    limits_are(&node, -1, -1, raw, link_after_headers(raw, 256));
    node = begin();
    js_set_number(node.environment, "pci." GPU ".link_gen_max", 1e300);
    js_set_number(node.environment, "pci." GPU ".link_width_max", 1e300);
    js_set_number(node.environment, "pci." GPU ".mps", 1e300);
    js_set_string(node.environment, "pci." GPU ".parent",
                  "a parent with a name that is longer than any address of a PCI device can be");
    limits_are(&node, -1, -1, NAN, NAN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_by_generation),
        cmocka_unit_test(raw_of_what_does_not_exist),
        cmocka_unit_test(after_headers),
        cmocka_unit_test(whole_path),
        cmocka_unit_test(narrowest_link_and_smallest_mps),
        cmocka_unit_test(a_wider_bridge_changes_nothing),
        cmocka_unit_test(lanes_that_did_not_train),
        cmocka_unit_test(an_idle_generation_is_no_limit),
        cmocka_unit_test(unknown_mps_leaves_the_raw_limit),
        cmocka_unit_test(nvml_where_the_environment_is_silent),
        cmocka_unit_test(a_guest_has_invented_bridges),
        cmocka_unit_test(hostile_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
