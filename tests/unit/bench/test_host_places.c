/* SPDX-License-Identifier: Apache-2.0 */
/* Where the host cases would run on captured machines that are not at hand: which cores and nodes, what is
 * judged, what is skipped and why. */
#include "unit/bench/captured.h"

#include "base/text.h"
#include "bench/host_common.h"

#include <string.h>

static struct instance_list plan(const struct node *node, const char *name) {
    struct instance_list list = instances_of(name, node);
    assert_true(list.count > 0);
    return list;
}

static bool has(const js *object, const char *key, const char *value) {
    char number[32];
    const js *found = js_get(object, key);
    snprintf(number, sizeof number, "%lld", (long long)js_int(found, -999));
    return strcmp(js_string(found, number), value) == 0;
}

/* "core=irq,cpu_node=0,idle_us=50": the one instance with all of these in where or params, and on `metric`
 * where that is not NULL. */
static const struct instance *one(const struct instance_list *list, const char *metric, const char *wanted) {
    struct strings conditions = {0};
    const struct instance *found = NULL;
    strings_split(&conditions, wanted, ',');
    for (size_t i = 0; i < list->count; i++) {
        const struct instance *instance = &list->items[i];
        bool all = instance->level != LEVEL_HIDDEN &&
                   (metric == NULL || strcmp(metric, instance->metric->name) == 0);
        for (size_t c = 0; c < conditions.count && all; c++) {
            char key[64];
            const char *equals = strchr(conditions.items[c], '=');
            assert_non_null(equals);
            snprintf(key, sizeof key, "%.*s", (int)(equals - conditions.items[c]), conditions.items[c]);
            all = has(instance->where, key, equals + 1) || has(instance->params, key, equals + 1);
        }
        if (!all)
            continue;
        if (found != NULL)
            fail_msg("two instances with %s", wanted);
        found = instance;
    }
    if (found == NULL)
        fail_msg("no instance with %s", wanted);
    strings_free(&conditions);
    return found;
}

static void skipped(const struct instance *instance, const char *because) {
    if (instance->skip == NULL || strstr(instance->skip, because) == NULL)
        fail_msg("skip is '%s', not for '%s'", instance->skip == NULL ? "none" : instance->skip, because);
}

static int attribute(const struct instance *instance, const char *key) {
    return (int)js_get_int(instance->attributes, key, -999);
}

#define REST ",idle_us=1000,source=remote,control=none"

/* 2 × 64 cores in complexes of 8, four GPUs a socket. */
static void wakes_on_two_sockets(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    js_set_string(node.moving, "irq.gpu.affinity",
                  "0000:ff:00.0=3,0000:01:00.0=9,11,0000:81:00.0=200,0000:82:00.0=70");
    struct instance_list list = plan(&node, "host.wake");
    static const int local[] = {1, 65};
    for (int i = 0; i < 2; i++) {
        struct text key = {0};
        text_addf(&key, "core=local,cpu_node=%d" REST, i);
        const struct instance *instance = one(&list, NULL, key.data);
        assert_null(instance->skip);
        assert_int_equal(instance->cpu, local[i]);
        int waker = attribute(instance, "waker_cpu");
        assert_int_not_equal(waker, instance->cpu);
        assert_int_equal(topology_cpu_node(node.topology, waker), i);
        text_clear(&key);
        text_addf(&key, "core=far,cpu_node=%d" REST, i);
        instance = one(&list, NULL, key.data);
        assert_int_equal(topology_cpu_node(node.topology, instance->cpu), 1 - i);
        assert_int_equal(topology_cpu_node(node.topology, attribute(instance, "waker_cpu")), 1 - i);
        text_free(&key);
    }
    const struct instance *irq = one(&list, NULL, "core=irq,cpu_node=0" REST);
    assert_int_equal(irq->cpu, 9); /* of a list the first */
    assert_string_equal(js_get_string(irq->attributes, "irq_bdf", ""), "0000:01:00.0");
    skipped(one(&list, NULL, "core=irq,cpu_node=1" REST), "not allowed"); /* 200 is no CPU here */
    instance_list_free(&list);
    node_free(&node);
}

