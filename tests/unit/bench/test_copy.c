/* SPDX-License-Identifier: Apache-2.0 */
/* The copy cases on captured machines, and what of them needs no GPU. */
#include "unit/bench/captured.h"

#include "base/text.h"
#include "bench/copy_lanes.h"
#include "bench/copy_pair.h"
#include "bench/host_data.h"
#include "bench/pinned.h"
#include "run/where.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *param(const struct instance *instance, const char *name) {
    return js_get_string(instance->params, name, "");
}

static const char *role(const struct instance *instance) {
    return js_get_string(instance->where, "role", "");
}

static void one_way(const char *bench) {
    struct node node = captured_node("two-socket-8gpu");
    struct instance_list list = instances_of(bench, &node);
    /* Primary: 512 MiB, pinned, local, by the copy engine, once a GPU, and nothing else. */
    assert_int_equal(count(bench, &list, LEVEL_PRIMARY, "*"), 8);
    assert_int_equal(count(bench, &list, LEVEL_PRIMARY,
                           "*{gpu=GPU-*,role=local;bytes=536870912,cache=cold,engine=ce,memory=pinned}@host"),
                     8);
    assert_int_equal(count(bench, &list, LEVEL_DESCRIPTIVE, "*memory=hostalloc}*"), 2); /* one a socket */
    assert_int_equal(count(bench, &list, LEVEL_THOROUGH, "*memory=hostalloc}*"), 6);
    assert_int_equal(count(bench, &list, LEVEL_DESCRIPTIVE, "*engine=sm,*"), 2);
    assert_int_equal(count(bench, &list, LEVEL_DESCRIPTIVE, "*role=remote1;*"), 8);
    assert_int_equal(count(bench, &list, LEVEL_DESCRIPTIVE, "*memory=pageable}*"), 2); /* one a socket */
    assert_int_equal(count(bench, &list, LEVEL_DESCRIPTIVE, "*bytes=4096,*"), 2);
    assert_int_equal(count(bench, &list, LEVEL_DESCRIPTIVE, "*bytes=268435456,*"), 2);
    assert_int_equal(count(bench, &list, LEVEL_HIDDEN, "*corrupt=*"), 3);
    for (size_t i = 0; i < list.count; i++) {
        const struct instance *one = &list.items[i];
        assert_true(one->operations >= 1 && one->operations <= 256); /* behind one gate */
        assert_true(one->seconds > 0 && one->samples > 0);
        assert_true(js_get_int(one->params, "bytes", 0) % 4 == 0);
    }
    instance_list_free(&list);
    node_free(&node);
}

static void one_way_on_two_sockets(void **state) {
    (void)state;
    one_way("copy.h2d");
    one_way("copy.d2h");
}

static void remote_memory_by_rank(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    struct instance_list list = instances_of("copy.h2d", &node);
    int remote = 0;
    for (size_t i = 0; i < list.count; i++) {
        const struct instance *one = &list.items[i];
        int near = topology_device_node(node.topology, js_get_string(one->attributes, "bdf", ""));
        int far = strcmp(role(one), "local") == 0 ? near : 1 - near;
        assert_int_equal(js_get_int(one->attributes, "os_node", -1),
                         topology_node_os_index(node.topology, far));
        /* The memory is far, the thread stays near the GPU. */
        assert_int_equal(topology_cpu_node(node.topology, one->cpu), near);
        remote += far != near ? 1 : 0;
    }
    assert_int_equal(remote, 8);
    instance_list_free(&list);
    node_free(&node);
    node = captured_node("guest-2gpu"); /* one node: nothing is remote */
    list = instances_of("copy.h2d", &node);
    assert_int_equal(count("copy.h2d", &list, LEVEL_DESCRIPTIVE, "*role=remote*"), 0);
    instance_list_free(&list);
    node_free(&node);
}

static void eight_nodes_have_seven_ranks(void **state) {
    (void)state;
    struct node node = captured_node("nps4-2gpu");
    struct instance_list list = instances_of("copy.d2h", &node);
    int nodes = topology_node_count(node.topology);
    assert_true(nodes > 3);
    /* The nearest and the farthest in the standard profile, those between in the thorough one. */
    assert_int_equal(count("copy.d2h", &list, LEVEL_DESCRIPTIVE, "*role=remote*"), 2 * 2);
    assert_int_equal(count("copy.d2h", &list, LEVEL_THOROUGH, "*role=remote*"), 2 * (nodes - 3));
    instance_list_free(&list);
    node_free(&node);
}

