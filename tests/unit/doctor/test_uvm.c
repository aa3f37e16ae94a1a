/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about nvidia-uvm: not loaded, missing, another number, another driver's number. */
#include "unit/doctor/made_scene.h"

static void not_loaded(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "host", "none");
    made_devices(&m, "");
    made_gone(&m, "/dev/nvidia-uvm");
    made_code(&m, "cuInit", 999);
    made_judge(&m);
    EXPECT(&m, "uvm.module-not-loaded", SEVERITY_FAIL, "nvidia-modprobe -u -c 0", "pve-guests.service");
    made_lacks(&m, "uvm.node-missing");
    assert_string_equal(made_find(&m, "cuda.init")->consequence_of, "uvm.module-not-loaded");
    made_end(&m);
}

/* A host on which nobody used CUDA yet is healthy, as far as it goes. */
static void on_demand(void **state) {
    (void)state;
    static const struct {
        const char *where, *modprobe;
        int uid;
        bool guests, loaded;
        enum severity severity;
    } rows[] = {
        {"host", "setuid", 1000, false, true, SEVERITY_INFO},
        {"host", "setuid", 1000, true, true, SEVERITY_WARN},
        {"host", "plain", 1000, false, true, SEVERITY_FAIL},
        {"host", "absent", 0, false, false, SEVERITY_INFO},
        {"host", "setuid", 1000, false, false, SEVERITY_INFO},
        {"container", "setuid", 0, false, false, SEVERITY_FAIL},
        {"host", NULL, 0, false, false, SEVERITY_FAIL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        made_begin(&m, rows[i].where, "none");
        made_gone(&m, "/dev/nvidia-uvm");
        js_remove(m.probes, "cuInit");
        js_set_int(m.probes, "uid", rows[i].uid);
        if (rows[i].modprobe != NULL)
            js_set_string(m.probes, "nvidia_modprobe", rows[i].modprobe);
        if (rows[i].guests)
            made_file(&m, "/etc/pve/lxc/README", "");
        if (!rows[i].loaded)
            made_devices(&m, "");
        made_judge(&m);
        EXPECT(&m, rows[i].loaded ? "uvm.node-missing" : "uvm.module-not-loaded", rows[i].severity,
               "nvidia-uvm");
        made_end(&m);
    }
}

static void missing(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "host", "none");
    made_gone(&m, "/dev/nvidia-uvm");
    made_code(&m, "cuInit", 999);
    made_judge(&m);
    EXPECT(&m, "uvm.node-missing", SEVERITY_FAIL, "511", "nvidia-modprobe -u -c 0");
    made_end(&m);
    made_begin(&m, "host", "none"); /* root's CUDA makes it: nothing is broken here */
    made_gone(&m, "/dev/nvidia-uvm");
    made_judge(&m);
    made_quiet(&m);
    assert_non_null(made_find(&m, "uvm.node-missing"));
    made_end(&m);
    made_begin(&m, "host", "none"); /* but containers that start before have nothing to bind */
    made_gone(&m, "/dev/nvidia-uvm");
    made_file(&m, "/etc/pve/lxc/README", "");
    made_judge(&m);
    EXPECT(&m, "uvm.node-missing", SEVERITY_WARN, "containers");
    made_end(&m);
}

static void numbers(void **state) {
    (void)state;
    for (int variant = 0; variant < 60; variant++) { /* the kind, not the numbers of one case */
        struct made m;
        char node[80], shown[32];
        int old = variant == 0 ? 0 : 234 + variant * 5;
        made_begin(&m, variant % 2 == 0 ? "host" : "container", variant % 2 == 0 ? "none" : "lxc");
        if (old == 511)
            old = 600;
        snprintf(node, sizeof node, "/dev/nvidia-uvm c 0666 0 0 %d 0 ENXIO", old);
        snprintf(shown, sizeof shown, "%d:0", old);
        made_node(&m, node);
        made_code(&m, "cuInit", 999);
        made_judge(&m);
        if (old == 240) {
            EXPECT(&m, "uvm.major-foreign", SEVERITY_FAIL, "nvidia-caps");
        } else {
            EXPECT(&m, "uvm.major-stale", SEVERITY_FAIL, shown, "511");
        }
        made_end(&m);
    }
}

static void foreign(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "container", "lxc");
    made_node(&m, "/dev/nvidia-uvm c 0666 0 0 1 0 ok"); /* it opens: the wrong driver answers */
    made_code(&m, "cuInit", 999);
    made_judge(&m);
    EXPECT(&m, "uvm.major-foreign", SEVERITY_FAIL, "mem", "511", "security");
    made_end(&m);
}

static void no_gpu_here(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "container", "lxc"); /* a container that never asked for a GPU */
    static const char *const all[] = {"/dev/nvidiactl",  "/dev/nvidia0",          "/dev/nvidia1",
                                      "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        made_gone(&m, all[i]);
    js_set(m.probes, "gpus", js_new_array());
    js_remove(m.probes, "cuInit");
    js_remove(m.probes, "nvmlInit");
    made_judge(&m);
    made_quiet(&m);
    made_end(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_loaded), cmocka_unit_test(on_demand), cmocka_unit_test(missing),
        cmocka_unit_test(numbers),    cmocka_unit_test(foreign),   cmocka_unit_test(no_gpu_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