static void hostile_interrupt_facts(void **state) {
    (void)state;
    static const char *const words[] = {"",
                                        "0000:01:00.0",
                                        "0000:01:00.0=",
                                        "0000:01:00.0=-1",
                                        "0000:01:00.0=x",
                                        "0000:01:00.0=99999999999999999999",
                                        "x0000:01:00.0=5",
                                        "unknown"};
    struct node node = captured_node("two-socket-8gpu");
    char bdf[16];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        js_set_string(node.moving, "irq.gpu.affinity", words[i]);
        assert_int_equal(host_irq_cpu(&node, 0, bdf), -1);
    }
    struct instance_list list = plan(&node, "host.wake");
    skipped(one(&list, NULL, "core=irq,cpu_node=0" REST), "not known");
    instance_list_free(&list);
    node_free(&node);
}

/* Judged: local core, no control, short idles, both sources; no other. */
static void what_is_judged(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    struct instance_list list = plan(&node, "host.wake");
    int judged = 0;
    for (size_t i = 0; i < list.count; i++) {
        const struct instance *instance = &list.items[i];
        bool expected = has(instance->where, "core", "local") && has(instance->params, "control", "none") &&
                        js_get_int(instance->params, "idle_us", 0) <= 1000;
        assert_int_equal(instance->level == LEVEL_PRIMARY, expected);
        judged += expected ? 1 : 0;
    }
    assert_int_equal(judged, 2 * 2 * 2); /* nodes, sources, idle times */
    instance_list_free(&list);
    node_free(&node);
}

static void controls(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    static const char poll[] = "core=local,cpu_node=0,idle_us=1000,source=remote,control=poll";
    static const char first[] = "core=local,cpu_node=0,idle_us=1000,source=remote,control=first-state";
    js_set_string(node.environment, "pm_qos.cpu_latency_us", "needs root");
    struct instance_list list = plan(&node, "host.wake");
    skipped(one(&list, NULL, poll), "needs root");
    instance_list_free(&list);

    js_set_int(node.environment, "pm_qos.cpu_latency_us", 2000000000);
    list = plan(&node, "host.wake");
    assert_null(one(&list, NULL, poll)->skip);
    assert_int_equal(attribute(one(&list, NULL, poll), "pm_qos_us"), 0);
    assert_int_equal(attribute(one(&list, NULL, first), "pm_qos_us"), 99); /* C2 takes 100 us */
    instance_list_free(&list);

    js_set_string(node.environment, "idle.driver", "none");
    list = plan(&node, "host.wake");
    skipped(one(&list, NULL, poll), "cpuidle");
    instance_list_free(&list);
    node_free(&node);
}

static void guests_and_clocks_are_marked(void **state) {
    (void)state;
    static const char *const cases[] = {"host.wake", "host.frequency", "host.ramp", "host.handoff",
                                        "host.memory"};
    struct node guest = captured_node("guest-2gpu");
    struct node metal = captured_node("two-socket-8gpu");
    js_set_string(metal.environment, "kernel.clocksource", "hpet");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct instance_list list = plan(&guest, cases[c]);
        for (size_t i = 0; i < list.count; i++) {
            assert_non_null(js_get(list.items[i].attributes, "guest"));
            assert_null(js_get(list.items[i].attributes, "clocksource"));
        }
        instance_list_free(&list);
        list = plan(&metal, cases[c]);
        for (size_t i = 0; i < list.count; i++) {
            assert_null(js_get(list.items[i].attributes, "guest"));
            assert_string_equal(js_get_string(list.items[i].attributes, "clocksource", ""), "hpet");
        }
        instance_list_free(&list);
    }
    node_free(&guest);
    node_free(&metal);
}

static int listed_cpu(const struct instance *instance, size_t at) {
    return (int)js_int(js_at(js_get(instance->attributes, "cpus"), at), -999);
}

static void lines_between_cores(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    struct instance_list list = plan(&node, "host.handoff");
    assert_int_equal(list.count, 6);
    const struct instance *same = one(&list, NULL, "role=same-complex,cpu_node=1");
    const struct instance *other = one(&list, NULL, "role=other-complex,cpu_node=1");
    const struct instance *socket = one(&list, NULL, "role=other-socket,cpu_node=1");
    assert_int_equal(listed_cpu(same, 0), 65);
    assert_in_range(listed_cpu(same, 1), 64, 71);
    assert_int_not_equal(listed_cpu(same, 1), 65);
    assert_in_range(listed_cpu(other, 1), 72, 127);
    assert_in_range(listed_cpu(socket, 1), 0, 63);
    instance_list_free(&list);
    node_free(&node);

    node = captured_node("guest-2gpu");
    list = plan(&node, "host.handoff");
    assert_null(one(&list, NULL, "role=same-complex")->skip);
    skipped(one(&list, NULL, "role=other-complex"), "one L3");
    skipped(one(&list, NULL, "role=other-socket"), "one socket");
    instance_list_free(&list);
    node_free(&node);
}

