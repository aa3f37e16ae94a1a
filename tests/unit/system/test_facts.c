/* SPDX-License-Identifier: Apache-2.0 */
#include "system/facts.h"

#include "base/files.h"
#include "system/node.h"

#include "unit/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAPTURES GPUVET_SOURCE_DIR "/tests/fixtures/captures/"
#define GPU_FOLDER "bad/root/sys/bus/pci/devices/0000:01:00.0/"

/* The least capture there is, in ./bad. */
static void begin(void) {
    assert_int_equal(system("rm -rf bad"), 0);
    tree_put("bad/manifest.json", "{\"schema\":\"gpuvet.capture/1\",\"where\":\"host\"}");
    assert_int_equal(mkdir("bad/root", 0755), 0);
}

static void refused(const char *why) {
    struct source source;
    struct error err = {0};
    assert_false(source_capture("bad", &source, &err));
    assert_null(strchr(err.text, '\n'));
    if (strstr(err.text, why) == NULL)
        fail_msg("'%s' does not say '%s'", err.text, why);
}

/* The environment of a capture, with what moves put beside it; owned. */
static js *environment(const char *dir) {
    struct source source;
    struct error err = {0};
    if (!source_capture(dir, &source, &err))
        fail_msg("%s", err.text);
    struct facts *facts = facts_read(&source, &err);
    assert_non_null(facts);
    js *out = js_new_object();
    js *moving = js_new_object();
    facts_environment(facts, out, moving);
    js_set(out, "moving", moving);
    facts_free(facts);
    source_free(&source);
    return out;
}

static void has_text(const js *environment, const char *key, const char *want) {
    const char *is = js_get_string(environment, key, NULL);
    if (is == NULL || strcmp(is, want) != 0)
        fail_msg("%s is '%s', not '%s'", key, is == NULL ? "(not there)" : is, want);
}

/* ---- what captures say ---- */

static void reads_a_guest(void **state) {
    (void)state;
    js *e = environment(CAPTURES "guest-2gpu");
    has_text(e, "hypervisor", "kvm");
    has_text(e, "container", "none");
    has_text(e, "thp", "madvise");
    has_text(e, "cmdline.console", "tty0,ttyS0");
    has_text(e, "pci.0000:00:05.0.mps",
             FACT_NEEDS_ROOT); /* 64 bytes of configuration space are all a user gets */
    has_text(e, "pci.0000:00:05.0.acs", FACT_NEEDS_ROOT);
    assert_int_equal(js_get_int(e, "pci.0000:00:05.0.numa_node", 7), -1);
    assert_int_equal(js_get_int(e, "pci.0000:00:05.0.link_gen_max", 0), 5);
    assert_null(js_get(e, "pci.0000:00:05.0.parent"));
    assert_null(js_get(e, "cpu.governor")); /* not there: no key, and no guess */
    assert_int_equal(js_get_int(e, "chrdev.nvidia-uvm", 0), 508);
    assert_string_not_equal(js_get_string(e, "machine_id", ""), "0123456789abcdef0123456789abcdef");
    js_free(e);
}

static void reads_two_sockets(void **state) {
    (void)state;
    js *e = environment(CAPTURES "two-socket-8gpu");
    has_text(e, "hypervisor", "none");
    has_text(e, "cpu.governor", "performance:1,powersave:1");
    has_text(e, "cpu.scaling_driver", "amd-pstate-epp");
    has_text(e, "pci.0000:01:00.0.parent", "0000:00:01.1");
    has_text(e, "pci.0000:01:00.0.driver", "nvidia");
    has_text(e, "pci.0000:00:01.1.driver", "pcieport");
    has_text(e, "pci.0000:00:01.1.acs", "SrcValid+ReqRedir+CmpltRedir+UpstreamFwd");
    has_text(e, "pci.0000:00:03.1.acs", "off");
    has_text(e, "pci.0000:01:00.0.acs", "none");
    has_text(e, "pci.0000:01:00.0.aspm", "off");
    assert_int_equal(js_get_int(e, "pci.0000:01:00.0.mps", 0), 256);
    assert_int_equal(js_get_int(e, "pci.0000:01:00.0.mrrs", 0), 512);
    assert_int_equal(js_get_int(e, "pci.0000:a2:00.0.numa_node", -1), 1);
    assert_int_equal(js_get_int(e, "idle.state.C2.latency_us", 0), 100);
    /* A sleeping GPU's link is no difference between two days. */
    assert_null(js_get(e, "pci.0000:01:00.0.link_gen"));
    assert_int_equal(js_get_int(js_get(e, "moving"), "pci.0000:01:00.0.link_gen", 0), 1);
    assert_int_equal(js_get_int(js_get(e, "moving"), "cpu.frequency_mhz", 0), 3300);
    js_free(e);
}

