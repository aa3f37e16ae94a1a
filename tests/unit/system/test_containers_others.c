/* SPDX-License-Identifier: Apache-2.0 */
/* CDI specifications, systemd units, what Docker and Podman keep. */
#include "unit/unit.h"

#include "base/mem.h"
#include "system/containers_parts.h"

#include <stdlib.h>
#include <string.h>

static struct container *make(struct container_list *list, enum container_kind kind) {
    *list = (struct container_list){mem_zeroed(1, sizeof(struct container)), 1, 1};
    list->items[0].kind = kind;
    return list->items;
}

static struct container *cdi(struct container_list *list, const char *file, const char *text) {
    struct container *c = make(list, CONTAINER_CDI);
    container_parse_cdi(file, text, strlen(text), c);
    return c;
}

static struct container *unit(struct container_list *list, const char *text) {
    struct container *c = make(list, CONTAINER_UNIT);
    container_parse_unit("/etc/systemd/system/a.service", text, c);
    return c;
}

static void check_specification(const struct container *c) {
    assert_null(c->problem);
    assert_int_equal(c->n_devices, 3);
    assert_string_equal(c->devices[0].host_path, "/dev/nvidiactl");
    assert_int_equal(c->devices[0].major, 195);
    assert_int_equal(c->devices[0].minor, 255);
    assert_true(c->devices[0].by_manager);
    assert_string_equal(c->devices[1].host_path, "/dev/host0");
    assert_string_equal(c->devices[1].text, "/dev/nvidia0");
    assert_int_equal(c->devices[1].major, -1);
    assert_int_equal(c->devices[2].major, -1);
    assert_int_equal(c->n_mounts, 1);
    assert_string_equal(c->mounts[0].host_path, "/usr/lib/libcuda.so.580.1");
}

static void reads_cdi_in_both_forms(void **state) {
    (void)state;
    struct container_list list;
    check_specification(
        cdi(&list, "/etc/cdi/nvidia.yaml",
            "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n"
            "containerEdits:\n  deviceNodes:\n  - path: /dev/nvidiactl\n    major: 195\n    minor: 255\n"
            "  mounts:\n  - hostPath: /usr/lib/libcuda.so.580.1\n  - containerPath: /x\n"
            "devices:\n- name: '0'\n  containerEdits:\n    deviceNodes:\n"
            "    - path: /dev/nvidia0\n      hostPath: /dev/host0\n"
            "    - path: /dev/nvidiactl\n"
            "    - path: /dev/nvidia-uvm\n      major: -5\n    - permissions: rw\n"));
    containers_free(&list);
    check_specification(cdi(
        &list, "/var/run/cdi/nvidia.json",
        "{\"containerEdits\":{\"deviceNodes\":[{\"path\":\"/dev/nvidiactl\",\"major\":195,\"minor\":255}],"
        "\"mounts\":[{\"hostPath\":\"/usr/lib/libcuda.so.580.1\"},7]},\"devices\":[{\"containerEdits\":"
        "{\"deviceNodes\":[{\"path\":\"/dev/nvidia0\",\"hostPath\":\"/dev/host0\"},"
        "{\"path\":\"/dev/nvidia-uvm\",\"major\":99999999999}]}},null,{\"containerEdits\":[]}]}"));
    containers_free(&list);
}

static void says_why_it_cannot_read_cdi(void **state) {
    (void)state;
    struct container_list list;
    const struct container *c = cdi(&list, "/etc/cdi/a.json", "{\"devices\":");
    assert_non_null(c->problem);
    assert_int_equal(c->n_devices, 0);
    containers_free(&list);
    c = cdi(&list, "/etc/cdi/a.yaml", "a: &x 1\nb: *x\n");
    assert_non_null(strstr(c->problem, "line"));
    containers_free(&list);
    static const char *const harmless[] = {"", "7", "[]", "devices: 3\ncontainerEdits: [1]\n"};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        c = cdi(&list, "/etc/cdi/a.yaml", harmless[i]);
        assert_null(c->problem);
        assert_int_equal(c->n_devices, 0);
        containers_free(&list);
    }
}

static struct container *docker(struct container_list *list, const char *text) {
    struct container *c = make(list, CONTAINER_DOCKER);
    container_parse_docker("/var/lib/docker/containers/0123456789ab/hostconfig.json", text, strlen(text), c);
    return c;
}

