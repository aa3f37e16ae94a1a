/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about GPUs that are lost: only those that somebody asked for. */
#include "unit/doctor/made_scene.h"

/* nvidia0 has no node in this container, and NVML shows the other GPU only. */
static void without_first(struct made *m, const char *where) {
    made_begin(m, where, strcmp(where, "host") == 0 ? "none" : "docker");
    made_gone(m, "/dev/nvidia0");
    made_nvml(m, 1);
}

static void asked(void **state) {
    (void)state;
    static const struct {
        const char *name, *value;
        bool asked;
    } rows[] = {
        {"NVIDIA_VISIBLE_DEVICES", "all", true},
        {"NVIDIA_VISIBLE_DEVICES", "void", false},
        {"NVIDIA_VISIBLE_DEVICES", "none", false},
        {"NVIDIA_VISIBLE_DEVICES", "1", false},
        {"NVIDIA_VISIBLE_DEVICES", "0", true},
        {"NVIDIA_VISIBLE_DEVICES", "1,0", true},
        {"NVIDIA_VISIBLE_DEVICES", "GPU-00000000-1111", true},
        {"NVIDIA_VISIBLE_DEVICES", "GPU-00000001-1111", false},
        {"CUDA_VISIBLE_DEVICES", "GPU-00000000", true},
        {"CUDA_VISIBLE_DEVICES", "0", false},
        {"CUDA_VISIBLE_DEVICES", "0,1", true},
        {"CUDA_VISIBLE_DEVICES", "", false},
        {"CUDA_VISIBLE_DEVICES", "-1,1", false},
        {"CUDA_VISIBLE_DEVICES", "99999999999999999999", false},
        {"NCCL_DEBUG", "all", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        without_first(&m, "container");
        made_variable(&m, rows[i].name, rows[i].value);
        made_judge(&m);
        const struct finding *f = made_find(&m, "nodes.gpu-missing");
        if ((f != NULL) != rows[i].asked)
            fail_msg("%s=%s", rows[i].name, rows[i].value);
        if (rows[i].asked)
            EXPECT(&m, "nodes.gpu-missing", SEVERITY_FAIL, "/dev/nvidia0", "0000:41:00.0", rows[i].name);
        else if (strcmp(rows[i].name, "CUDA_VISIBLE_DEVICES") != 0) /* other families judge that one's text */
            made_quiet(&m);
        made_end(&m);
    }
}

static void on_the_host(void **state) {
    (void)state;
    struct made m;
    without_first(&m, "host");
    made_judge(&m);
    EXPECT(&m, "nodes.gpu-missing", SEVERITY_FAIL, "nvidia-modprobe -c 0");
    assert_string_equal(made_find(&m, "gpu.lost")->consequence_of, "nodes.gpu-missing");
    assert_string_equal(m.findings.items[0].rule->id, "nodes.gpu-missing");
    made_end(&m);
}

/* Its node is fine, and it is lost all the same. */
static void unexplained(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "container", "lxc");
    made_nvml(&m, 1);
    made_judge(&m);
    EXPECT(&m, "gpu.lost", SEVERITY_FAIL, "0000:41:00.0", "dmesg");
    assert_null(made_find(&m, "gpu.lost")->consequence_of);
    made_end(&m);
}

static void unusable(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "host", "none");
    made_file(&m, "/sys/bus/pci/devices/0000:81:00.0/vendor", "0x10de\n");
    made_file(&m, "/sys/bus/pci/devices/0000:81:00.0/device", "0x2335\n");
    made_file(&m, "/sys/bus/pci/devices/0000:81:00.0/class", "0x030200\n");
    char link[160];
    snprintf(link, sizeof link, "%s/root/sys/bus/pci/devices/0000:81:00.0/driver", m.dir);
    assert_int_equal(symlink("../../../bus/pci/drivers/nvidia", link), 0);
    made_judge(&m);
    EXPECT(&m, "gpu.unusable", SEVERITY_FAIL, "0000:81:00.0", "unbind");
    made_end(&m);
    made_begin(&m, "host", "none"); /* the same GPU given to a virtual machine is nobody's loss */
    made_file(&m, "/sys/bus/pci/devices/0000:81:00.0/vendor", "0x10de\n");
    made_file(&m, "/sys/bus/pci/devices/0000:81:00.0/device", "0x2335\n");
    made_file(&m, "/sys/bus/pci/devices/0000:81:00.0/class", "0x030200\n");
    snprintf(link, sizeof link, "%s/root/sys/bus/pci/devices/0000:81:00.0/driver", m.dir);
    assert_int_equal(symlink("../../../bus/pci/drivers/vfio-pci", link), 0);
    made_judge(&m);
    made_quiet(&m);
    EXPECT(&m, "gpu.not-asked", SEVERITY_INFO, "0000:81:00.0");
    made_end(&m);
}

static void order(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "host", "none");
    js_set(m.probes, "gpus", js_new_array());
    made_gpu(&m, "0000:41:00.0", 1, 0);
    made_gpu(&m, "0000:61:00.0", 0, 1);
    made_judge(&m);
    made_quiet(&m);
    EXPECT(&m, "gpu.index-is-not-minor", SEVERITY_INFO, "0000:41:00.0", "/dev/nvidia1");
    made_end(&m);
}

/* Forty GPUs more than anything has room for, names that are none, numbers that overflow. */
static void hostile(void **state) {
    (void)state;
    struct made m;
    made_begin(&m, "container", "lxc");
    for (int i = 0; i < 120; i++) {
        char bdf[32];
        snprintf(bdf, sizeof bdf, "%04x:41:00.0", i);
        made_gpu(&m, bdf, i * 1000, 2);
    }
    made_file(&m, "/proc/driver/nvidia/gpus/a very long name that is no address of any device/information",
              "Device Minor: 99999999999999999999\nGPU UUID:\n");
    for (int i = 0; i < 700; i++) {
        char node[80];
        snprintf(node, sizeof node, "/dev/nvidia%d c 0666 0 0 195 %d EPERM", 1000 + i, i);
        text_addf(&m.nodes, "%s\n", node);
    }
    made_variable(&m, "CUDA_VISIBLE_DEVICES", ",,,GPU-,all,%s%n,9223372036854775807");
    made_judge(&m);
    made_end(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked),    cmocka_unit_test(on_the_host), cmocka_unit_test(unexplained),
        cmocka_unit_test(unusable), cmocka_unit_test(order),       cmocka_unit_test(hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
