/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about device nodes: what is wrong with one, in the order nodev, mode, id map, security module. */
#include "unit/doctor/made_scene.h"

static void healthy(void **state) {
    (void)state;
    static const struct {
        const char *where, *manager;
    } rows[] = {{"host", "none"}, {"container", "lxc"}, {"container", "docker"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        made_begin(&m, rows[i].where, rows[i].manager);
        made_judge(&m);
        made_quiet(&m);
        made_end(&m);
    }
}

static void wrong_types(void **state) {
    (void)state;
    static const struct {
        char type;
        const char *word;
    } rows[] = {{'f', "regular file"}, {'d', "directory"}, {'b', "block device"}, {'l', "link"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        char node[64];
        made_begin(&m, "host", "none");
        snprintf(node, sizeof node, "/dev/nvidiactl %c 0644 0 0   -", rows[i].type);
        made_node(&m, node);
        made_judge(&m);
        EXPECT(&m, "nodes.not-a-device", SEVERITY_FAIL, "/dev/nvidiactl", rows[i].word);
        made_end(&m);
    }
}

static void wrong_numbers(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "host", "none");
    made_node(&m, "/dev/nvidia0 c 0666 0 0 196 0 ENXIO");
    made_node(&m, "/dev/nvidia1 c 0666 0 0 195 9 ENODEV");
    made_node(&m, "/dev/nvidia-modeset c 0666 0 0 196 254 ENXIO");
    made_judge(&m);
    EXPECT(&m, "nodes.major-wrong", SEVERITY_FAIL, "196:0", "195", "mknod -m 666 /dev/nvidia0 c 195 0");
    EXPECT(&m, "nodes.minor-unknown", SEVERITY_FAIL, "195:9", "0000:61:00.0");
    made_end(&m);
    made_begin(&m, "host", "none");
    made_node(&m, "/dev/nvidia0 c 0666 0 0 195 1 ok");
    made_judge(&m);
    EXPECT(&m, "nodes.minor-wrong", SEVERITY_FAIL, "/dev/nvidia0", "195:1", "0000:41:00.0");
    made_end(&m);
    made_begin(&m, "host", "none"); /* what CUDA can do without is an information at most */
    made_node(&m, "/dev/nvidia-modeset c 0666 0 0 196 254 ENXIO");
    made_node(&m, "/dev/nvidia-uvm-tools f 0666 0 0   ok");
    made_judge(&m);
    made_quiet(&m);
    assert_non_null(made_find(&m, "nodes.major-wrong"));
    assert_non_null(made_find(&m, "nodes.not-a-device"));
    made_end(&m);
}

/* EACCES with several reasons at once: the first in order is named, and only that. */
static void refused(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "container", "podman");
    js_set_int(m.probes, "uid", 1000);
    made_node(&m, "/dev/nvidia-uvm c 0600 0 0 511 0 EACCES");
    made_file(
        &m, "/proc/self/mountinfo",
        "26 25 0:5 / /dev rw,nosuid - tmpfs tmpfs rw\n27 26 0:6 /u /dev/nvidia-uvm rw,nodev - tmpfs t rw\n");
    made_judge(&m);
    EXPECT(&m, "nodes.nodev", SEVERITY_FAIL, "/dev/nvidia-uvm", "nodev - tmpfs t");
    made_lacks(&m, "nodes.mode");
    made_end(&m);

    made_begin(&m, "container", "podman");
    js_set_int(m.probes, "uid", 1000);
    made_file(&m, "/proc/self/status",
              "Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t44 1000\n");
    made_file(&m, "/etc/group", "video:x:45:\n");
    made_node(&m, "/dev/nvidia-uvm c 0660 0 45 511 0 EACCES");
    made_judge(&m);
    EXPECT(&m, "nodes.mode", SEVERITY_FAIL, "0660", "video", "EACCES", "podman run --group-add 45");
    made_end(&m);

    made_begin(&m, "container", "podman"); /* in the group, and refused all the same: not the mode */
    js_set_int(m.probes, "uid", 1000);
    made_file(&m, "/proc/self/status",
              "Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t45 1000\n");
    made_file(&m, "/proc/self/attr/current", "docker-default (enforce)");
    made_node(&m, "/dev/nvidia-uvm c 0660 0 45 511 0 EACCES");
    made_judge(&m);
    EXPECT(&m, "nodes.lsm", SEVERITY_FAIL, "docker-default", "apparmor");
    made_lacks(&m, "nodes.mode");
    made_end(&m);

    made_begin(&m, "container", "lxc"); /* root of a user namespace is not the owner */
    made_file(&m, "/proc/self/uid_map", "         0     100000      65536\n");
    made_node(&m, "/dev/nvidia-uvm c 0660 65534 65534 511 0 EACCES");
    made_judge(&m);
    EXPECT(&m, "nodes.id-unmapped", SEVERITY_FAIL, "uid_map", "pct set");
    made_lacks(&m, "nodes.mode");
    made_end(&m);
}

