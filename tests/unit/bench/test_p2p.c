/* SPDX-License-Identifier: Apache-2.0 */
/* The P2P cases on captured machines, and what of them needs no GPU. */
#include "unit/bench/captured.h"

#include "base/text.h"
#include "bench/p2p_patterns.h"
#include "bench/p2p_rungs.h"
#include "bench/peer_exchange.h"
#include "run/plan.h"
#include "run/where.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct instance *find(const struct instance_list *list, const char *from, const char *to) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(js_get_string(list->items[i].attributes, "from_bdf", ""), from) == 0 &&
            strcmp(js_get_string(list->items[i].attributes, "to_bdf", ""), to) == 0)
            return &list->items[i];
    fail_msg("no instance from %s to %s", from, to);
    return NULL;
}

static const char *class_of(const struct instance *instance) {
    return js_get_string(instance->attributes, "path_class", "");
}

/* What the driver says of every pair instead. */
static void set_status(struct node *node, const char *word) {
    size_t n = node->gpus.count;
    js *rows = js_new_array();
    for (size_t i = 0; i < n; i++) {
        js *row = js_new_array();
        for (size_t k = 0; k < n; k++)
            js_append_string(row, i == k ? "X" : word);
        js_append(rows, row);
    }
    js *links = js_copy(node->gpus.nvlink);
    gpu_list_set_pairs(&node->gpus, rows, links);
    js_free(rows);
    js_free(links);
}

/* ---- instances ---- */

static void writes_of_every_pair_are_judged(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    struct instance_list list = instances_of("p2p.write", &node);
    assert_int_equal(count("p2p.write", &list, LEVEL_PRIMARY, "*"), 56);
    assert_int_equal(count("p2p.write", &list, LEVEL_PRIMARY,
                           "*{from=GPU-*,to=GPU-*;bytes=536870912,cache=cold,engine=ce,peer=on}@host"),
                     56);
    assert_int_equal(count("p2p.write", &list, LEVEL_HIDDEN, "*corrupt=*"), 3);
    const struct instance *near = find(&list, "0000:01:00.0", "0000:02:00.0");
    const struct instance *far = find(&list, "0000:01:00.0", "0000:a2:00.0");
    assert_string_equal(js_get_string(near->attributes, "access", ""), "write");
    assert_string_equal(class_of(near), "PHB");
    assert_string_equal(class_of(far), "SYS");
    assert_true(near->limit_raw > 60 && near->limit_raw < 64 && near->limit < near->limit_raw);
    double seconds = 0;
    for (size_t i = 0; i < list.count; i++) {
        const struct instance *one = &list.items[i];
        seconds += one->level == LEVEL_PRIMARY ? one->seconds : 0;
        assert_true(one->operations >= 1 && 2 * one->operations <= GPU_GATE_MAX_OPERATIONS &&
                    one->samples >= 1);
        assert_true(js_get_int(one->params, "bytes", 0) % 16 == 0);
    }
    assert_true(seconds < 2.2);
    instance_list_free(&list);
    node_free(&node);
}

/* All primary items of the P2P cases, and the ladder: at most 3 s of a round. */
static void a_round_on_eight_gpus(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    struct strings cases = {0};
    strings_add(&cases, "p2p.*");
    struct plan plan = {0};
    struct error err = {0};
    const struct plan_options options = {.profile = "standard", .seed = 1, .cases = &cases, .target = "host"};
    assert_true(plan_make(&node, &options, &plan, &err));
    double every = 0;
    int pairs = 0;
    for (size_t i = 0; i < plan.n_items; i++) {
        every += plan.items[i].every_round ? plan.items[i].instance.seconds : 0;
        pairs += plan.items[i].every_round && strcmp(plan.items[i].bench->name, "p2p.write") == 0;
    }
    assert_int_equal(pairs, 56);
    assert_true(plan.n_primary <= 110);
    if (every > 3)
        fail_msg("P2P takes %.2f s of every round", every);
    plan_free(&plan);
    strings_free(&cases);
    node_free(&node);
}

