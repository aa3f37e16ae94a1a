/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about the device cgroup: EPERM of an open(), a v1 list, what was found by trying. */
#include "doctor/access.h"

#include "unit/doctor/made_scene.h"

static void lists(void **state) {
    (void)state;
    static const struct {
        const char *list;
        int major, minor;
        bool allowed;
    } rows[] = {
        {"a *:* rwm", 195, 0, true},
        {"c *:* m", 195, 0, false},
        {"c 195:* rwm", 195, 3, true},
        {"c 195:* rw", 195, 3, true},
        {"c 195:* r", 195, 3, false},
        {"c 195:0 rwm", 195, 1, false},
        {"c 19:* rwm", 195, 0, false},
        {"b 195:* rwm", 195, 0, false},
        {"c *:* rwm", 511, 0, true},
        {"c 195:* m\nc 511:0 rwm", 511, 0, true},
        {"", 195, 0, false},
        {"c 195 rwm\nx\nc :: rwm", 195, 0, false},
        {"c 99999999999999999999:* rwm", 195, 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (access_v1_allows(rows[i].list, rows[i].major, rows[i].minor) != rows[i].allowed)
            fail_msg("%s", rows[i].list);
}

static void denied_open(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "container", "lxc");
    made_node(&m, "/dev/nvidia-uvm c 0666 0 0 511 0 EPERM");
    made_file(&m, "/proc/self/mountinfo", "1 0 0:5 / / rw - zfs rpool/data/subvol-207-disk-0 rw\n");
    made_code(&m, "cuInit", 999);
    made_judge(&m);
    EXPECT(&m, "cgroup.uvm-denied", SEVERITY_FAIL, "EPERM",
           "/etc/pve/lxc/207.conf: lxc.cgroup2.devices.allow: c 511:* rwm", "dev0", "pct stop 207");
    assert_string_equal(made_find(&m, "cuda.init")->consequence_of, "cgroup.uvm-denied");
    made_end(&m);
    made_begin(&m, "container", "docker");
    made_node(&m, "/dev/nvidia-uvm c 0666 0 0 511 0 EPERM");
    made_judge(&m);
    EXPECT(&m, "cgroup.uvm-denied", SEVERITY_FAIL, "recreate", "--device");
    assert_false(made_says(made_find(&m, "cgroup.uvm-denied"), "lxc."));
    made_end(&m);
    made_begin(&m, "host", "none");
    made_node(&m, "/dev/nvidia-uvm c 0666 0 0 511 0 EPERM");
    made_file(&m, "/proc/self/cgroup", "0::/system.slice/ollama.service\n");
    made_judge(&m);
    EXPECT(&m, "cgroup.uvm-denied", SEVERITY_FAIL, "systemctl edit ollama.service",
           "DeviceAllow=/dev/nvidia-uvm rw");
    made_end(&m);
}

static void all_denied(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "container", "lxc");
    made_node(&m, "/dev/nvidiactl c 0666 0 0 195 255 EPERM");
    made_node(&m, "/dev/nvidia0 c 0666 0 0 195 0 EPERM");
    made_node(&m, "/dev/nvidia1 c 0666 0 0 195 1 EPERM");
    made_node(&m, "/dev/nvidia-modeset c 0666 0 0 195 254 EPERM");
    made_judge(&m);
    EXPECT(&m, "cgroup.ctl-denied", SEVERITY_FAIL, "195:255", "/dev/nvidia1", "c 195:* rwm");
    assert_string_equal(made_find(&m, "cgroup.gpu-denied")->consequence_of, "cgroup.ctl-denied");
    assert_ptr_equal(made_find(&m, "cgroup.ctl-denied"), &m.findings.items[0]);
    EXPECT(&m, "cgroup.harmless-denied", SEVERITY_INFO, "modeset");
    made_end(&m);
}

static void harmless(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "container", "lxc");
    made_node(&m, "/dev/nvidia-uvm-tools c 0666 0 0 511 1 EPERM");
    made_node(&m, "/dev/nvidia-caps/nvidia-cap1 c 0400 0 0 240 1 EPERM");
    made_judge(&m);
    made_quiet(&m);
    EXPECT(&m, "cgroup.harmless-denied", SEVERITY_INFO, "nvidia-uvm-tools", "nvidia-cap1");
    made_end(&m);
    made_begin(&m, "container", "docker"); /* with MIG the same node is no longer harmless */
    made_node(&m, "/dev/nvidia-caps/nvidia-cap1 c 0400 0 0 240 1 EPERM");
    js_set_bool(js_at(js_get(m.probes, "gpus"), 0), "mig", true);
    made_judge(&m);
    EXPECT(&m, "caps.mig-denied", SEVERITY_FAIL, "nvidia-cap1", "240");
    made_end(&m);
}