static void both_ways(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    struct instance_list list = instances_of("copy.bidir", &node);
    assert_int_equal(count("copy.bidir", &list, LEVEL_PRIMARY, "*"), 2); /* one a socket */
    assert_int_equal(count("copy.bidir", &list, LEVEL_PRIMARY, "*direction=both,*"), 2);
    assert_int_equal(count("copy.bidir", &list, LEVEL_DESCRIPTIVE, "*direction=both,*"), 6);
    assert_int_equal(count("copy.bidir", &list, LEVEL_DESCRIPTIVE, "*direction=h2d,*"), 2); /* one a socket */
    assert_int_equal(count("copy.bidir", &list, LEVEL_DESCRIPTIVE, "*direction=d2h,*"), 2);
    assert_int_equal(count("copy.bidir", &list, LEVEL_THOROUGH, "*engine=ce,*"), 12);
    assert_int_equal(count("copy.bidir", &list, LEVEL_THOROUGH, "*engine=sm,*"), 3 * 8);
    for (size_t i = 0; i < list.count; i++) { /* a sum has twice the limit of one direction */
        const struct instance *one = &list.items[i];
        double gen5 = 32.0 * 16 * 128 / 130 / 8;
        double times = strcmp(param(one, "direction"), "both") == 0 ? 2 : 1;
        assert_true(fabs(one->limit_raw - times * gen5) < 0.01);
    }
    instance_list_free(&list);
    node_free(&node);
}

static void all_gpus_at_once(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    struct instance_list list = instances_of("copy.all", &node);
    assert_int_equal(count("copy.all", &list, LEVEL_PRIMARY, "*"), 1);
    assert_int_equal(count("copy.all", &list, LEVEL_PRIMARY, "*direction=both,*"), 1);
    assert_int_equal(count("copy.all", &list, LEVEL_PRIMARY, "*{gpu=*"), 0);
    assert_int_equal(count("copy.all", &list, LEVEL_THOROUGH, "*{gpus=*engine=sm,*"), 3);
    assert_int_equal(count("copy.all", &list, LEVEL_THOROUGH, "*{gpu=*direction=h2d*"), 8);
    assert_int_equal(count("copy.all", &list, LEVEL_THOROUGH, "*{gpu=*direction=d2h*"), 8);
    assert_int_equal(count("copy.all", &list, LEVEL_THOROUGH, "*{gpu=*direction=both*"), 8);
    for (size_t i = 0; i < list.count; i++) {
        const struct instance *one = &list.items[i];
        const js *os_nodes = js_get(one->attributes, "os_nodes");
        struct strings uuids = {0};
        where_gpus(one->where, &uuids);
        assert_int_equal(uuids.count, 8);
        assert_int_equal(js_length(os_nodes), 8);
        for (size_t g = 0; g < uuids.count; g++) /* the memory of each is its own node's */
            for (size_t k = 0; k < node.gpus.count; k++)
                if (strcmp(node.gpus.items[k].uuid, uuids.items[g]) == 0)
                    assert_int_equal(
                        js_int(js_at(os_nodes, g), -1),
                        topology_node_os_index(node.topology,
                                               topology_device_node(node.topology, node.gpus.items[k].bdf)));
        strings_free(&uuids);
        strings_split(&uuids, js_get_string(one->where, "gpus", ""), '+');
        for (size_t g = 1; g < uuids.count; g++)
            assert_true(strcmp(uuids.items[g - 1], uuids.items[g]) < 0);
        strings_free(&uuids);
    }
    instance_list_free(&list);
    node_free(&node);
}

static void a_gpu_that_cannot_be_used_stays_out(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    for (size_t i = 1; i < node.gpus.count; i++)
        node.gpus.items[i].mig = i != 3;
    struct instance_list list = instances_of("copy.all", &node);
    struct strings uuids = {0};
    where_gpus(list.items[0].where, &uuids);
    assert_int_equal(uuids.count, 2);
    assert_null(list.items[0].skip);
    strings_free(&uuids);
    instance_list_free(&list);
    node.gpus.items[3].mig = true;
    list = instances_of("copy.all", &node);
    assert_int_equal(list.count, 1);
    assert_non_null(list.items[0].skip);
    instance_list_free(&list);
    node_free(&node);
}