/* Reads and both ways: one pair of each path class and NUMA-node pair. */
static void some_stand_for_the_others(void **state) {
    (void)state;
    static const struct {
        const char *capture;
        int pairs, kinds;
    } rows[] = {
        {"two-socket-8gpu", 56, 5}, /* PHB and NODE on either socket, SYS between them */
        {"switches-4gpu", 12, 0},
        {"guest-2gpu", 2, 1},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct node node = captured_node(rows[r].capture);
        struct p2p_party party;
        struct p2p_path *paths = NULL;
        p2p_gather(&node, &party);
        int n = p2p_paths(&party, &paths), kinds = 0;
        assert_int_equal(n, rows[r].pairs);
        for (int i = 0; i < n; i++) {
            kinds += paths[i].stands_for_others;
            assert_true(!paths[i].stands_for_others || paths[i].from < paths[i].to);
        }
        if (rows[r].kinds > 0)
            assert_int_equal(kinds, rows[r].kinds);
        struct instance_list reads = instances_of("p2p.read", &node), both = instances_of("p2p.bidir", &node);
        assert_int_equal(count("p2p.read", &reads, LEVEL_PRIMARY, "*"), kinds);
        for (size_t i = 0; i < reads.count; i++)
            assert_string_equal(js_get_string(reads.items[i].attributes, "access", ""), "read");
        assert_int_equal(count("p2p.bidir", &both, LEVEL_PRIMARY, "*direction=both*"), kinds);
        assert_int_equal(count("p2p.bidir", &both, LEVEL_PRIMARY, "*"), kinds);
        assert_int_equal(count("p2p.bidir", &both, LEVEL_DESCRIPTIVE, "*direction=one*"), 2 * kinds);
        instance_list_free(&reads);
        instance_list_free(&both);
        free(paths);
        node_free(&node);
    }
}

static void nvlinks_make_class_and_limit(void **state) {
    (void)state;
    struct node node = captured_node("guest-2gpu");
    struct instance_list list = instances_of("p2p.write", &node);
    const struct instance *one = find(&list, "0000:00:05.0", "0000:00:06.0");
    assert_string_equal(class_of(one), "NV18");
    assert_true(fabs(one->limit_raw - 450) < 0.1);
    assert_true(one->operations >= 4); /* one copy of 1.3 ms would be too short for half a per cent */
    instance_list_free(&list);
    list = instances_of("p2p.bidir", &node);
    one = find(&list, "0000:00:05.0", "0000:00:06.0");
    assert_true(fabs(one->limit_raw - 900) < 0.1);
    instance_list_free(&list);
    gpu_list_set_pairs(&node.gpus, NULL, NULL); /* nobody knows: neither limit nor link */
    list = instances_of("p2p.write", &node);
    one = find(&list, "0000:00:05.0", "0000:00:06.0");
    assert_true(strncmp(class_of(one), "NV", 2) != 0);
    assert_true(isnan(one->limit_raw));
    assert_null(one->skip);
    instance_list_free(&list);
    node_free(&node);
}

static void without_p2p_each_case_says_so_once(void **state) {
    (void)state;
    static const char *const cases[] = {"p2p.write", "p2p.read", "p2p.bidir", "p2p.latency", "p2p.all"};
    struct node node = captured_node("two-socket-8gpu");
    set_status(&node, "CNS");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct instance_list list = instances_of(cases[i], &node);
        assert_int_equal(list.count, 1);
        assert_non_null(strstr(list.items[0].skip, "CNS (chipset not supported)"));
        instance_list_free(&list);
    }
    struct instance_list ladder = instances_of("p2p.ladder", &node); /* which says it rung by rung */
    assert_int_equal(count("p2p.ladder", &ladder, LEVEL_PRIMARY, "*"), 28);
    instance_list_free(&ladder);
    node_free(&node);
}