/* A missing node says nothing of the rules; what was tried does, and where. */
static void tried(void **state) {
    (void)state;
    struct made m;
    struct error err = {0};
    static const char found[] =
        "{\"group\":\"/lxc/129\",\"tried\":[{\"path\":\"/dev/nvidia-uvm\",\"major\":511,\"minor\":0,\"open\":\"EPERM\","
        "\"denied_at\":\"/lxc\"},{\"path\":\"/dev/nvidia0\",\"major\":195,\"minor\":0,\"open\":\"ok\"}]}";
    made_begin(&m, "container", "lxc");
    made_gone(&m, "/dev/nvidia-uvm");
    js_set(m.probes, "device_cgroup", js_parse(found, strlen(found), &err));
    made_code(&m, "cuInit", 999);
    made_judge(&m);
    EXPECT(&m, "uvm.node-missing", SEVERITY_FAIL, "the device cgroup denies it too");
    EXPECT(&m, "cgroup.uvm-denied", SEVERITY_FAIL, "c 511:0 is /lxc");
    made_end(&m);
    made_begin(&m, "container", "lxc"); /* what open() answers is stronger than what was tried elsewhere */
    js_set(m.probes, "device_cgroup", js_parse(found, strlen(found), &err));
    made_judge(&m);
    made_quiet(&m);
    made_end(&m);
}

static void v1(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "container", "docker");
    made_file(&m, "/proc/self/cgroup", "4:devices:/docker/abc\n0::/\n");
    made_file(&m, "/proc/self/mountinfo",
              "1 0 0:5 /docker/abc /sys/fs/cgroup/devices ro - cgroup cgroup rw,devices\n");
    made_file(&m, "/sys/fs/cgroup/devices/devices.list", "c 1:3 rwm\nc *:* m\nc 195:* rwm\n");
    made_node(&m, "/dev/nvidia-uvm c 0666 0 0 511 0 -");
    made_judge(&m);
    EXPECT(&m, "cgroup.uvm-denied", SEVERITY_FAIL, "/sys/fs/cgroup/devices/devices.list", "511");
    made_lacks(&m, "cgroup.ctl-denied");
    made_end(&m);
}

/* No list to be read: which version's key to write is in /proc/self/cgroup, unless a level of v2 was seen to
 * deny. */
static void key_of_v1(void **state) {
    (void)state;
    struct error err = {0};
    static const char by_v2[] =
        "{\"tried\":[{\"path\":\"/dev/nvidia-uvm\",\"major\":511,\"minor\":0,\"open\":\"EPERM\",\"denied_at\":\"/\"}]}";
    for (int v2 = 0; v2 <= 1; v2++) {
        struct made m;
        made_begin(&m, "container", "lxc");
        made_file(&m, "/proc/self/cgroup", "5:net_cls,devices:/\n0::/\n");
        made_node(&m, "/dev/nvidia-uvm c 0666 0 0 511 0 EPERM");
        if (v2 == 1)
            js_set(m.probes, "device_cgroup", js_parse(by_v2, strlen(by_v2), &err));
        made_judge(&m);
        EXPECT(&m, "cgroup.uvm-denied", SEVERITY_FAIL,
               v2 == 1 ? "lxc.cgroup2.devices.allow: c 511:* rwm" : "lxc.cgroup.devices.allow: c 511:* rwm");
        made_end(&m);
    }
}

/* The kernel asks the mode before the group: both are told where the list can be read. */
static void behind_the_mode(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "container", "docker");
    js_set_int(m.probes, "uid", 1000);
    made_file(&m, "/proc/self/status",
              "Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t1000\n");
    made_file(&m, "/sys/fs/cgroup/devices/devices.list", "c 1:3 rwm\nc 195:255 rwm\nc 195:0 rwm\n");
    made_node(&m, "/dev/nvidia-uvm c 0600 0 0 511 0 EACCES");
    made_node(&m, "/dev/nvidia1 c 0660 0 44 195 1 EACCES");
    made_node(&m, "/dev/nvidia0 c 0660 0 44 195 0 EACCES");
    made_file(&m, "/etc/group", "root:x:0:\nvideo:x:44:\n");
    made_judge(&m);
    EXPECT(&m, "nodes.mode", SEVERITY_FAIL, "/dev/nvidia-uvm", "/dev/nvidia1", "/dev/nvidia0");
    EXPECT(&m, "cgroup.uvm-denied", SEVERITY_FAIL, "devices.list", "511");
    EXPECT(&m, "cgroup.gpu-denied", SEVERITY_FAIL, "/dev/nvidia1");
    assert_false(made_says(made_find(&m, "cgroup.gpu-denied"), "/dev/nvidia0 (c"));
    made_end(&m);
}