static void reads_what_docker_keeps(void **state) {
    (void)state;
    struct container_list list;
    const struct container *c =
        docker(&list, "{\"Devices\":[{\"PathOnHost\":\"/dev/nvidia0\",\"CgroupPermissions\":\"r\"},"
                      "{\"PathOnHost\":\"/dev/fuse\"}],\"Binds\":[\"/dev/nvidia-uvm:/x:ro\",\"/srv:/srv\"],"
                      "\"Mounts\":[{\"Type\":\"bind\",\"Source\":\"/dev/nvidiactl\"}],"
                      "\"DeviceCgroupRules\":[\"c 195:* rwm\",\"c 504:0 rw\"],\"Runtime\":\"runc\"}");
    assert_null(c->problem);
    assert_int_equal(c->n_devices, 3);
    assert_string_equal(c->devices[0].host_path, "/dev/nvidia0");
    assert_true(c->devices[0].by_manager && c->devices[0].denies_write);
    assert_string_equal(c->devices[1].host_path, "/dev/nvidia-uvm");
    assert_false(c->devices[1].by_manager);
    assert_string_equal(c->devices[2].host_path, "/dev/nvidiactl");
    assert_int_equal(c->n_rules, 2);
    assert_int_equal(c->rules[1].major, 504);
    assert_false(c->by_hook);
    assert_true(container_allows(c, 0, 195, 255));
    assert_true(container_allows(c, 0, 504, 0));
    assert_false(container_allows(c, 0, 504, 1));
    containers_free(&list);
    c = docker(&list, "{\"Privileged\":true,\"DeviceRequests\":[{\"Count\":-1}]}");
    assert_true(c->by_hook && container_allows(c, 0, 509, 0));
    containers_free(&list);
    c = docker(&list, "{\"Runtime\":\"nvidia\",\"DeviceRequests\":null}");
    assert_true(c->by_hook && c->n_devices == 0 && c->n_rules == 0);
    containers_free(&list);
    c = docker(&list, "{\"Devices\":");
    assert_non_null(c->problem);
    containers_free(&list);
    c = docker(&list,
               "{\"Devices\":[7,null,{\"PathOnHost\":5}],\"Binds\":\"x\",\"DeviceCgroupRules\":[\"\",7],"
               "\"DeviceRequests\":3,\"Runtime\":[1]}");
    assert_true(c->problem == NULL && c->n_devices == 0 && !c->by_hook);
    assert_false(container_allows(c, 0, 195, 0));
    containers_free(&list);
}

static struct container *podman(struct container_list *list, const char *text) {
    struct container *c = make(list, CONTAINER_PODMAN);
    container_parse_podman("/x/overlay-containers/0123456789ab/userdata/config.json", text, strlen(text), c);
    return c;
}

#define OURS "\"annotations\":{\"io.container.manager\":\"libpod\""
#define GROUP "\"cgroupsPath\":\"/libpod_parent/x\","
#define OLD_UVM "{\"path\":\"/dev/nvidia-uvm\",\"type\":\"c\",\"major\":504,\"minor\":0,\"fileMode\":8630}"