static void one_pair_without_p2p(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    js *rows = js_copy(node.gpus.p2p);
    js *row = js_new_array();
    for (int i = 0; i < 8; i++)
        js_append_string(row, i == 0 ? "X" : i == 3 ? "TNS" : "OK");
    js *all = js_new_array();
    js_append(all, row);
    for (size_t i = 1; i < 8; i++)
        js_append(all, js_copy(js_at(rows, i)));
    gpu_list_set_pairs(&node.gpus, all, NULL);
    struct instance_list list = instances_of("p2p.write", &node);
    const struct instance *one = find(&list, node.gpus.items[0].bdf, node.gpus.items[3].bdf);
    assert_non_null(strstr(one->skip, "TNS (topology not supported)"));
    assert_int_equal(count("p2p.write", &list, LEVEL_PRIMARY, "*"), 55);
    assert_string_equal(js_get_string(node.environment, "none", "absent"), "absent");
    instance_list_free(&list);
    js_free(rows);
    js_free(all);
    node_free(&node);
}

static void gpus_that_cannot_be_used_have_no_pairs(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    node.gpus.items[2].mig = true;
    snprintf(node.gpus.items[5].unusable, sizeof node.gpus.items[5].unusable, "lost");
    struct instance_list list = instances_of("p2p.write", &node);
    assert_int_equal(count("p2p.write", &list, LEVEL_PRIMARY, "*"), 30);
    instance_list_free(&list);
    node_free(&node);
}

/* 240 pairs are too many for a round, and for judging together. */
static void sixteen_gpus(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    struct gpu_info gpus[16];
    struct gpu_info *own = node.gpus.items;
    for (int i = 0; i < 16; i++) {
        gpus[i] = own[i % 8];
        gpus[i].index = i;
        snprintf(gpus[i].uuid, sizeof gpus[i].uuid, "GPU-%08d", i);
    }
    node.gpus.items = gpus;
    node.gpus.count = 16;
    struct strings cases = {0};
    strings_add(&cases, "p2p.*");
    struct plan plan = {0};
    struct error err = {0};
    const struct plan_options options = {.profile = "standard", .seed = 1, .cases = &cases, .target = "host"};
    assert_true(plan_make(&node, &options, &plan, &err));
    double every = 0;
    for (size_t i = 0; i < plan.n_items; i++)
        every += plan.items[i].every_round ? plan.items[i].instance.seconds : 0;
    assert_true(plan.n_primary < 100);
    assert_true(every < 3);
    plan_free(&plan);
    strings_free(&cases);
    node.gpus.items = own;
    node.gpus.count = 8;
    node_free(&node);
}

/* ---- p2p.all ---- */

static void each_lane_names_gpus_of_its_place(void **state) {
    (void)state;
    struct node node = captured_node("switches-4gpu");
    struct instance_list list = instances_of("p2p.all", &node);
    assert_true(list.count >= 8);
    for (size_t i = 0; i < list.count; i++) {
        const struct instance *one = &list.items[i];
        struct strings uuids = {0};
        where_gpus(one->where, &uuids);
        struct case_context context = {.where = one->where,
                                       .params = one->params,
                                       .attributes = one->attributes,
                                       .n_gpus = (int)uuids.count,
                                       .operations = one->operations};
        struct p2p_lane lanes[LANES_MAX];
        int n = p2p_lanes_plan(&context, lanes, LANES_MAX);
        assert_true(n >= 2);
        for (int k = 0; k < n; k++)
            assert_true(lanes[k].timed == one->operations && lanes[k].total == 2 * lanes[k].timed);
        const char *pattern = js_get_string(one->params, "pattern", "");
        const char *hub = js_get_string(one->where, "gpu", "");
        if (strcmp(pattern, "one_to_all") == 0)
            assert_string_equal(uuids.items[lanes[0].from], hub);
        if (strcmp(pattern, "all_to_one") == 0)
            assert_string_equal(uuids.items[lanes[0].to], hub);
        context.n_gpus--; /* a lane that names a GPU which is not there */
        assert_int_equal(p2p_lanes_plan(&context, lanes, LANES_MAX), -1);
        strings_free(&uuids);
    }
    instance_list_free(&list);
    node_free(&node);
}