static void containers(void **state) {
    (void)state;
    struct made m;
    struct error err = {0};
    static const char found[] =
        "{\"containers\":[{\"name\":\"129\",\"manager\":\"lxc\",\"group\":\"/lxc/129\",\"nodes\":[\"/dev/nvidia-uvm\"],\"tried\":["
        "{\"path\":\"/dev/nvidia-uvm\",\"major\":511,\"minor\":0,\"open\":\"EPERM\",\"denied_at\":\"/lxc/129\"},"
        "{\"path\":\"/dev/nvidiactl\",\"major\":195,\"minor\":255,\"open\":\"EPERM\"}]},"
        "{\"name\":\"130\",\"nodes\":[\"/dev/nvidia-uvm\"],\"tried\":[{\"path\":\"/dev/nvidia-uvm\",\"open\":\"ok\"}]},"
        "{\"name\":7,\"nodes\":3,\"tried\":\"x\"},null]}";
    made_begin(&m, "host", "none");
    js_set(m.probes, "device_cgroup", js_parse(found, strlen(found), &err));
    made_judge(&m);
    EXPECT(&m, "cgroup.container-denied", SEVERITY_FAIL, "129", "c 511:0", "/etc/pve/lxc/129.conf",
           "c 511:* rwm");
    size_t count = 0;
    for (size_t i = 0; i < m.findings.count; i++)
        count += strcmp(m.findings.items[i].rule->id, "cgroup.container-denied") == 0;
    assert_int_equal(count, 1); /* it has no nvidiactl, and 130 is fine */
    made_end(&m);

    /* A level above the container: its own rules are no cure. */
    static const char *const levels[] = {"/", "/lxc", "/lx", "/lxc/129", "lxc", ""};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        struct text above = {0};
        text_addf(&above,
                  "{\"containers\":[{\"name\":\"129\",\"manager\":\"lxc\",\"group\":\"/lxc/129\",\"nodes\":["
                  "\"/dev/nvidia-uvm\"],\"tried\":[{\"path\":\"/dev/nvidia-uvm\",\"major\":511,\"minor\":0,"
                  "\"open\":\"EPERM\",\"denied_at\":\"%s\"}]}]}",
                  levels[i]);
        made_begin(&m, "host", "none");
        js_set(m.probes, "device_cgroup", js_parse(above.data, above.length, &err));
        made_judge(&m);
        EXPECT(&m, "cgroup.container-denied", SEVERITY_FAIL, "129", i < 2 ? "lies above" : "devices.allow");
        assert_int_equal(made_says(made_find(&m, "cgroup.container-denied"), "devices.allow"), i >= 2);
        text_free(&above);
        made_end(&m);
    }

    static const char list[] =
        "{\"tried\":[{\"path\":\"/dev/nvidia-uvm\",\"major\":511,\"minor\":0,\"open\":\"ok\"},"
        "{\"path\":\"/dev/nvidia-modeset\",\"major\":195,\"minor\":254,\"open\":\"ok\"}],"
        "\"containers\":[{\"name\":\"web\",\"manager\":\"docker\",\"devices_list\":\"c *:* m\\nc 1:* rwm\","
        "\"nodes\":[\"/dev/nvidia-uvm\",\"/dev/nvidia-modeset\"]}]}";
    made_begin(&m, "host", "none");
    js_set(m.probes, "device_cgroup", js_parse(list, strlen(list), &err));
    made_judge(&m);
    EXPECT(&m, "cgroup.container-denied", SEVERITY_FAIL, "web", "c 511:0", "devices.list", "recreate");
    assert_int_equal(m.findings.count, 1);
    made_end(&m);
}

static void reload(void **state) {
    (void)state;
    for (int links = 0; links <= 1; links++) {
        struct made m;
        made_begin(&m, "host", "none");
        made_file(&m, "/etc/docker/daemon.json", "{\"exec-opts\":[\"native.cgroupdriver=systemd\"]}");
        static const char *const all[] = {"195:255", "195:0", "195:1", "511:0"};
        for (size_t i = 0; links == 1 && i < 4; i++) {
            char node[80];
            snprintf(node, sizeof node, "/dev/char/%s l 0777 0 0   -", all[i]);
            made_node(&m, node);
        }
        made_judge(&m);
        if (links == 1)
            made_quiet(&m);
        else
            EXPECT(&m, "docker.char-links", SEVERITY_WARN, "/dev/char/195:0",
                   "create-dev-char-symlinks --create-all");
        made_end(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),           cmocka_unit_test(denied_open), cmocka_unit_test(all_denied),
        cmocka_unit_test(harmless),        cmocka_unit_test(tried),       cmocka_unit_test(v1),
        cmocka_unit_test(containers),      cmocka_unit_test(reload),      cmocka_unit_test(key_of_v1),
        cmocka_unit_test(behind_the_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
