/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies with known answers: boards whose `nvidia-smi topo -m` is public, with fewer cores. */
#include "system/topology.h"

#include "base/files.h"
#include "base/mem.h"
#include "base/text.h"

#include "unit/unit.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOPOLOGIES GPUVET_SOURCE_DIR "/tests/fixtures/topologies/"
#define CAPTURES GPUVET_SOURCE_DIR "/tests/fixtures/captures/"

static struct topology *from_file(const char *path) {
    struct text xml = {0};
    struct error err = {0};
    assert_true(file_read(path, 4 << 20, &xml, &err));
    struct topology *topology = topology_from_xml(xml.data, xml.length, &err);
    if (topology == NULL)
        fail_msg("%s", err.text);
    text_free(&xml);
    return topology;
}

/* The matrix of path classes, row by row, as topo -m prints it. */
static void expect_matrix(const struct topology *topology, const char *const *bdfs, size_t n,
                          const char *want) {
    struct text got = {0};
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            text_addf(&got, "%s%s", topology_path_class(topology, bdfs[i], bdfs[j]), j + 1 < n ? " " : "\n");
    assert_string_equal(text_string(&got), want);
    text_free(&got);
}

static void switches_on_two_sockets(void **state) {
    (void)state;
    static const char *const gpus[] = {"0000:16:00.0", "0000:17:00.0", "0000:75:00.0", "0000:76:00.0",
                                       "0000:84:00.0", "0000:85:00.0", "0000:f4:00.0", "0000:f5:00.0"};
    struct topology *t = from_file(TOPOLOGIES "switch-8gpu.xml");
    expect_matrix(t, gpus, 8,
                  "X PIX NODE NODE SYS SYS SYS SYS\n"
                  "PIX X NODE NODE SYS SYS SYS SYS\n"
                  "NODE NODE X PIX SYS SYS SYS SYS\n"
                  "NODE NODE PIX X SYS SYS SYS SYS\n"
                  "SYS SYS SYS SYS X PIX NODE NODE\n"
                  "SYS SYS SYS SYS PIX X NODE NODE\n"
                  "SYS SYS SYS SYS NODE NODE X PIX\n"
                  "SYS SYS SYS SYS NODE NODE PIX X\n");
    for (int i = 0; i < 8; i++)
        assert_int_equal(topology_device_node(t, gpus[i]), i / 4);
    assert_string_equal(topology_path_class(t, gpus[0], "0000:99:00.0"), "");
    assert_string_equal(topology_path_class(t, "garbage", gpus[0]), "");
    assert_int_equal(topology_device_node(t, "0000:99:00.0"), -1);
    topology_free(t);
}

static void leaf_switches_below_root_switches(void **state) {
    (void)state;
    static const char *const gpus[] = {"0000:25:00.0", "0000:26:00.0", "0000:2a:00.0", "0000:2b:00.0",
                                       "0000:45:00.0", "0000:46:00.0", "0000:49:00.0", "0000:4a:00.0"};
    struct topology *t = from_file(TOPOLOGIES "leaf-8gpu.xml");
    expect_matrix(t, gpus, 8,
                  "X PIX PXB PXB NODE NODE NODE NODE\n"
                  "PIX X PXB PXB NODE NODE NODE NODE\n"
                  "PXB PXB X PIX NODE NODE NODE NODE\n"
                  "PXB PXB PIX X NODE NODE NODE NODE\n"
                  "NODE NODE NODE NODE X PIX PXB PXB\n"
                  "NODE NODE NODE NODE PIX X PXB PXB\n"
                  "NODE NODE NODE NODE PXB PXB X PIX\n"
                  "NODE NODE NODE NODE PXB PXB PIX X\n");
    assert_int_equal(topology_socket_count(t), 1);
    assert_int_equal(topology_device_node(t, gpus[7]), 0);
    topology_free(t);
}

/* 2 × 16 cores; PU 32 + n is the second thread of core n. */
static void places_on_two_sockets(void **state) {
    (void)state;
    struct topology *t = from_file(TOPOLOGIES "switch-8gpu.xml");
    int order[2], cores[64];
    assert_int_equal(topology_core_count(t), 32);
    assert_int_equal(topology_all_cores(t, cores, 64), 32);
    assert_int_equal(cores[31], 31); /* one PU a core: never a second thread */
    assert_int_equal(topology_all_cores(t, cores, 5), 5);
    assert_int_equal(topology_pin_cpu(t, 0), 1); /* the first core takes the interrupts */
    assert_int_equal(topology_pin_cpu(t, 1), 17);
    assert_int_equal(topology_pin_cpu(t, 7), -1);
    assert_int_equal(topology_cpu_node(t, 63), 1);
    assert_int_equal(topology_cpu_node(t, 64), -1);
    assert_int_equal(topology_cpu_node(t, -1), -1);
    assert_int_equal(topology_cpu_node(t, topology_other_cpu(t, 17)), 1);
    assert_int_not_equal(topology_other_cpu(t, 17), 17);
    assert_int_equal(topology_cpu_node(t, topology_far_cpu(t, 1)), 1);
    assert_int_equal(topology_cpu_node(t, topology_far_cpu(t, 20)), 0);
    topology_nodes_by_distance(t, 1, order);
    assert_int_equal(order[0], 1);
    assert_int_equal(order[1], 0);
    assert_int_equal(topology_node_os_index(t, 1), 1);
    assert_int_equal(topology_node_os_index(t, 2), -1);
    assert_int_equal(topology_node_logical(t, 1), 1);
    assert_int_equal(topology_node_logical(t, -1), -1);
    topology_free(t);
}