/* 8630 is 020666: the type is there where Podman itself looked the node up. */
static void reads_what_podman_keeps(void **state) {
    (void)state;
    struct container_list list;
    const struct container *c = podman(
        &list,
        "{" OURS ",\"io.podman.annotations.autoremove\":\"FALSE\"},\"linux\":{" GROUP "\"devices\":[" OLD_UVM
        ",{\"path\":\"/dev/nvidia0\",\"major\":195,\"minor\":0,\"fileMode\":438},{\"path\":\"/dev/fuse\","
        "\"major\":10,\"minor\":229,\"fileMode\":8630}],\"resources\":{\"devices\":[{\"allow\":false,"
        "\"access\":\"rwm\"},{\"allow\":true,\"type\":\"c\",\"major\":504,\"minor\":0,\"access\":\"rwm\"},"
        "{\"allow\":true,\"type\":\"c\",\"major\":195,\"access\":\"rw\"}]}},"
        "\"mounts\":[{\"source\":\"/dev/nvidiactl\"},{\"source\":\"/srv\"}]}");
    assert_null(c->problem);
    assert_int_equal(c->n_devices, 3);
    const struct device_entry *bind = container_device(c, "/dev/nvidiactl");
    assert_true(bind != NULL && bind->major == -1 && !bind->by_manager);
    const struct device_entry *kept = container_device(c, "/dev/nvidia-uvm");
    assert_true(kept != NULL && kept->major == 504 && kept->minor == 0 && !kept->by_manager);
    const struct device_entry *looked_up = container_device(c, "/dev/nvidia0");
    assert_true(looked_up != NULL && looked_up->by_manager);
    assert_int_equal(c->n_rules, 3);
    assert_string_equal(c->rules[1].key, PODMAN_NODE_RULE);
    assert_string_equal(c->rules[1].text, "c 504:0 rwm");
    assert_string_equal(c->rules[2].key, PODMAN_RULE);
    assert_string_equal(c->rules[2].text, "c 195:* rw");
    assert_true(container_allows(c, 0, 195, 255) && container_allows(c, 0, 504, 0));
    assert_false(container_allows(c, 0, 504, 1) || container_allows(c, 0, 509, 0));
    assert_false(c->by_hook);
    containers_free(&list);
    c = podman(&list,
               "{" OURS "},\"hooks\":{\"createContainer\":[{\"path\":\"/usr/bin/nvidia-ctk\"}]},\"linux\":"
               "{" GROUP "\"devices\":[" OLD_UVM "]}}");
    assert_true(!c->by_hook && c->n_devices == 1);
    containers_free(&list);
    c = podman(&list,
               "{" OURS "},\"hooks\":{\"prestart\":[{\"path\":\"/usr/bin/nvidia-container-toolkit\"}]}}");
    assert_true(c->by_hook);
    containers_free(&list);
    c = podman(&list, "{" OURS);
    assert_true(c->problem != NULL && c->n_devices == 0);
    containers_free(&list);
}

/* Not kept, not started twice, or not Podman's: nothing to judge. */
static void leaves_what_the_next_start_makes_anew(void **state) {
    (void)state;
    static const char *const silent[] = {
        "{\"linux\":{" GROUP "\"devices\":[" OLD_UVM "]}}",
        "{" OURS "},\"linux\":{\"devices\":[" OLD_UVM "]}}",
        "{\"annotations\":{\"io.container.manager\":\"cri-o\"},\"linux\":{" GROUP "\"devices\":[" OLD_UVM
        "]}}",
        "{" OURS ",\"io.podman.annotations.autoremove\":\"TRUE\"},\"linux\":{" GROUP "\"devices\":[" OLD_UVM
        "]}}",
        "{" OURS ",\"io.podman.annotations.privileged\":\"TRUE\"},\"linux\":{" GROUP "\"devices\":[" OLD_UVM
        "]}}",
        "{" OURS "},\"linux\":{" GROUP "\"devices\":[" OLD_UVM
        "],\"resources\":{\"devices\":[{\"allow\":true,"
        "\"access\":\"rwm\"}]}}}",
        "{" OURS "},\"linux\":{" GROUP
        "\"devices\":[{\"path\":\"/dev/nvidia-uvm\\u001b[1m\",\"major\":504,\"minor\":0}]}}",
        "{" OURS "},\"linux\":{" GROUP
        "\"devices\":[{\"path\":\"/dev/nvidia-uvm\",\"major\":4294967800,\"minor\":0}],"
        "\"resources\":{\"devices\":[7,{\"allow\":true,\"type\":\"c\",\"major\":4294967800},{\"type\":\"char\"}]}}}",
        "{" OURS "},\"linux\":7,\"mounts\":7,\"hooks\":[7]}",
    };
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        struct container_list list;
        const struct container *c = podman(&list, silent[i]);
        if (c->problem != NULL || c->n_devices > 0 || c->n_rules > 0 || c->by_hook)
            fail_msg("%s", silent[i]);
        containers_free(&list);
    }
}