static void memory_of_every_node(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    struct instance_list list = plan(&node, "host.memory");
    for (int c = 0; c < 2; c++)
        for (int m = 0; m < 2; m++) {
            struct text key = {0};
            text_addf(&key, "cpu_node=%d,mem_node=%d", c, m);
            const struct instance *bandwidth = one(&list, "bandwidth", key.data);
            const struct instance *latency = one(&list, "latency", key.data);
            assert_int_equal(bandwidth->level, c == m ? LEVEL_PRIMARY : LEVEL_DESCRIPTIVE);
            assert_int_equal(latency->level, c == m ? LEVEL_PRIMARY : LEVEL_DESCRIPTIVE);
            assert_int_equal(js_length(js_get(bandwidth->attributes, "cpus")), 64);
            assert_int_equal(topology_cpu_node(node.topology, listed_cpu(bandwidth, 63)), c);
            assert_int_equal(topology_cpu_node(node.topology, latency->cpu), c);
            assert_int_equal(attribute(bandwidth, "os_node"), m);
            /* Eight L3 of 32 MiB a socket, of which one core has one. */
            assert_int_equal(js_get_int(bandwidth->params, "bytes", 0), 1 << 30);
            assert_int_equal(js_get_int(latency->params, "bytes", 0), 256 << 20);
            text_free(&key);
        }
    instance_list_free(&list);
    js_set_int(node.moving, "memory.available_mib", 600);
    list = plan(&node, "host.memory");
    skipped(one(&list, "bandwidth", "cpu_node=0,mem_node=0"), "2048 MiB");
    assert_null(one(&list, "latency", "cpu_node=0,mem_node=0")->skip);
    instance_list_free(&list);
    node_free(&node);
}

/* Four nodes a socket: judged only where the GPUs are, shown everywhere. */
static void memory_of_small_nodes(void **state) {
    (void)state;
    struct node node = captured_node("nps4-2gpu");
    struct instance_list list = plan(&node, "host.memory");
    int nodes = topology_node_count(node.topology), judged = 0, shown = 0;
    for (size_t i = 0; i < list.count; i++) {
        judged += list.items[i].level == LEVEL_PRIMARY ? 1 : 0;
        shown += list.items[i].level == LEVEL_DESCRIPTIVE ? 1 : 0;
    }
    int gpu_nodes[8];
    int n = host_gpu_nodes(&node, gpu_nodes, 8);
    assert_int_equal(judged, 2 * n);
    assert_int_equal(judged + shown, 2 * nodes * nodes);
    instance_list_free(&list);
    node_free(&node);
}

static void a_cpuset_without_the_node(void **state) {
    (void)state;
    struct node node = captured_node("cpuset-2gpu");
    struct instance_list list = plan(&node, "host.wake");
    for (size_t i = 0; i < list.count; i++)
        if (has(list.items[i].where, "cpu_node", "1") && has(list.items[i].where, "core", "local"))
            skipped(&list.items[i], "allowed");
    assert_null(one(&list, NULL, "core=local,cpu_node=0" REST)->skip);
    instance_list_free(&list);
    node_free(&node);
}

static void frequencies(void **state) {
    (void)state;
    struct node node = captured_node("two-socket-8gpu");
    struct instance_list list = plan(&node, "host.frequency");
    assert_int_equal(list.count, 3);
    assert_int_equal(one(&list, NULL, "cores=one,load=none")->cpu, 1);
    assert_int_equal(one(&list, NULL, "cores=all,load=none")->cpu, -1);
    assert_int_equal(js_length(js_get(one(&list, NULL, "cores=all,load=vector")->attributes, "cpus")), 128);
    instance_list_free(&list);
    node_free(&node);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wakes_on_two_sockets),
        cmocka_unit_test(hostile_interrupt_facts),
        cmocka_unit_test(what_is_judged),
        cmocka_unit_test(controls),
        cmocka_unit_test(guests_and_clocks_are_marked),
        cmocka_unit_test(lines_between_cores),
        cmocka_unit_test(memory_of_every_node),
        cmocka_unit_test(memory_of_small_nodes),
        cmocka_unit_test(a_cpuset_without_the_node),
        cmocka_unit_test(frequencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