/* Who may not change groups inside is told where they are given. */
static void groups_of_engines(void **state) {
    (void)state;
    static const struct {
        const char *manager, *remedy;
    } rows[] = {{"docker", "docker run --group-add 44"},
                {"podman", "podman run --group-add 44"},
                {"kubernetes", "supplementalGroups: [44]"},
                {"lxc", "usermod -aG video"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        made_begin(&m, "container", rows[i].manager);
        js_set_int(m.probes, "uid", 1000);
        made_file(&m, "/proc/self/status",
                  "Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t1000\n");
        made_file(&m, "/etc/group", "root:x:0:\nvideo:x:44:\n");
        made_node(&m, "/dev/nvidia-uvm c 0660 0 44 511 0 EACCES");
        made_judge(&m);
        EXPECT(&m, "nodes.mode", SEVERITY_FAIL, rows[i].remedy, "video");
        made_end(&m);
    }
}

/* Without an open() the bits alone tell, where the caller is known. */
static void not_opened(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "host", "none");
    js_set_int(m.probes, "uid", 1000);
    made_file(&m, "/proc/self/status",
              "Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t1000\n");
    made_node(&m, "/dev/nvidiactl c 0660 0 0 195 255 -");
    made_judge(&m);
    EXPECT(&m, "nodes.mode", SEVERITY_FAIL, "/dev/nvidiactl");
    made_end(&m);
    made_begin(&m, "host", "none");
    made_node(&m, "/dev/nvidiactl c 0660 0 0 195 255 -");
    made_judge(&m);
    made_quiet(&m);
    made_end(&m);
}

static void hangs(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "host", "none");
    made_node(&m, "/dev/nvidia-uvm ? - - - - - timeout");
    js_remove(m.probes, "cuInit");
    made_judge(&m);
    EXPECT(&m, "nodes.hang", SEVERITY_FAIL, "/dev/nvidia-uvm");
    made_end(&m);
    made_begin(&m, "host", "none"); /* a GPU slow to start is no hang where CUDA came up */
    made_node(&m, "/dev/nvidia0 c 0666 0 0 195 0 timeout");
    made_judge(&m);
    made_quiet(&m);
    made_end(&m);
}

/* Nobody looked, or the kernel's numbers are not known: silence. */
static void unknown(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "host", "none");
    made_node(&m, "/dev/nvidia0 c");
    made_node(&m, "/dev/nvidiactl c 0666");
    made_judge(&m);
    made_quiet(&m);
    made_end(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy), cmocka_unit_test(wrong_types),       cmocka_unit_test(wrong_numbers),
        cmocka_unit_test(refused), cmocka_unit_test(not_opened),        cmocka_unit_test(hangs),
        cmocka_unit_test(unknown), cmocka_unit_test(groups_of_engines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