static void cores_and_how_they_stand(void **state) {
    (void)state;
    struct topology *t = from_file(TOPOLOGIES "switch-8gpu.xml");
    int cores[64];
    assert_int_equal(topology_node_cores(t, 1, cores, 64), 16);
    assert_int_equal(cores[0], 16);
    assert_int_equal(topology_node_cores(t, -1, cores, 64), 32);
    assert_int_equal(topology_node_cores(t, 1, cores, 3), 3);
    assert_int_equal(topology_node_cores(t, 9, cores, 64), 0);
    assert_true(topology_cpu_allowed(t, 63));
    assert_false(topology_cpu_allowed(t, 64));
    assert_false(topology_cpu_allowed(t, -1));
    for (int cpu = 0; cpu < 32; cpu++) {
        int same = topology_related_cpu(t, cpu, CORE_SAME_COMPLEX);
        int socket = topology_related_cpu(t, cpu, CORE_OTHER_SOCKET);
        assert_int_not_equal(same, cpu);
        assert_int_equal(topology_cpu_node(t, same), cpu / 16);
        assert_int_equal(topology_cpu_node(t, socket), 1 - cpu / 16);
        assert_int_not_equal(socket % 16, 0); /* not the one that takes interrupts */
    }
    assert_true(topology_cpu_cache(t, -1) == 0);
    assert_true(topology_cpu_cache(t, 4096) == 0);
    topology_free(t);
}

/* The same machine in a container that may use cores 20 to 22 only: nodes keep their indices. */
static void cpuset_narrows_places(void **state) {
    (void)state;
    struct text xml = {0};
    struct error err = {0};
    assert_true(file_read(TOPOLOGIES "switch-8gpu.xml", 4 << 20, &xml, &err));
    const char *mark = "allowed_cpuset=\"";
    char *at = strstr(text_string(&xml), mark);
    assert_non_null(at);
    struct text narrowed = {0};
    text_add_bytes(&narrowed, xml.data, (size_t)(at - xml.data) + strlen(mark));
    text_add(&narrowed, "0x00000000,0x00700000");
    text_add(&narrowed, strchr(at + strlen(mark), '"'));
    struct topology *t = topology_from_xml(narrowed.data, narrowed.length, &err);
    assert_non_null(t);
    assert_int_equal(topology_node_count(t), 2);
    assert_int_equal(topology_core_count(t), 3);
    assert_int_equal(topology_pin_cpu(t, 0), -1);
    int cpu = topology_pin_cpu(t, 1);
    assert_in_range(cpu, 20, 22);
    assert_in_range(topology_other_cpu(t, cpu), 20, 22);
    assert_in_range(topology_far_cpu(t, cpu), 20, 22);
    assert_int_equal(topology_device_node(t, "0000:84:00.0"), 1);
    topology_free(t);
    text_free(&narrowed);
    text_free(&xml);
}

/* Two sockets of four nodes, four cores a node: the own socket's nodes are nearer than the other's. */
static void four_nodes_a_socket(void **state) {
    (void)state;
    static const int from_5[] = {5, 4, 6, 7, 0, 1, 2, 3};
    struct topology *t = from_file(CAPTURES "nps4-2gpu/topology.xml");
    int order[8], cores[8];
    assert_int_equal(topology_node_count(t), 8);
    assert_int_equal(topology_socket_count(t), 2);
    assert_int_equal(topology_core_count(t), 32);
    assert_int_equal(topology_device_node(t, "0000:41:00.0"), 2);
    assert_int_equal(topology_device_node(t, "0000:a1:00.0"), 5);
    assert_int_equal(topology_pin_cpu(t, 5), 21);
    assert_int_equal(topology_cpu_node(t, 23), 5);
    assert_int_equal(topology_node_cores(t, 2, cores, 8), 4);
    assert_int_equal(cores[0], 8);
    topology_nodes_by_distance(t, 5, order);
    assert_memory_equal(order, from_5, sizeof order);
    assert_in_range(topology_far_cpu(t, 9), 16, 31);
    assert_int_equal(topology_cpu_node(t, topology_other_cpu(t, 9)), 2);
    assert_string_equal(topology_path_class(t, "0000:41:00.0", "0000:a1:00.0"), "SYS");
    for (int node = 0; node < 8; node++)
        assert_true(topology_node_memory_allowed(t, node));
    assert_false(topology_node_memory_allowed(t, 8));
    assert_false(topology_node_memory_allowed(t, -1));
    topology_free(t);
}

/* A container with half the first socket: the second one is there, but neither its cores nor its memory are
 * ours. */