static void patterns(void **state) {
    (void)state;
    struct p2p_pattern p;
    p2p_pattern_ring(4, &p);
    assert_int_equal(p.n, 4);
    assert_true(p.lanes[3][0] == 3 && p.lanes[3][1] == 0);
    p2p_pattern_star(5, 2, true, &p);
    assert_int_equal(p.n, 4);
    for (int i = 0; i < p.n; i++)
        assert_true(p.lanes[i][0] == 2 && p.lanes[i][1] != 2);
    assert_true(p2p_pattern_all(8, &p));
    assert_int_equal(p.n, 56);
    bool seen[8][8] = {{false}};
    for (int i = 0; i < p.n; i++) {
        assert_true(p.lanes[i][0] != p.lanes[i][1] && !seen[p.lanes[i][0]][p.lanes[i][1]]);
        seen[p.lanes[i][0]][p.lanes[i][1]] = true;
    }
    assert_false(p2p_pattern_all(16, &p));
}

/* Two switches with two GPUs each on two root complexes, and one GPU on a third. */
static void fans_go_to_other_root_complexes(void **state) {
    (void)state;
    struct node node = {.environment = js_new_object(), .moving = js_new_object()};
    static const char *const parents[][2] = {
        {"0000:16:00.0", "0000:14:00.0"}, {"0000:17:00.0", "0000:14:01.0"}, {"0000:14:00.0", "0000:10:01.1"},
        {"0000:14:01.0", "0000:10:01.1"}, {"0000:75:00.0", "0000:70:01.1"}, {"0000:76:00.0", "0000:70:01.1"},
        {"0000:81:00.0", "0000:80:03.1"},
    };
    static const char *const bdfs[] = {"0000:16:00.0", "0000:17:00.0", "0000:75:00.0", "0000:76:00.0",
                                       "0000:81:00.0"};
    struct gpu_info gpus[5] = {0};
    struct p2p_party party = {.node = &node, .n = 5};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        char key[64];
        snprintf(key, sizeof key, "pci.%s.parent", parents[i][0]);
        js_set_string(node.environment, key, parents[i][1]);
    }
    for (int i = 0; i < 5; i++) {
        snprintf(gpus[i].bdf, sizeof gpus[i].bdf, "%s", bdfs[i]);
        party.gpus[i] = &gpus[i];
    }
    struct p2p_roots roots;
    struct p2p_pattern fan;
    p2p_find_roots(&party, &roots);
    assert_int_equal(roots.n_roots, 3);
    assert_true(roots.root[0] == roots.root[1] && roots.root[2] == roots.root[3]);
    assert_true(p2p_pattern_fan(&party, &roots, roots.root[0], 2, 2, &fan));
    assert_int_equal(fan.n, 2);
    assert_true(fan.lanes[0][0] == 0 && fan.lanes[1][0] == 1);
    assert_true(roots.root[fan.lanes[0][1]] != roots.root[fan.lanes[1][1]]);
    assert_true(p2p_pattern_fan(&party, &roots, roots.root[0], 2, 1, &fan));
    assert_true(fan.lanes[0][1] == 2 && fan.lanes[1][1] == 3);
    assert_false(p2p_pattern_fan(&party, &roots, roots.root[0], 3, 2, &fan)); /* it has two */
    assert_false(p2p_pattern_fan(&party, &roots, roots.root[4], 2, 1, &fan));
    /* A guest's bridges are made up. */
    js_set_string(node.environment, "hypervisor", "kvm");
    p2p_find_roots(&party, &roots);
    assert_int_equal(roots.n_roots, 0);
    js_free(node.environment);
    js_free(node.moving);
}

/* Shared links are filled; writes that collapse carry next to nothing. The figures are those of two machines.
 */
