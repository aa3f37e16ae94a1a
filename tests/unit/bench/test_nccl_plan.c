/* SPDX-License-Identifier: Apache-2.0 */
/* Which collectives are planned on captured machines, and what is known of them beforehand. */
#include "unit/bench/captured.h"

#include "base/text.h"
#include "bench/nccl_common.h"
#include "run/plan.h"
#include "run/where.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const cases[] = {"nccl.all_reduce", "nccl.all_gather", "nccl.reduce_scatter",
                                    "nccl.broadcast",  "nccl.reduce",     "nccl.alltoall",
                                    "nccl.sendrecv",   "nccl.paths",      "decode.step"};
enum { N_CASES = sizeof cases / sizeof *cases };

static int count_on(const char *bench, const struct node *node, enum level level, const char *pattern) {
    struct instance_list list = instances_of(bench, node);
    int n = count(bench, &list, level, pattern);
    instance_list_free(&list);
    return n;
}

static void no_key_twice(void **state) {
    (void)state;
    static const char *const captures[] = {"two-socket-8gpu", "guest-2gpu"};
    for (int c = 0; c < 2; c++) {
        struct node node = captured_node(captures[c]);
        for (int i = 0; i < N_CASES; i++) {
            struct instance_list list = instances_of(cases[i], &node);
            struct strings keys = {0};
            assert_true(list.count > 0);
            for (size_t k = 0; k < list.count; k++) {
                const struct instance *one = &list.items[k];
                char *key = series_key(cases[i], 1, one->metric->name, "", one->where, one->params, "host");
                if (strings_contain(&keys, key))
                    fail_msg("twice: %s", key);
                strings_add(&keys, key);
                assert_true(one->seconds > 0 && one->samples > 0 && one->operations > 0);
                assert_int_equal(one->cpu, -1); /* each rank's thread has a core of its own */
                free(key);
            }
            strings_free(&keys);
            instance_list_free(&list);
        }
        node_free(&node);
    }
}

static void judged_are_few(void **state) {
    (void)state;
    struct node eight = captured_node("two-socket-8gpu"), two = captured_node("guest-2gpu");
    assert_int_equal(count_on("nccl.all_reduce", &two, LEVEL_PRIMARY, "*"), 8);
    assert_int_equal(count_on("nccl.all_reduce", &eight, LEVEL_PRIMARY, "*"), 24);
    for (int ranks = 2; ranks <= 8; ranks *= 2) {
        char pattern[80];
        for (int type = 0; type < 2; type++)
            for (int size = 0; size < 4; size++) {
                static const int bytes[] = {32 << 10, 256 << 10, 1 << 20, 64 << 20};
                snprintf(pattern, sizeof pattern, "*/%s{*bytes=%d,dtype=%s,*ranks=%d*",
                         size < 2 ? "call" : "time", bytes[size], type == 0 ? "float" : "bf16", ranks);
                assert_int_equal(count_on("nccl.all_reduce", &eight, LEVEL_PRIMARY, pattern), 1);
            }
    }
    for (int i = 1; i < 7; i++) {
        assert_int_equal(count_on(cases[i], &eight, LEVEL_PRIMARY, "*"), 2);
        assert_int_equal(count_on(cases[i], &eight, LEVEL_PRIMARY, "*/time{*bytes=67108864,*ranks=8*"), 1);
        assert_int_equal(count_on(cases[i], &eight, LEVEL_PRIMARY, "*/call{*bytes=262144,*ranks=8*"), 1);
    }
    assert_int_equal(count_on("decode.step", &eight, LEVEL_PRIMARY, "*graph=on*"), 2);
    assert_int_equal(count_on("decode.step", &eight, LEVEL_PRIMARY, "*"), 2);
    /* From 8 bytes to 4 GiB, in and out of place, in every type. */
    for (size_t bytes = 8; bytes <= (size_t)4 << 30; bytes *= 2) { /* what nccl-tests prints */
        char pattern[80];
        snprintf(pattern, sizeof pattern, "*/busbw{*bytes=%zu,dtype=float,place=out,ranks=8*", bytes);
        assert_int_equal(count_on("nccl.all_reduce", &eight, LEVEL_THOROUGH, pattern) +
                             count_on("nccl.all_reduce", &eight, LEVEL_DESCRIPTIVE, pattern),
                         1);
    }
    assert_int_equal(count_on("nccl.all_reduce", &eight, LEVEL_THOROUGH, "*bytes=4294967296,*"), 1);
    assert_int_equal(count_on("nccl.all_gather", &eight, LEVEL_THOROUGH, "*place=in*"), 5);
    assert_int_equal(count_on("nccl.alltoall", &eight, LEVEL_THOROUGH, "*place=in*"), 0);
    assert_true(count_on("nccl.reduce", &eight, LEVEL_THOROUGH, "*dtype=int32*") > 0);
    node_free(&eight);
    node_free(&two);
}