static void cpuset_without_a_node(void **state) {
    (void)state;
    struct topology *t = from_file(CAPTURES "cpuset-2gpu/topology.xml");
    assert_int_equal(topology_node_count(t), 2);
    assert_int_equal(topology_core_count(t), 4);
    assert_int_equal(topology_device_node(t, "0000:a1:00.0"), 1);
    assert_in_range(topology_pin_cpu(t, 0), 0, 3);
    assert_int_equal(topology_pin_cpu(t, 1), -1);
    assert_true(topology_node_memory_allowed(t, 0));
    assert_false(topology_node_memory_allowed(t, 1));
    assert_true(topology_cpu_allowed(t, 3));
    assert_false(topology_cpu_allowed(t, 4));
    assert_in_range(topology_far_cpu(t, 1), 0, 3);
    topology_free(t);
}

static void a_switch_below_a_switch(void **state) {
    (void)state;
    static const char *const gpus[] = {"0000:23:00.0", "0000:24:00.0", "0000:27:00.0", "0000:41:00.0"};
    struct topology *t = from_file(CAPTURES "switches-4gpu/topology.xml");
    expect_matrix(t, gpus, 4,
                  "X PIX PXB NODE\n"
                  "PIX X PXB NODE\n"
                  "PXB PXB X NODE\n"
                  "NODE NODE NODE X\n");
    topology_free(t);
}

static void survives_the_way_through_xml(void **state) {
    (void)state;
    struct error err = {0};
    struct topology *a = from_file(TOPOLOGIES "leaf-8gpu.xml");
    char *xml = topology_xml(a, &err);
    assert_non_null(xml);
    struct topology *b = topology_from_xml(xml, strlen(xml), &err);
    assert_non_null(b);
    assert_string_equal(topology_path_class(b, "0000:25:00.0", "0000:2b:00.0"), "PXB");
    assert_int_equal(topology_core_count(b), topology_core_count(a));
    topology_free(b);
    topology_free(a);
    free(xml);
}

/* hwloc itself loses an object where its input is cut; read by the leak checker where there is one. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:hwloc_alloc_setup_object\n";
}

/* Cut anywhere, hwloc refuses or reads what is left; it never crashes. */
static void survives_cut_and_odd_xml(void **state) {
    (void)state;
    static const char *const odd[] = {"",
                                      "<",
                                      "no xml",
                                      "<topology version=\"2.0\">",
                                      "<topology/>",
                                      "<?xml version=\"1.0\"?>\n<topology version=\"2.0\"></topology>"};
    struct text xml = {0};
    struct error err = {0};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        topology_free(topology_from_xml(odd[i], strlen(odd[i]), &err));
    assert_true(file_read(TOPOLOGIES "leaf-8gpu.xml", 4 << 20, &xml, &err));
    for (size_t length = 0; length < xml.length; length += 997) {
        char *cut = mem_copy_bytes(xml.data, length);
        topology_free(topology_from_xml(cut, length, &err));
        free(cut);
    }
    text_free(&xml);
}

/* Whatever machine this is. */
static void live(void **state) {
    (void)state;
    struct error err = {0};
    cpu_set_t allowed;
    int cores[4096];
    struct topology *t = topology_live(&err);
    assert_non_null(t);
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int n = topology_all_cores(t, cores, 4096);
    assert_in_range(n, 1, 4096);
    assert_int_equal(n, topology_core_count(t));
    for (int i = 0; i < n; i++)
        assert_true(CPU_ISSET((size_t)cores[i], &allowed));
    assert_true(topology_pin_cpu(t, -1) >= 0);
    assert_true(topology_node_count(t) >= 1);
    /* Plugins for OpenCL or X11 would have come with it. */
    struct text maps = {0};
    assert_true(file_read("/proc/self/maps", 16 << 20, &maps, &err));
    assert_null(strstr(maps.data, "hwloc_opencl"));
    assert_null(strstr(maps.data, "libcuda"));
    text_free(&maps);
    topology_free(t);
}

static void live_keeps_to_the_affinity(void **state) {
    (void)state;
    struct error err = {0};
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int cpu = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    struct topology *t = topology_live(&err);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_non_null(t);
    assert_int_equal(topology_core_count(t), 1);
    assert_int_equal(topology_pin_cpu(t, -1), cpu);
    assert_int_equal(topology_other_cpu(t, cpu), -1);
    assert_int_equal(topology_far_cpu(t, cpu), -1);
    topology_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(switches_on_two_sockets),
        cmocka_unit_test(leaf_switches_below_root_switches),
        cmocka_unit_test(places_on_two_sockets),
        cmocka_unit_test(cores_and_how_they_stand),
        cmocka_unit_test(cpuset_narrows_places),
        cmocka_unit_test(four_nodes_a_socket),
        cmocka_unit_test(cpuset_without_a_node),
        cmocka_unit_test(a_switch_below_a_switch),
        cmocka_unit_test(survives_the_way_through_xml),
        cmocka_unit_test(survives_cut_and_odd_xml),
        cmocka_unit_test(live),
        cmocka_unit_test(live_keeps_to_the_affinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