static void makes_nodes_of_captures(void **state) {
    (void)state;
    static const struct {
        const char *dir;
        size_t gpus;
        int nodes, sockets, cores;
        const char *a, *b, *path;
    } rows[] = {
        {CAPTURES "guest-2gpu", 2, 1, 1, 32, "0000:00:05.0", "0000:00:06.0", "PHB"},
        {CAPTURES "two-socket-8gpu", 8, 2, 2, 128, "0000:01:00.0", "0000:02:00.0", "PHB"},
        {CAPTURES "two-socket-8gpu", 8, 2, 2, 128, "0000:01:00.0", "0000:21:00.0", "NODE"},
        {CAPTURES "two-socket-8gpu", 8, 2, 2, 128, "0000:01:00.0", "0000:81:00.0", "SYS"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct source source;
        struct node node;
        struct error err = {0};
        assert_true(source_capture(rows[i].dir, &source, &err));
        if (!node_read(&source, &node, &err))
            fail_msg("%s", err.text);
        assert_int_equal(node.gpus.count, rows[i].gpus);
        assert_int_equal(topology_node_count(node.topology), rows[i].nodes);
        assert_int_equal(topology_socket_count(node.topology), rows[i].sockets);
        assert_int_equal(topology_core_count(node.topology), rows[i].cores);
        assert_string_equal(topology_path_class(node.topology, rows[i].a, rows[i].b), rows[i].path);
        assert_int_equal(topology_device_node(node.topology, rows[i].b), strcmp(rows[i].path, "SYS") == 0);
        node_free(&node);
        source_free(&source);
    }
}

/* Whatever this machine is, reading it fails nowhere and says which kernel it runs. */
static void reads_this_machine(void **state) {
    (void)state;
    struct source source;
    struct error err = {0};
    assert_true(source_live(&source, &err));
    struct facts *facts = facts_read(&source, &err);
    assert_non_null(facts);
    assert_non_null(facts->kernel.release.value);
    assert_true(facts->memory.total_mib.known);
    facts_free(facts);
    source_free(&source);
}

/* ---- captures that mean harm ---- */

static void refuses_what_is_no_capture(void **state) {
    (void)state;
    static const struct {
        const char *manifest, *why;
    } rows[] = {
        {"{\"schema\":\"gpuvet.capture/2\"}", "gpuvet.capture/2"},
        {"{\"schema\":1}", "schema"},
        {"[]", "no JSON object"},
        {"\x01\xff{", "manifest.json"},
        {"", "manifest.json"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        tree_put("bad/manifest.json", rows[i].manifest);
        refused(rows[i].why);
    }
    assert_int_equal(system("rm -rf bad"), 0);
    refused("cannot open");
    tree_put("bad/notes.txt", "no file of the format");
    refused("manifest.json");
    assert_int_equal(system("rm -rf bad"), 0);
}

/* People put captures together by hand: any one file of the format is enough, of a host unless it says. */
static void takes_any_part_of_a_capture(void **state) {
    (void)state;
    static const struct {
        const char *file, *text;
    } rows[] = {
        {"bad/manifest.json", "{}"},
        {"bad/klog.txt", "NVRM: a line\n"},
        {"bad/dev.tsv", "/dev/nvidiactl\tc\n"},
        {"bad/probes.json", "{}"},
        {"bad/files.tsv", "/etc/x\tf\n"},
        {"bad/root/proc/devices", "Character devices:\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct source source;
        struct error err = {0};
        assert_int_equal(system("rm -rf bad"), 0);
        tree_put(rows[i].file, rows[i].text);
        if (!source_capture("bad", &source, &err))
            fail_msg("%s: %s", rows[i].file, err.text);
        assert_string_equal(source.where, "host");
        assert_null(source.manager);
        struct facts *facts = facts_read(&source, &err);
        assert_non_null(facts);
        assert_string_equal(facts->kernel.container.value, "none");
        facts_free(facts);
        source_free(&source);
    }
    assert_int_equal(system("rm -rf bad"), 0);
}

static void refuses_odd_trees(void **state) {
    (void)state;
    begin();
    assert_int_equal(mkfifo("bad/root/fifo", 0600), 0);
    refused("fifo");
    begin();
    assert_int_equal(unlink("bad/manifest.json"), 0);
    assert_int_equal(symlink("/etc/hostname", "bad/manifest.json"), 0);
    refused("manifest.json");
    begin();
    struct text path = {0};
    struct error err = {0};
    text_add(&path, "bad/root");
    for (int i = 0; i < 70; i++)
        text_add(&path, "/d");
    assert_true(folder_make(path.data, &err));
    text_free(&path);
    refused("deeper");
    begin();
    tree_put("bad/root/big", "");
    assert_int_equal(truncate("bad/root/big", (513L << 20)), 0);
    refused("512 MiB");
    begin();
    tree_put("bad/probes.json", "{\"gpus\":[{]}");
    refused("probes.json");
}

/* Links that lead out are resolved as if the capture's root were "/". */
static void follows_no_link_out(void **state) {
    (void)state;
    begin();
    tree_put("secret/devices", "777 nvidia-secret\n");
    tree_put("bad/root/proc/version", "Linux");
    char absolute[160];
    snprintf(absolute, sizeof absolute, "%s/secret/devices", tree_folder);
    assert_int_equal(symlink(absolute, "bad/root/proc/devices"), 0);
    js *e = environment("bad");
    assert_null(js_get(e, "chrdev.nvidia-secret"));
    js_free(e);
    assert_int_equal(unlink("bad/root/proc/devices"), 0);
    assert_int_equal(symlink("../../../secret/devices", "bad/root/proc/devices"), 0);
    e = environment("bad");
    assert_null(js_get(e, "chrdev.nvidia-secret"));
    js_free(e);
    tree_put("bad/root/secret/devices", "778 nvidia-inside\n"); /* where that link does lead */
    e = environment("bad");
    assert_int_equal(js_get_int(e, "chrdev.nvidia-inside", 0), 778);
    js_free(e);
}

static void follows_no_root_out(void **state) {
    (void)state;
    begin();
    tree_put("secret/proc/devices", "777 nvidia-secret\n");
    assert_int_equal(rmdir("bad/root"), 0);
    assert_int_equal(symlink("../secret", "bad/root"), 0);
    refused("root");
}

static void survives_loops(void **state) {
    (void)state;
    begin();
    assert_int_equal(symlink("b", "bad/root/a"), 0);
    assert_int_equal(symlink("a", "bad/root/b"), 0);
    assert_int_equal(symlink("/a", "bad/root/proc"), 0);
    assert_int_equal(symlink(".", "bad/root/sys"), 0);
    js_free(environment("bad"));
}

/* Every length of a configuration space whose chains point at themselves. */
static void survives_bad_config_space(void **state) {
    (void)state;
    unsigned char config[600];
    begin();
    tree_put(GPU_FOLDER "vendor", "0x10de");
    tree_put(GPU_FOLDER "class", "0x030200");
    tree_put(GPU_FOLDER "current_link_speed", "Unknown");
    tree_put(GPU_FOLDER "current_link_width", "255");
    for (int fill = 0; fill < 2; fill++) {
        memset(config, fill == 0 ? 0xff : 0x41, sizeof config);
        for (size_t length = 0; length <= sizeof config; length += 4) {
            tree_put_bytes(GPU_FOLDER "config", config, length);
            js *e = environment("bad");
            assert_null(js_get(e, "pci.0000:01:00.0.link_width"));
            assert_null(js_get(js_get(e, "moving"), "pci.0000:01:00.0.link_gen"));
            if (length == 64)
                has_text(e, "pci.0000:01:00.0.mps", FACT_NEEDS_ROOT);
            js_free(e);
        }
    }
}

static void survives_garbage(void **state) {
    (void)state;
    static const char *const files[] = {"proc/cpuinfo",
                                        "proc/cmdline",
                                        "proc/devices",
                                        "proc/meminfo",
                                        "proc/self/cgroup",
                                        "proc/self/status",
                                        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
                                        "sys/devices/system/node/node0/meminfo",
                                        "sys/module/nvidia/version"};
    char garbage[5000];
    struct error err = {0};
    begin();
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)(i * 7 + i / 31);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[160];
        snprintf(path, sizeof path, "bad/root/%s", files[i]);
        tree_put_bytes(path, garbage + i, sizeof garbage - i);
    }
    tree_put("bad/probes.json",
             "{\"gpus\":[1,{\"uuid\":5,\"bdf\":\"0123456789012345678901234567890123\"}],\"env\":[],"
             "\"rlimits\":7,\"libs\":{\"libcuda.so.1\":{}}}");
    tree_put("bad/topology.xml", "<topology version=\"2.0\"><object type=\"Machine\"");
    js_free(environment("bad"));
    struct source source;
    struct node node;
    assert_true(source_capture("bad", &source, &err));
    assert_false(node_read(&source, &node, &err));
    source_free(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_guest),
        cmocka_unit_test(reads_two_sockets),
        cmocka_unit_test(makes_nodes_of_captures),
        cmocka_unit_test(reads_this_machine),
        cmocka_unit_test(refuses_what_is_no_capture),
        cmocka_unit_test(takes_any_part_of_a_capture),
        cmocka_unit_test(refuses_odd_trees),
        cmocka_unit_test(follows_no_link_out),
        cmocka_unit_test(follows_no_root_out),
        cmocka_unit_test(survives_loops),
        cmocka_unit_test(survives_bad_config_space),
        cmocka_unit_test(survives_garbage),
    };
    return cmocka_run_group_tests(tests, tree_enter, tree_leave);
}
