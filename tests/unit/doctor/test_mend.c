/* SPDX-License-Identifier: Apache-2.0 */
/* What is changed of a configuration, and what only looks wrong: nvidia is 195 and nvidia-uvm 511 here, in a
 * baseline it was 504. */
#include "doctor/mend.h"
#include "unit/doctor/made_scene.h"

#define DEVICES "lxc.cgroup2.devices.allow: c 195:* rwm\n"
#define UVM(number) "lxc.cgroup2.devices.allow: c " number ":* rwm\n"
#define NODE "lxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind,optional,create=file\n"

struct fixture {
    struct made made;
    js *baseline;
    struct mend_plan plan;
    struct text after; /* of the container's own file */
};

/* What a plan makes of Proxmox's /etc/pve/lxc/129.conf; `included` (NULL: none) is /etc/lxc/gpu.conf, `more`
 * (NULL: none) one more file of the host. */
static void mend_with(struct fixture *f, const char *text, const char *included, bool baseline,
                      const char *devices, const char *more) {
    const char *near = NULL;
    struct error err = {0};
    struct mend_lines lines = {0};
    *f = (struct fixture){0};
    made_begin(&f->made, "host", "none");
    made_file(&f->made, "/etc/pve/lxc/129.conf", text);
    made_file(&f->made, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
    if (included != NULL)
        made_file(&f->made, "/etc/lxc/gpu.conf", included);
    if (more != NULL)
        made_file(&f->made, more, "DeviceFileMinor: 21\n");
    made_devices(&f->made, devices);
    made_judge(&f->made);
    if (baseline) {
        f->baseline = js_new_object();
        js_set_int(f->baseline, "chrdev.nvidia-uvm", 504);
        js_set_int(f->baseline, "chrdev.nvidia-caps", 238);
        f->made.scene.baseline = f->baseline;
    }
    const struct container *c = mend_find(&f->made.scene.containers, "129", &near);
    assert_non_null(c);
    mend_plan_make(&f->made.scene, c, &f->plan);
    if (!mend_lines_make(text, strlen(text), f->plan.format, &f->plan.edits, c->file, &lines, &err))
        fail_msg("%s", err.text);
    mend_lines_text(&lines, &f->after);
    mend_lines_free(&lines);
}

static void mend(struct fixture *f, const char *text, const char *included, bool baseline,
                 const char *devices) {
    mend_with(f, text, included, baseline, devices, NULL);
}

static void end(struct fixture *f) {
    mend_plan_free(&f->plan);
    text_free(&f->after);
    js_free(f->baseline);
    made_end(&f->made);
}

static bool says(const struct strings *list, const char *word) {
    for (size_t i = 0; i < list->count; i++)
        if (strstr(list->items[i], word) != NULL)
            return true;
    return false;
}

static void expect_with(const char *text, bool baseline, const char *devices, const char *wanted,
                        const char *stays, const char *more) {
    struct fixture f;
    mend_with(&f, text, NULL, baseline, devices, more);
    assert_string_equal(text_string(&f.after), wanted != NULL ? wanted : text);
    assert_int_equal(f.plan.edits.count > 0, wanted != NULL);
    assert_int_equal(f.plan.stays.count > 0, stays != NULL);
    if (stays != NULL && !says(&f.plan.stays, stays))
        fail_msg("'%s' is not among what stays: %s", stays, f.plan.stays.items[0]);
    if (wanted != NULL)
        assert_true(f.plan.enough);
    end(&f);
}

/* `wanted` NULL: nothing is to be changed. `stays`: a word of what stays, NULL: nothing does. */
static void expect_of(const char *text, bool baseline, const char *devices, const char *wanted,
                      const char *stays) {
    expect_with(text, baseline, devices, wanted, stays, NULL);
}

#define NOW "511 nvidia-uvm\n"

static void test_proven(void **state) {
    (void)state;
    /* A baseline maps 504 to nvidia-uvm: the number is replaced, twice where it stands twice. */
    expect_of(DEVICES UVM("504") NODE, true, NOW, DEVICES UVM("511") NODE, NULL);
    expect_of(
        DEVICES "lxc.cgroup2.devices.allow: c 504:0 rwm\nlxc.cgroup2.devices.allow: c 504:1 rwm\n", true, NOW,
        DEVICES "lxc.cgroup2.devices.allow: c 511:0 rwm\nlxc.cgroup2.devices.allow: c 511:1 rwm\n", NULL);
    /* Hex, of the number now and of the number then; the driver's name. */
    expect_of(DEVICES UVM("1ff"), false, NOW, DEVICES UVM("511"), NULL);
    expect_of(DEVICES UVM("1f8"), true, NOW, DEVICES UVM("511"), NULL);
    expect_of(DEVICES UVM("nvidia-uvm"), false, NOW, DEVICES UVM("511"), NULL);
    /* The number went to another driver since, but it is proven what it was. */
    expect_of(DEVICES UVM("504"), true, NOW "504 ttyACM\n", DEVICES UVM("511"), NULL);
    /* nvidia-caps is not needed, but what it was is known. */
    expect_of(DEVICES UVM("511") UVM("238"), true, NOW, DEVICES UVM("511") UVM("240"), NULL);
}

static void test_not_proven(void **state) {
    (void)state;
    /* Nobody's number: likely, not proven. It stays, and what is needed comes after it. */
    expect_of(DEVICES UVM("504") NODE, false, NOW, DEVICES UVM("504") UVM("511") NODE, "504");
    expect_of(DEVICES UVM("498") NODE, true, NOW, DEVICES UVM("498") UVM("511") NODE, "498");
    expect_of(DEVICES UVM("1f8"), false, NOW, DEVICES UVM("1f8") UVM("511"), "1f8");
    expect_of(DEVICES UVM("5o4"), true, NOW, DEVICES UVM("5o4") UVM("511"), "5o4");
    expect_of(DEVICES UVM("504"), false, NOW "504 ttyACM\n", DEVICES UVM("504") UVM("511"), "ttyACM");
    /* The old number is one that a container may well want now. */
    expect_of(DEVICES UVM("504"), true, NOW "504 hidraw\n", DEVICES UVM("504") UVM("511"), "hidraw");
    /* The other hierarchy's key. */
    expect_of(DEVICES "lxc.cgroup.devices.allow: c 511:* rwm\n", false, NOW,
              DEVICES "lxc.cgroup.devices.allow: c 511:* rwm\n" UVM("511"), "cgroup v1");
}

static void test_nothing(void **state) {
    (void)state;
    expect_of(DEVICES UVM("511"), true, NOW, NULL, NULL);
    expect_of(DEVICES UVM("504") UVM("511"), true, NOW, NULL, NULL); /* a dead rule beside a right one */
    expect_of("arch: amd64\n", true, NOW, NULL, NULL);               /* takes no GPU */
    expect_of("dev0: /dev/nvidiactl\ndev1: /dev/nvidia0\ndev2: /dev/nvidia-uvm\n", true, NOW, NULL, NULL);
    expect_of(DEVICES UVM("504"), true, "", NULL, NULL); /* no nvidia-uvm: its number is not known */
    /* Denied by its very number: that may be meant. */
    expect_of(DEVICES UVM("511") "lxc.cgroup2.devices.deny: c 511:* rwm\n", true, NOW, NULL, "denies");
}

static void test_not_more_than_taken(void **state) {
    (void)state;
    /* Of one GPU only: the others stay closed. */
    expect_of(NODE UVM("511"), false, NOW,
              NODE UVM("511") "lxc.cgroup2.devices.allow: c 195:255 rwm\n"
                              "lxc.cgroup2.devices.allow: c 195:0 rwm\n",
              NULL);
    expect_of(
        "lxc.cgroup2.devices.allow: c 195:0 rwm\n" UVM("511"), false, NOW,
        "lxc.cgroup2.devices.allow: c 195:0 rwm\n" UVM("511") "lxc.cgroup2.devices.allow: c 195:255 rwm\n",
        NULL);
    /* A rule without reading and writing is none. */
    expect_of(DEVICES "lxc.cgroup2.devices.allow: c 504:* m\n", true, NOW,
              DEVICES "lxc.cgroup2.devices.allow: c 511:* m\n" UVM("511"), NULL);
    /* After what closes all again. */
    expect_of(DEVICES "lxc.cgroup2.devices.deny: a\n" DEVICES, false, NOW,
              DEVICES "lxc.cgroup2.devices.deny: a\n" DEVICES UVM("511"), NULL);
}

#define ALLOW(what) "lxc.cgroup2.devices.allow: c " what " rwm\n"
#define BIND(node) "lxc.mount.entry: /dev/" node " dev/" node " none bind,optional,create=file\n"

/* A GPU that is bound and denied is lost without an error; what is no GPU, or denied by its number, is not
 * let in. */
static void test_bound_gpus(void **state) {
    (void)state;
    expect_of(ALLOW("195:255") ALLOW("195:0") UVM("511") NODE BIND("nvidia1"), false, NOW,
              ALLOW("195:255") ALLOW("195:0") UVM("511") ALLOW("195:1") NODE BIND("nvidia1"), NULL);
    expect_of(ALLOW("195:255") UVM("504") NODE BIND("nvidia1"), false, NOW,
              ALLOW("195:255") UVM("504") UVM("511") ALLOW("195:0") ALLOW("195:1") NODE BIND("nvidia1"),
              "504");
    expect_of(ALLOW("195:255") ALLOW("195:0") UVM("511") NODE BIND("nvidia7"), false, NOW, NULL, NULL);
    expect_of(DEVICES UVM("511") "lxc.cgroup2.devices.deny: c 195:1 rwm\n" NODE BIND("nvidia1"), false, NOW,
              NULL, "195:1");
    expect_of(ALLOW("195:255") ALLOW("195:0") UVM("511") NODE "dev0: /dev/nvidia1\n", false, NOW, NULL, NULL);
}

/* nvidia-caps is added where the driver has MIG instances, and then the nodes that are taken only. */
static void test_mig(void **state) {
    static const char instance[] = "/proc/driver/nvidia/capabilities/gpu0/mig/gi1/access";
    static const char off[] = "/proc/driver/nvidia/capabilities/gpu0/mig/config";
    const char *text = DEVICES UVM("511") BIND("nvidia-caps/nvidia-cap21") BIND("nvidia-caps/nvidia-cap22");
    (void)state;
    expect_with(text, false, NOW,
                DEVICES UVM("511") ALLOW("240:21") ALLOW("240:22") BIND("nvidia-caps/nvidia-cap21")
                    BIND("nvidia-caps/nvidia-cap22"),
                NULL, instance);
    expect_with(text, false, NOW, NULL, NULL, off);
    /* An old number that is proven is renewed instead. */
    expect_with(DEVICES UVM("511") UVM("238") BIND("nvidia-caps/nvidia-cap21"), true, NOW,
                DEVICES UVM("511") UVM("240") BIND("nvidia-caps/nvidia-cap21"), NULL, instance);
}

/* An unprivileged container gets the nodes that it may not make; a privileged one makes them. */
static void test_nodes(void **state) {
    const char *text = "unprivileged: 1\n" DEVICES UVM("511") NODE BIND("nvidiactl");
    (void)state;
    expect_of(
        text, false, NOW,
        "unprivileged: 1\n" DEVICES UVM("511") NODE BIND(
            "nvidiactl") "lxc.mount.entry: /dev/nvidia-uvm dev/nvidia-uvm none bind,optional,create=file 0 0\n",
        NULL);
    expect_of(
        "unprivileged: 1\n" DEVICES UVM("504") NODE BIND("nvidiactl") "[before]\n", true, NOW,
        "unprivileged: 1\n" DEVICES UVM("511") NODE BIND(
            "nvidiactl") "lxc.mount.entry: /dev/nvidia-uvm dev/nvidia-uvm none bind,optional,create=file 0 0\n[before]\n",
        NULL);
    expect_of(DEVICES UVM("511") NODE, false, NOW, NULL, NULL);
    expect_of("unprivileged: 1\n" DEVICES UVM("511"), false, NOW, NULL, NULL); /* names no GPU's node */
}

static void test_sections(void **state) {
    (void)state;
    expect_of("# c 504:* rwm\r\n" DEVICES UVM("504") "\n[before]\n" DEVICES UVM("504"), true, NOW,
              "# c 504:* rwm\r\n" DEVICES UVM("511") "\n[before]\n" DEVICES UVM("504"), NULL);
}

static void test_include(void **state) {
    (void)state;
    struct fixture f;
    struct mend_lines lines = {0};
    struct error err = {0};
    const char *included = "lxc.cgroup2.devices.allow = c 504:* rwm\n";
    const char *text = DEVICES "lxc.include: /etc/lxc/gpu.conf\n" NODE;
    /* Edited where the rule is. */
    mend(&f, text, included, true, NOW);
    assert_string_equal(text_string(&f.after), text);
    assert_int_equal(f.plan.files.count, 1);
    assert_string_equal(f.plan.files.items[0], "/etc/lxc/gpu.conf");
    assert_true(mend_lines_make(included, strlen(included), f.plan.format, &f.plan.edits, "/etc/lxc/gpu.conf",
                                &lines, &err));
    text_clear(&f.after);
    mend_lines_text(&lines, &f.after);
    assert_string_equal(text_string(&f.after), "lxc.cgroup2.devices.allow = c 511:* rwm\n");
    mend_lines_free(&lines);
    end(&f);
    /* What is added is the container's own, at its end, since the include has the last word. */
    mend(&f, text, included, false, NOW);
    assert_string_equal(text_string(&f.after), DEVICES "lxc.include: /etc/lxc/gpu.conf\n" NODE UVM("511"));
    assert_true(f.plan.enough);
    end(&f);
}

static void test_around(void **state) {
    (void)state;
    struct fixture f;
    const char *near = NULL;
    mend(&f, "dev0: /dev/dri/card0\n" DEVICES UVM("504") NODE, NULL, true, NOW);
    assert_true(says(&f.plan.lasting, "dev1: /dev/nvidiactl"));
    assert_true(says(&f.plan.lasting, "/dev/nvidia0"));
    assert_true(says(&f.plan.lasting, "129.conf:3"));
    assert_true(says(&f.plan.restart, "pct stop 129"));
    assert_null(mend_find(&f.made.scene.containers, "192", &near));
    assert_string_equal(near, "129");
    assert_null(mend_find(&f.made.scene.containers, "nothing-like-it", &near));
    assert_null(near);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proven),   cmocka_unit_test(test_not_proven),
        cmocka_unit_test(test_nothing),  cmocka_unit_test(test_not_more_than_taken),
        cmocka_unit_test(test_sections), cmocka_unit_test(test_include),
        cmocka_unit_test(test_around),   cmocka_unit_test(test_bound_gpus),
        cmocka_unit_test(test_mig),      cmocka_unit_test(test_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