static void finds_podmans_folder_and_names(void **state) {
    (void)state;
    static const struct {
        const char *conf, *root;
    } rows[] = {
        {"[storage]\ndriver = \"overlay\"\ngraphroot = \"/srv/pods\"\n", "/srv/pods"},
        {"  graphroot='/srv/a b' # ours", "/srv/a b"},
        {"# graphroot = \"/old\"\ngraphrootx = \"/x\"\n", NULL},
        {"graphroot = \"srv\"\n", NULL},
        {"graphroot = \"/srv\ngraphroot", NULL},
        {"graphroot = /srv\n", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *root = container_podman_graphroot(rows[i].conf);
        if ((root == NULL) != (rows[i].root == NULL) || (root != NULL && strcmp(root, rows[i].root) != 0))
            fail_msg("%s: %s", rows[i].conf, root == NULL ? "none" : root);
        free(root);
    }
    static const char text[] =
        "[7,{\"id\":\"a1\",\"names\":[\"infer.1\",\"x\"]},{\"id\":\"a2\",\"names\":[\"-rf\"]},"
        "{\"id\":\"a3\"},{\"id\":\"a4\",\"names\":[\"a b\"]}]";
    struct error err = {0};
    js *names = js_parse(text, strlen(text), &err);
    assert_non_null(names);
    assert_string_equal(container_podman_name(names, "a1"), "infer.1");
    assert_null(container_podman_name(names, "a2"));
    assert_null(container_podman_name(names, "a3"));
    assert_null(container_podman_name(names, "a4"));
    assert_null(container_podman_name(names, "a5"));
    assert_null(container_podman_name(NULL, "a1"));
    js_free(names);
}

static void reads_units(void **state) {
    (void)state;
    struct container_list list;
    const struct container *c = unit(&list, "[Unit]\nDeviceAllow=/dev/nvidia9 rw\n"
                                            "[Service]\n"
                                            "# DeviceAllow=/dev/nvidia8\n; DeviceAllow=/dev/nvidia8\n"
                                            "DeviceAllow=/dev/nvidia0 rw\n"
                                            " DeviceAllow = char-nvidia-uvm rw\n"
                                            "DeviceAllow=char-nvidia-frontend r\n"
                                            "DeviceAllow=block-sd rw\n"
                                            "[Install]\nDeviceAllow=/dev/nvidia7\n");
    assert_int_equal(c->n_devices, 1);
    assert_string_equal(c->devices[0].host_path, "/dev/nvidia0");
    assert_int_equal(c->devices[0].line, 6);
    assert_int_equal(c->n_rules, 2);
    assert_string_equal(c->rules[0].class_name, "nvidia-uvm");
    assert_true(c->rules[0].use);
    assert_false(c->rules[1].use);
    assert_true(c->denies_first);
    containers_free(&list);
}

static void knows_what_closes_devices(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool closed;
    } rows[] = {
        {"[Service]\nExecStart=/x\n", false},
        {"[Service]\nDevicePolicy=auto\n", false},
        {"[Service]\nDevicePolicy=closed\n", true},
        {"[Service]\nDevicePolicy=strict\n", true},
        {"[Service]\nPrivateDevices=yes\n", true},
        {"[Service]\nPrivateDevices=no\n", false},
        {"[Service]\nPrivateDevices=false\nDevicePolicy=auto\n", false},
        {"[Service]\nDevicePolicy=auto\nDeviceAllow=/dev/nvidia0\n", true},
        {"PrivateDevices=yes\n", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct container_list list;
        if (unit(&list, rows[i].text)->denies_first != rows[i].closed)
            fail_msg("%s", rows[i].text);
        containers_free(&list);
    }
}

/* systemd.resource-control: an empty assignment drops those before. */
static void forgets_at_an_empty_assignment(void **state) {
    (void)state;
    struct container_list list;
    const struct container *c =
        unit(&list, "[Service]\nDeviceAllow=/dev/nvidia0\nDeviceAllow=char-nvidia rw\n"
                    "DeviceAllow=\nDeviceAllow=/dev/nvidia1 rw\n");
    assert_int_equal(c->n_rules, 0);
    assert_int_equal(c->n_devices, 1);
    assert_string_equal(c->devices[0].host_path, "/dev/nvidia1");
    containers_free(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_cdi_in_both_forms),
        cmocka_unit_test(says_why_it_cannot_read_cdi),
        cmocka_unit_test(reads_what_docker_keeps),
        cmocka_unit_test(reads_what_podman_keeps),
        cmocka_unit_test(leaves_what_the_next_start_makes_anew),
        cmocka_unit_test(finds_podmans_folder_and_names),
        cmocka_unit_test(reads_units),
        cmocka_unit_test(knows_what_closes_devices),
        cmocka_unit_test(forgets_at_an_empty_assignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
