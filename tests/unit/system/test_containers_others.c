/* SPDX-License-Identifier: Apache-2.0 */
/* CDI specifications and systemd units. */
#include "unit/unit.h"

#include "base/mem.h"
#include "system/containers.h"

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
        cmocka_unit_test(reads_cdi_in_both_forms),   cmocka_unit_test(says_why_it_cannot_read_cdi),
        cmocka_unit_test(reads_what_docker_keeps),   cmocka_unit_test(reads_units),
        cmocka_unit_test(knows_what_closes_devices), cmocka_unit_test(forgets_at_an_empty_assignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