static void a_collapse_is_told_from_a_full_link(void **state) {
    (void)state;
    const double two[] = {37, 37}, four[] = {52, 52, 52, 52};
    assert_true(p2p_collapsed(2.7, two, 2));
    assert_true(p2p_collapsed(4 * 7.0, four, 4));
    assert_false(p2p_collapsed(37, two, 2)); /* both share one uplink */
    assert_false(p2p_collapsed(53, four, 4));
    assert_false(p2p_collapsed(2.7, two, 1));
}

static void limits_count_each_gpus_port_once(void **state) {
    (void)state;
    struct p2p_path paths[6];
    struct p2p_pattern p;
    int n = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            if (i != k)
                paths[n++] = (struct p2p_path){.from = i, .to = k, .limits = {60, 57}};
    p2p_pattern_star(3, 0, true, &p);
    assert_true(fabs(p2p_pattern_limits(&p, paths, n).limit - 57) < 1e-9);
    p2p_pattern_all(3, &p);
    assert_true(fabs(p2p_pattern_limits(&p, paths, n).raw - 180) < 1e-9);
    paths[2].limits.limit = NAN;
    assert_true(isnan(p2p_pattern_limits(&p, paths, n).limit));
}

/* ---- lanes of two GPUs ---- */

static void bidir_loads_twice_as_long(void **state) {
    (void)state;
    js *params = js_new_object();
    struct case_context context = {.params = params, .n_gpus = 2, .operations = 3};
    struct p2p_lane lanes[4];
    assert_int_equal(p2p_lanes_plan(&context, lanes, 4), 1);
    assert_true(lanes[0].timed == 3 && lanes[0].total == 3);
    js_set_string(params, "direction", "one");
    assert_int_equal(p2p_lanes_plan(&context, lanes, 4), 2);
    assert_true(lanes[0].timed == 3 && lanes[0].total == 3 && lanes[1].timed == 0 && lanes[1].total == 6);
    assert_true(lanes[1].from == 1 && lanes[1].to == 0);
    js_set_string(params, "direction", "both");
    assert_int_equal(p2p_lanes_plan(&context, lanes, 4), 2);
    assert_true(lanes[0].timed == 3 && lanes[0].total == 6 && lanes[1].timed == 3 && lanes[1].total == 6);
    context.n_gpus = 1;
    assert_int_equal(p2p_lanes_plan(&context, lanes, 4), -1);
    js_free(params);
}

/* ---- the ladder ---- */

static void the_first_rung_that_fails_names_it(void **state) {
    (void)state;
    struct p2p_ladder ladder;
    p2p_ladder_start(&ladder);
    p2p_ladder_status(&ladder, "OK", "OK");
    assert_int_equal(p2p_ladder_broken(&ladder), RUNG_COUNT);
    p2p_ladder_set(&ladder, RUNG_ACCESS, VERDICT_OK, "both");
    p2p_ladder_set(&ladder, RUNG_COPY, VERDICT_FAIL, "wrong");
    assert_int_equal(p2p_ladder_broken(&ladder), RUNG_COPY);
    assert_int_equal(p2p_ladder_passed(&ladder), 2);
    js *told = js_new_object();
    p2p_ladder_tell(&ladder, told);
    const js *rungs = js_get(told, "rungs");
    assert_int_equal(js_length(rungs), RUNG_COUNT);
    assert_string_equal(js_get_string(told, "finding", ""), "p2p.copy");
    assert_string_equal(js_get_string(js_at(rungs, RUNG_EXCHANGE), "verdict", ""), "not reached");
    assert_string_equal(js_get_string(js_at(rungs, RUNG_COLLECTIVE), "verdict", ""), "not reached");
    js_free(told);
}