/* Ranks count in PCI order whatever the UUIDs' order is, each has another core near its GPU. */
static void ranks_and_cores(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    struct instance_list list = instances_of("nccl.all_reduce", &node);
    for (size_t i = 0; i < list.count; i++) {
        const struct instance *one = &list.items[i];
        struct strings uuids = {0};
        where_gpus(one->where, &uuids);
        const js *order = js_get(one->attributes, "order"), *cpus = js_get(one->attributes, "cpus");
        const js *bdfs = js_get(one->attributes, "bdfs");
        assert_int_equal(js_length(order), uuids.count);
        assert_int_equal(js_length(cpus), uuids.count);
        size_t last = 0;
        for (size_t r = 0; r < uuids.count; r++) {
            const char *uuid = uuids.items[js_int(js_at(order, r), -1)];
            size_t at = 0;
            while (at < node.gpus.count && strcmp(node.gpus.items[at].uuid, uuid) != 0)
                at++;
            assert_true(at < node.gpus.count && (r == 0 || at > last));
            last = at;
            assert_string_equal(js_string(js_at(bdfs, r), ""), node.gpus.items[at].bdf);
            int near = topology_device_node(node.topology, node.gpus.items[at].bdf);
            assert_int_equal(topology_cpu_node(node.topology, (int)js_int(js_at(cpus, r), -1)), near);
            for (size_t k = 0; k < r; k++)
                assert_int_not_equal(js_int(js_at(cpus, r), -1), js_int(js_at(cpus, k), -2));
        }
        strings_free(&uuids);
    }
    instance_list_free(&list);
    node_free(&node);
}

/* A bandwidth has the links' rate as its limit, doubled at most where switches reduce. */
static void limits(void **state) {
    (void)state;
    struct node node = captured_node("guest-2gpu");
    struct instance_list list = instances_of("nccl.all_reduce", &node);
    int n = 0;
    for (size_t i = 0; i < list.count; i++) {
        bool busbw = list.items[i].metric == &nccl_metrics[NCCL_BUSBW];
        n += busbw;
        if (busbw)
            assert_true(fabs(list.items[i].limit_raw - 450) < 1e-6); /* 18 links of 25, two ranks */
        else
            assert_true(isnan(list.items[i].limit_raw));
    }
    assert_true(n > 1);
    instance_list_free(&list);
    node_free(&node);
}

