/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "bench/link_limit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GPU "0000:41:00.0"
#define PORT "0000:40:01.0"
#define SWITCH "0000:3f:01.0"
#define UUID "GPU-1"

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
    struct gpu_info gpu = {.bdf = GPU, .uuid = UUID, .pcie_gen_max = generation, .pcie_width_max = width};
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

/* A switch's link to the port above it is nobody's idle link: what it is trained to counts. */
static void an_uplink_that_trained_low(void **state) {
    (void)state;
    for (int slower = 0; slower < 2; slower++) {
        struct node node = begin();
        device(&node, GPU, 5, 16, 256, PORT);
        device(&node, PORT, 5, 16, 256, SWITCH);
        device(&node, SWITCH, 5, 16, 256, NULL);
        js_set_int(node.moving, "pci." GPU ".link_gen", 1);
        js_set_int(node.moving, "pci." PORT ".link_gen", 1);
        js_set_int(node.moving, "pci." SWITCH ".link_gen", slower ? 3 : 5);
        js_set_int(node.environment, "pci." SWITCH ".link_width", slower ? 16 : 4);
        double raw = slower ? link_raw(3, 16) : link_raw(5, 4);
        limits_are(&node, -1, -1, raw, link_after_headers(raw, 256));
    }
}

/* The GPU's own link counts as trained only while the GPU is awake, and never as low as one asleep. */
static void own_link_while_awake(void **state) {
    (void)state;
    static const struct {
        int pstate, generation, expected;
    } rows[] = {{0, 3, 3}, {8, 3, 5}, {-1, 3, 5}, {0, 1, 5}, {0, 2, 5}, {0, 5, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct node node = begin();
        device(&node, GPU, 5, 16, 256, PORT);
        device(&node, PORT, 5, 16, 256, NULL);
        if (rows[i].pstate >= 0)
            js_set_int(node.moving, "gpu." UUID ".pstate", rows[i].pstate);
        js_set_int(node.moving, "gpu." UUID ".pcie_gen", rows[i].generation);
        double raw = link_raw(rows[i].expected, 16);
        limits_are(&node, -1, -1, raw, link_after_headers(raw, 256));
    }
}

/* NVML counts the slot in. In a guest the slot is made up. */
static void a_slot_that_nvml_knows_to_be_slower(void **state) {
    (void)state;
    double raw = link_raw(3, 8);
    struct node node = begin();
    device(&node, GPU, 5, 16, 256, PORT);
    device(&node, PORT, 5, 16, 256, NULL);
    limits_are(&node, 3, 8, raw, link_after_headers(raw, 256));
    node = begin();
    device(&node, GPU, 5, 16, 256, PORT);
    js_set_string(node.environment, "hypervisor", "kvm");
    limits_are(&node, 1, 1, link_raw(5, 16), link_raw(5, 16));
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
    device(&node, GPU, 5, 16, 256, GPU); /* its own parent: no bridge is to be seen */
    limits_are(&node, -1, -1, raw, raw);
    node = begin();
    device(&node, GPU, 5, 16, 256, PORT);
    device(&node, PORT, 5, 16, 256, GPU); /* a ring */
    limits_are(&node, -1, -1, raw, link_after_headers(raw, 256));
    node = begin();
    js_set_number(node.environment, "pci." GPU ".link_gen_max", 1e300);
    js_set_number(node.environment, "pci." GPU ".link_width_max", 1e300);
    js_set_number(node.environment, "pci." GPU ".mps", 1e300);
    js_set_string(node.environment, "pci." GPU ".parent",
                  "a parent with a name that is longer than any address of a PCI device can be");
    limits_are(&node, -1, -1, NAN, NAN);
}

/* ---- several GPUs ---- */

/* Root port A, a switch below it with GPU 0 and GPU 1, and a second switch below that one with GPU 2; root
 * port B with GPU 3. A switch is an upstream port (u) and a downstream port for each device (d). */
static const struct gpu_info tree_gpus[] = {{.bdf = "0000:03:00.0", .uuid = "GPU-0", .cc_major = 9},
                                            {.bdf = "0000:04:00.0", .uuid = "GPU-1", .cc_major = 9},
                                            {.bdf = "0000:07:00.0", .uuid = "GPU-2", .cc_major = 10},
                                            {.bdf = "0000:41:00.0", .uuid = "GPU-3", .cc_major = 12}};

struct tree {
    int uplink_width; /* of the first switch */
    int inner_width;  /* of the second's link to the first */
    int far_mps;      /* of root port B */
};

static struct node tree(struct tree t) {
    struct node node = begin();
    device(&node, "0000:00:01.0", 5, t.uplink_width, 256, NULL);           /* root port A */
    device(&node, "0000:01:00.0", 5, t.uplink_width, 256, "0000:00:01.0"); /* u */
    device(&node, "0000:02:00.0", 5, 16, 256, "0000:01:00.0");             /* d */
    device(&node, "0000:02:01.0", 5, 16, 256, "0000:01:00.0");
    device(&node, "0000:02:02.0", 5, t.inner_width, 256, "0000:01:00.0");
    device(&node, "0000:05:00.0", 5, t.inner_width, 256, "0000:02:02.0"); /* u */
    device(&node, "0000:06:00.0", 5, 16, 256, "0000:05:00.0");            /* d */
    device(&node, "0000:03:00.0", 5, 16, 256, "0000:02:00.0");
    device(&node, "0000:04:00.0", 5, 16, 256, "0000:02:01.0");
    device(&node, "0000:07:00.0", 5, 16, 256, "0000:06:00.0");
    device(&node, "0000:40:01.0", 5, 16, t.far_mps, NULL); /* root port B */
    device(&node, "0000:41:00.0", 5, 16, t.far_mps, "0000:40:01.0");
    return node;
}

static void end(struct node *node) {
    js_free(node->environment);
    js_free(node->moving);
}

static void limits_near(struct link_limits got, double raw, double limit) {
    near(got.raw, raw, 0.001);
    near(got.limit, limit, 0.001);
}

static struct link_limits shared(const struct node *node, const char *which) {
    const struct gpu_info *gpus[4];
    size_t n = strlen(which);
    for (size_t i = 0; i < n; i++)
        gpus[i] = &tree_gpus[which[i] - '0'];
    return link_shared_limits(node, gpus, n);
}

static void gpus_share_their_links(void **state) {
    (void)state;
    double x16 = link_raw(5, 16);
    double after = link_after_headers(x16, 256);
    struct node node = tree((struct tree){.uplink_width = 16, .inner_width = 16, .far_mps = 256});
    limits_near(shared(&node, "0"), x16, after);
    limits_near(shared(&node, "01"), x16, after); /* one uplink for two */
    limits_near(shared(&node, "012"), x16, after);
    limits_near(shared(&node, "03"), 2 * x16, 2 * after); /* a root port each */
    limits_near(shared(&node, "30"), 2 * x16, 2 * after);
    limits_near(shared(&node, "0123"), 2 * x16, 2 * after);
    end(&node);
    /* A wide uplink carries both GPUs, and of the third what its own narrow link lets through. */
    node = tree((struct tree){.uplink_width = 32, .inner_width = 4, .far_mps = 256});
    limits_near(shared(&node, "01"), 2 * x16, 2 * after);
    limits_near(shared(&node, "02"), 1.25 * x16, 1.25 * after);
    limits_near(shared(&node, "20"), 1.25 * x16, 1.25 * after);
    limits_near(shared(&node, "0123"), 3 * x16, 3 * after);
    end(&node);
    /* Headers by each GPU's own path. */
    node = tree((struct tree){.uplink_width = 8, .inner_width = 16, .far_mps = 128});
    limits_near(shared(&node, "013"), 1.5 * x16,
                link_after_headers(x16 / 2, 256) + link_after_headers(x16, 128));
    end(&node);
}

static void a_sum_with_an_unknown_part_is_unknown(void **state) {
    (void)state;
    struct node node = begin();
    device(&node, "0000:03:00.0", 5, 16, 256, NULL);
    assert_true(isnan(shared(&node, "01").raw));
    assert_true(isnan(shared(&node, "01").limit));
    assert_true(isnan(link_shared_limits(&node, NULL, 0).raw));
    end(&node);
    /* A guest does not see what its GPUs share. */
    node = tree((struct tree){.uplink_width = 16, .inner_width = 16, .far_mps = 256});
    js_set_string(node.environment, "hypervisor", "kvm");
    limits_near(shared(&node, "01"), 2 * link_raw(5, 16), 2 * link_raw(5, 16));
    end(&node);
}

static struct link_limits peer(const struct node *node, int from, int to, int nvlinks) {
    return link_peer_limits(node, &tree_gpus[from], &tree_gpus[to], nvlinks);
}

static void between_two_gpus(void **state) {
    (void)state;
    double x16 = link_raw(5, 16);
    struct node node = tree((struct tree){.uplink_width = 4, .inner_width = 8, .far_mps = 128});
    /* Within a switch its uplink is not crossed; on the way to another switch the link between them is. */
    limits_near(peer(&node, 0, 1, 0), x16, link_after_headers(x16, 256));
    limits_near(peer(&node, 0, 2, 0), x16 / 2, link_after_headers(x16 / 2, 256));
    limits_near(peer(&node, 2, 0, 0), x16 / 2, link_after_headers(x16 / 2, 256));
    /* Through the root complex: both whole paths, the smaller MPS. */
    limits_near(peer(&node, 0, 3, 0), x16 / 4, link_after_headers(x16 / 4, 128));
    limits_near(peer(&node, 3, 0, 0), x16 / 4, link_after_headers(x16 / 4, 128));
    end(&node);
}

static void over_nvlink(void **state) {
    (void)state;
    struct node node = tree((struct tree){.uplink_width = 16, .inner_width = 16, .far_mps = 256});
    limits_near(peer(&node, 0, 1, 18), 450, 450);  /* H200: 900 GB/s both ways, by its data sheet */
    limits_near(peer(&node, 0, 2, 18), 450, 450);  /* the slower of two generations */
    assert_true(isnan(peer(&node, 3, 3, 18).raw)); /* cc 12 has none that is known */
    assert_true(isnan(peer(&node, 0, 1, -1).raw));
    assert_true(isnan(peer(&node, 0, 1, -1).limit));
    end(&node);
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
        cmocka_unit_test(an_uplink_that_trained_low),
        cmocka_unit_test(own_link_while_awake),
        cmocka_unit_test(a_slot_that_nvml_knows_to_be_slower),
        cmocka_unit_test(gpus_share_their_links),
        cmocka_unit_test(a_sum_with_an_unknown_part_is_unknown),
        cmocka_unit_test(between_two_gpus),
        cmocka_unit_test(over_nvlink),
        cmocka_unit_test(unknown_mps_leaves_the_raw_limit),
        cmocka_unit_test(nvml_where_the_environment_is_silent),
        cmocka_unit_test(a_guest_has_invented_bridges),
        cmocka_unit_test(hostile_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