static void the_drivers_word_is_a_rung(void **state) {
    (void)state;
    static const struct {
        const char *there, *back;
        enum p2p_verdict verdict;
    } rows[] = {{"OK", "OK", VERDICT_OK},     {"", "", VERDICT_UNKNOWN},   {"OK", "", VERDICT_UNKNOWN},
                {"CNS", "CNS", VERDICT_FAIL}, {"OK", "TNS", VERDICT_FAIL}, {"GNS", "", VERDICT_FAIL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct p2p_ladder ladder;
        p2p_ladder_start(&ladder);
        p2p_ladder_status(&ladder, rows[i].there, rows[i].back);
        assert_int_equal(ladder.rungs[RUNG_STATUS].verdict, rows[i].verdict);
    }
}

/* ---- the exchange of flags ---- */

static const struct pingpong plan = {.first = 8, .warm = 2, .timed = 10, .limit_ns = 1};
static const char *const bdfs[2] = {"0000:01:00.0", "0000:02:00.0"};

static bool judge(struct pingpong_reading a, struct pingpong_reading b, struct peer_exchange_result *result,
                  struct error *err) {
    *result = (struct peer_exchange_result){.sides = {a, b}};
    *err = (struct error){0};
    return peer_exchange_judge(&plan, bdfs, result, err);
}

static void half_a_round_trip(void **state) {
    (void)state;
    struct peer_exchange_result r;
    struct error err;
    const struct pingpong_reading a = {.ns = 20000, .cycles = 40000, .received = 12, .done = 1};
    const struct pingpong_reading b = {.ns = 19000, .cycles = 1, .received = 12, .done = 1};
    assert_true(judge(a, b, &r, &err));
    assert_true(fabs(r.ns - 1000) < 1e-9);
    assert_true(fabs(r.sm_mhz - 2000) < 1e-9);
}

static void the_side_that_lost_a_number_is_named(void **state) {
    (void)state;
    struct peer_exchange_result r;
    struct error err;
    const struct pingpong_reading done = {.ns = 1, .received = 12, .done = 1};
    const struct pingpong_reading gave_up_3 = {.received = 3, .gave_up = 1};
    const struct pingpong_reading gave_up_4 = {.received = 4, .gave_up = 1};
    static const char first_sees_none[] = "0000:02:00.0 wrote number 4 of 12 into the flag of 0000:01:00.0";
    static const char second_sees_none[] = "0000:01:00.0 wrote number 4 of 12 into the flag of 0000:02:00.0";
    assert_false(judge(gave_up_3, gave_up_4, &r, &err)); /* the answer was lost */
    assert_int_equal(err.kind, ERROR_VERIFY);
    assert_non_null(strstr(err.text, first_sees_none));
    assert_false(judge(gave_up_3, gave_up_3, &r, &err)); /* the question was */
    assert_non_null(strstr(err.text, second_sees_none));
    assert_false(judge(gave_up_3, done, &r, &err));
    assert_non_null(strstr(err.text, first_sees_none));
    const struct pingpong_reading other = {.received = 3, .gave_up = 2, .wrong = 99, .expected = 11};
    assert_false(judge(gave_up_3, other, &r, &err));
    assert_non_null(strstr(err.text, "0000:02:00.0 found 99 in its flag"));
    const struct pingpong_reading silent = {0};
    assert_false(judge(silent, done, &r, &err));
    assert_int_equal(err.kind, ERROR_VERIFY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_of_every_pair_are_judged),
        cmocka_unit_test(a_round_on_eight_gpus),
        cmocka_unit_test(some_stand_for_the_others),
        cmocka_unit_test(nvlinks_make_class_and_limit),
        cmocka_unit_test(without_p2p_each_case_says_so_once),
        cmocka_unit_test(one_pair_without_p2p),
        cmocka_unit_test(gpus_that_cannot_be_used_have_no_pairs),
        cmocka_unit_test(sixteen_gpus),
        cmocka_unit_test(each_lane_names_gpus_of_its_place),
        cmocka_unit_test(patterns),
        cmocka_unit_test(fans_go_to_other_root_complexes),
        cmocka_unit_test(a_collapse_is_told_from_a_full_link),
        cmocka_unit_test(limits_count_each_gpus_port_once),
        cmocka_unit_test(bidir_loads_twice_as_long),
        cmocka_unit_test(the_first_rung_that_fails_names_it),
        cmocka_unit_test(the_drivers_word_is_a_rung),
        cmocka_unit_test(half_a_round_trip),
        cmocka_unit_test(the_side_that_lost_a_number_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