static void one_gpu_is_a_skip(void **state) {
    (void)state;
    struct node node = captured_node("guest-2gpu");
    struct plan_options options = {.profile = "standard", .seed = 1, .target = "host"};
    struct plan plan;
    struct error err = {0};
    node.gpus.count = 1;
    assert_true(plan_make(&node, &options, &plan, &err));
    int skipped = 0, decode = 0;
    for (size_t i = 0; i < plan.n_items; i++) {
        const struct plan_item *item = &plan.items[i];
        if (text_starts(item->bench->name, "nccl.")) {
            assert_non_null(item->instance.skip);
            assert_non_null(strstr(item->instance.skip, "needs 2 GPUs"));
            skipped++;
        }
        if (strcmp(item->bench->name, "decode.step") == 0) {
            assert_null(item->instance.skip);
            assert_int_equal(js_get_int(item->instance.params, "ranks", 0), 1);
            decode++;
        }
    }
    assert_int_equal(skipped, 8);
    assert_int_equal(decode, 4);
    plan_free(&plan);
    /* Asked for by name, a communicator of one rank shows that all but the wires works. */
    struct strings names = {0};
    strings_add(&names, "nccl.all_reduce@1/*corrupt=none*");
    options.cases = &names;
    assert_true(plan_make(&node, &options, &plan, &err));
    assert_int_equal(plan.n_items, 2);
    assert_null(plan.items[0].instance.skip);
    plan_free(&plan);
    strings_free(&names);
    node.gpus.count = 2;
    node_free(&node);
}

/* What only a log tells needs a process of its own; nothing else does. */
static void environments(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    for (int i = 0; i < N_CASES; i++) {
        struct instance_list list = instances_of(cases[i], &node);
        for (size_t k = 0; k < list.count; k++) {
            bool own = list.items[k].env != NULL;
            assert_int_equal(own, strcmp(cases[i], "nccl.paths") == 0);
            if (own)
                assert_string_equal(js_get_string(list.items[k].env, "NCCL_DEBUG", ""), "INFO");
        }
        instance_list_free(&list);
    }
    node_free(&node);
}

/* 20 windows of 32 KiB lie in any L2, of 1 MiB partly in that of an H200; of 64 MiB there are as many as
 * divide a sample's operations and fit. */
static void windows_and_caches(void **state) {
    (void)state;
    static const struct {
        size_t bytes;
        bool in_place;
        int loop, windows;
        double walked_mib;
    } rows[] = {
        {1024, false, 20, 20, 0.0390625},    {32 << 10, false, 1, 20, 1.25},
        {1 << 20, false, 20, 20, 40},        {1 << 20, true, 20, 20, 20},
        {16 << 20, false, 20, 20, 640},      {32 << 20, false, 20, 10, 640},
        {64 << 20, false, 20, 5, 640},       {64 << 20, false, 1, 8, 1024},
        {128 << 20, false, 16, 4, 1024},     {512 << 20, false, 4, 1, 1024},
        {(size_t)4 << 30, true, 2, 1, 4096},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nccl_shape shape;
        assert_true(nccl_shape_make(NCCL_ALL_REDUCE, 2, NCCL_FLOAT, rows[i].bytes, rows[i].in_place, &shape));
        assert_int_equal(nccl_windows(&shape, rows[i].loop), rows[i].windows);
        assert_true(nccl_walked(&shape, rows[i].loop) == rows[i].walked_mib * 1048576);
    }
    struct nccl_shape gather;
    assert_true(nccl_shape_make(NCCL_ALL_GATHER, 4, NCCL_FLOAT, 1 << 20, false, &gather));
    assert_true(nccl_walked(&gather, 20) == 25.0 * 1048576); /* each sends a quarter of what it gets */
    struct node two = captured_node("guest-2gpu");
    struct instance_list list = instances_of("nccl.all_reduce", &two);
    for (size_t i = 0; i < list.count; i++) {
        const struct instance *one = &list.items[i];
        int64_t bytes = js_get_int(one->params, "bytes", 0);
        const char *word = js_get_string(one->attributes, "cache", "");
        if (bytes <= 32 << 10)
            assert_string_equal(word, "hot");
        if (bytes >= 64 << 20)
            assert_string_equal(word, "cold");
        assert_true(word[0] != '\0' && js_get(one->params, "cache") == NULL);
    }
    instance_list_free(&list);
    node_free(&two);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_twice),
        cmocka_unit_test(judged_are_few),
        cmocka_unit_test(windows_and_caches),
        cmocka_unit_test(ranks_and_cores),
        cmocka_unit_test(limits),
        cmocka_unit_test(one_gpu_is_a_skip),
        cmocka_unit_test(environments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