/* "gpu direction timed/total" of each lane. */
static void lanes_are(int n_gpus, bool one, int direction, const char *expected) {
    struct copy_lane lanes[16];
    struct text text = {0};
    int n = copy_lanes_plan(n_gpus, one, direction, 2, lanes);
    for (int i = 0; i < n; i++)
        text_addf(&text, "%s%d %s %d/%d", i > 0 ? ", " : "", lanes[i].gpu,
                  copy_direction_names[lanes[i].direction], lanes[i].load.timed, lanes[i].load.total);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

static void which_lanes_run(void **state) {
    (void)state;
    /* One direction is measured; the other one lasts twice as long. */
    lanes_are(1, true, COPY_H2D, "0 h2d 2/2, 0 d2h 0/4");
    lanes_are(1, true, COPY_D2H, "0 h2d 0/4, 0 d2h 2/2");
    lanes_are(1, true, COPY_BOTH, "0 h2d 2/4, 0 d2h 2/4");
    lanes_are(2, false, COPY_H2D, "0 h2d 2/4, 1 h2d 2/4");
    lanes_are(2, true, COPY_H2D, "0 h2d 2/2, 1 h2d 0/4");
    lanes_are(3, true, COPY_D2H, "0 d2h 2/2, 1 d2h 0/4, 2 d2h 0/4");
    lanes_are(2, false, COPY_BOTH, "0 h2d 2/4, 0 d2h 2/4, 1 h2d 2/4, 1 d2h 2/4");
    lanes_are(2, true, COPY_BOTH, "0 h2d 2/4, 0 d2h 2/4, 1 h2d 0/4, 1 d2h 0/4");
}

/* ---- data ---- */

enum { PARTS = 5, ODD = 4 * 1000 };

static void threads_fill_and_check_as_one_does(void **state) {
    (void)state;
    size_t bytes = (size_t)PARTS * (16 << 20) + ODD;
    uint32_t *buffer = malloc(bytes);
    struct pattern_fault alone = {0}, together = {0};
    host_data_fill(buffer, bytes, 77);
    pattern_check_host(buffer, bytes, 77, &alone);
    assert_int_equal(alone.bad, 0);
    host_data_check(buffer, bytes, 77, &together);
    assert_int_equal(together.bad, 0);
    /* The last word, one in the fourth part, two in the second. */
    const size_t wrong[] = {bytes / 4 - 1, (3 << 22) + 5, (1 << 22) + 4097, (1 << 22) + 9000};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        buffer[wrong[i]] ^= 0x10;
    host_data_check(buffer, bytes, 77, &together);
    pattern_check_host(buffer, bytes, 77, &alone);
    assert_int_equal(together.bad, 4);
    assert_int_equal(together.first_offset, 4 * (size_t)wrong[2]);
    assert_int_equal(together.expected, pattern_word(wrong[2], 77));
    assert_int_equal(together.found, pattern_word(wrong[2], 77) ^ 0x10);
    assert_memory_equal(&alone, &together, sizeof alone);
    memset(buffer, 0, bytes);
    host_data_touch(buffer, bytes);
    size_t touched = 0;
    for (size_t i = 0; i < bytes; i += 4096)
        touched += ((char *)buffer)[i] == 1;
    assert_int_equal(touched, (bytes + 4095) / 4096);
    memset(buffer, 0xa5, bytes);
    host_data_check(buffer, bytes, 77, &together);
    assert_int_equal(together.bad, bytes / 4);
    host_data_fill(buffer, 8, 5); /* smaller than any part */
    host_data_check(buffer, 8, 5, &together);
    assert_int_equal(together.bad, 0);
    host_data_check(buffer, 0, 5, &together);
    assert_int_equal(together.bad, 0);
    free(buffer);
}

static void more_memory_than_there_is(void **state) {
    (void)state;
    struct error err = {0};
    assert_true(host_memory_suffices(4096, &err));
    assert_false(host_memory_suffices((size_t)1 << 60, &err));
    assert_non_null(strstr(err.text, "of host memory"));
}

static struct copy_pair planned(const char *memory, const char *engine, const char *cache, int64_t bytes) {
    struct case_context context = {.params = NULL, .seed = 9};
    struct copy_pair pair;
    js *params = js_new_object();
    js_set_int(params, "bytes", bytes);
    js_set_string(params, "memory", memory);
    if (engine != NULL)
        js_set_string(params, "engine", engine);
    if (cache != NULL)
        js_set_string(params, "cache", cache);
    context.params = params;
    copy_pair_plan(&pair, &context, NULL, true, 0, 0);
    js_free(params);
    return pair;
}

static void parameters_of_a_pair(void **state) {
    (void)state;
    struct copy_pair pair = planned("pinned", "ce", "cold", 4096);
    assert_int_equal(pair.memory, COPY_PINNED);
    assert_false(pair.kernel);
    assert_int_equal(pair.window, COPY_LARGE);
    pair = planned("hostalloc", "sm", "cold", COPY_LARGE);
    assert_int_equal(pair.memory, COPY_HOSTALLOC);
    assert_true(pair.kernel);
    assert_int_equal(pair.window, COPY_LARGE);
    pair = planned("pageable", NULL, NULL, 4096); /* small copies to one place, as copy.latency makes them */
    assert_int_equal(pair.memory, COPY_PAGEABLE);
    assert_false(pair.kernel);
    assert_int_equal(pair.window, 4096);
    pair = planned("pinned", "ce", "cold", 100000000); /* whole copies only */
    assert_int_equal(pair.window, 500000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_way_on_two_sockets),
        cmocka_unit_test(remote_memory_by_rank),
        cmocka_unit_test(eight_nodes_have_seven_ranks),
        cmocka_unit_test(both_ways),
        cmocka_unit_test(all_gpus_at_once),
        cmocka_unit_test(a_gpu_that_cannot_be_used_stays_out),
        cmocka_unit_test(which_lanes_run),
        cmocka_unit_test(threads_fill_and_check_as_one_does),
        cmocka_unit_test(more_memory_than_there_is),
        cmocka_unit_test(parameters_of_a_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
