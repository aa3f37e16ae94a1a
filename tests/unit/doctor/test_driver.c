/* SPDX-License-Identifier: Apache-2.0 */
/* The families module, driver, hmm, suspend, fabric, compute and cuda over captures made by hand. */
#include "unit/doctor/made_driver.h"

#include "doctor/cuda_codes.h"

static void healthy_is_quiet(void **state) {
    (void)state;
    static const char *const managers[] = {"none", "lxc", "docker"};
    for (size_t i = 0; i < 3; i++) {
        struct made m;
        made_with_driver(&m, i == 0 ? "host" : "container", managers[i], &made_healthy);
        made_judge(&m);
        made_quiet(&m);
        made_end(&m);
    }
}

/* Each of the three versions differing, with NVML and CUDA failing or not. */
static void versions_three_way(void **state) {
    (void)state;
    static const struct {
        const char *loaded, *disk, *libs, *id, *says;
        enum severity severity;
        bool fails;
    } rows[] = {
        {"510.73.05", "515.48.07", "515.48.07", "driver.mismatch", "reboot", SEVERITY_FAIL, true},
        {"510.73.05", "510.73.05", "515.48.07", "driver.mismatch", "exactly 510.73.05", SEVERITY_FAIL, true},
        {"510.73.05", "510.85.02", "515.48.07", "driver.mismatch", "one version", SEVERITY_FAIL, true},
        {"570.124.06", "570.124.06", "570.124.04", "driver.mismatch", "570.124.04", SEVERITY_FAIL, true},
        {"510.73.05", "515.48.07", "510.73.05", "driver.reload-pending", "515.48.07", SEVERITY_WARN, false},
        {"510.73.05", NULL, "515.48.07", "driver.mismatch", "modinfo", SEVERITY_FAIL, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        struct made_driver d = made_healthy;
        d.loaded = rows[i].loaded;
        d.disk = rows[i].disk;
        d.cuda = d.nvml = rows[i].libs;
        made_with_driver(&m, "host", "none", &d);
        made_code(&m, "cuInit", rows[i].fails ? 803 : 0);
        if (rows[i].fails) {
            made_code(&m, "nvmlInit", 18);
            js_set(m.probes, "gpus", js_new_array());
        }
        made_judge(&m);
        EXPECT(&m, rows[i].id, rows[i].severity, rows[i].loaded, rows[i].says);
        made_end(&m);
    }
}

/* What works is no mismatch: forward compatibility, and libraries that a test brings. */
static void what_works_is_no_mismatch(void **state) {
    (void)state;
    struct made m;
    struct made_driver d = made_healthy;
    d.cuda = "590.10.01";
    made_with_driver(&m, "container", "docker", &d);
    made_judge(&m);
    made_quiet(&m);
    made_end(&m);
}

static void why_it_is_not_loaded(void **state) {
    (void)state;
    static const struct {
        const char *id, *file, *text, *klog;
        bool no_disk, nouveau, secure;
    } rows[] = {
        {"module.not-loaded", NULL, NULL, NULL, false, false, false},
        {"module.not-installed", NULL, NULL, NULL, true, false, false},
        {"module.nouveau", NULL, NULL, NULL, false, true, false},
        {"module.blacklisted", "/etc/modprobe.d/x.conf", "blacklist nvidia\n", NULL, false, false, false},
        {"module.blacklisted", "/proc/cmdline", "ro module_blacklist=nvidia\n", NULL, false, false, false},
        {"module.secure-boot", NULL, NULL, "[1.0] Loading of unsigned module is rejected\n", false, false,
         true},
        {"module.misfit", NULL, NULL, "[1.0] nvidia: disagrees about version of symbol module_layout\n",
         false, false, false},
        /* with Secure Boot on and a signed module, a log that says nothing of it is no proof */
        {"module.not-loaded", NULL, NULL, "[1.0] nothing of note\n", false, false, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        struct made_driver d = made_healthy;
        d.loaded = NULL;
        d.bound = rows[i].nouveau ? "nouveau" : NULL;
        if (rows[i].no_disk)
            d.disk = d.cuda = d.nvml = NULL;
        made_with_driver(&m, "host", "none", &d);
        if (rows[i].no_disk)
            made_top(&m, "files.tsv", "/proc/modules\tf\n");
        if (rows[i].file != NULL)
            made_file(&m, rows[i].file, rows[i].text);
        if (rows[i].klog != NULL)
            made_top(&m, "klog.txt", rows[i].klog);
        if (rows[i].secure)
            made_file(&m, "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
                      "\x06xxx\x01");
        made_judge(&m);
        EXPECT(&m, rows[i].id, SEVERITY_FAIL, "");
        size_t causes = 0;
        for (size_t f = 0; f < m.findings.count; f++)
            causes +=
                m.findings.items[f].severity == SEVERITY_FAIL && m.findings.items[f].consequence_of == NULL;
        assert_int_equal(causes, 1);
        made_end(&m);
    }
}

/* Open and proprietary, each with GPUs that want the one, the other, or either. */
static void flavours(void **state) {
    (void)state;
    static const struct {
        int device;
        bool open, proprietary; /* which of them drives it */
    } rows[] = {{0x1b80, false, true}, {0x1db6, false, true}, {0x1e02, true, true},  {0x2335, true, true},
                {0x28a0, true, true},  {0x2901, true, false}, {0x2bb5, true, false}, {0x2342, true, false},
                {0x2c05, true, false}, {0x31c2, true, false}};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        struct made m;
        bool open = i % 2 == 0;
        struct made_driver d = made_healthy;
        d.license = open ? "Dual MIT/GPL" : "NVIDIA";
        d.device = rows[i / 2].device;
        made_with_driver(&m, "host", "none", &d);
        made_code(&m, "cuInit", 100);
        made_nvml(&m, 0);
        made_top(&m, "klog.txt", "[1.0] NVRM: GPU 0000:41:00.0: RmInitAdapter failed! (0x22:0x56:894)\n");
        made_judge(&m);
        bool fits = open ? rows[i / 2].open : rows[i / 2].proprietary;
        if (findings_has(&m.findings, "driver.flavour", SEVERITY_FAIL) == fits)
            fail_msg("device %04x, %s", (unsigned)rows[i / 2].device, open ? "open" : "proprietary");
        if (!fits)
            assert_string_equal(made_find(&m, "driver.adapter-init")->consequence_of, "driver.flavour");
        made_end(&m);
    }
}

static void three_with_hmm(void **state) {
    (void)state;
    static const struct {
        const char *parameter, *license;
        int code;
        bool found;
    } rows[] = {{"N\n", "Dual MIT/GPL", 3, true},
                {"Y\n", "Dual MIT/GPL", 3, false},
                {"N\n", "Dual MIT/GPL", 999, false},
                {"N\n", "NVIDIA", 3, false},
                {"N\n", "Dual MIT/GPL", 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        struct made_driver d = made_healthy;
        d.license = rows[i].license;
        made_with_driver(&m, "host", "none", &d);
        made_file(&m, "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", rows[i].parameter);
        made_code(&m, "cuInit", rows[i].code);
        made_judge(&m);
        assert_int_equal(findings_has(&m.findings, "hmm.enabled", SEVERITY_FAIL), rows[i].found);
        made_end(&m);
    }
}

/* A cause that is nearer comes first; loading the module anew ends it. */
static void suspend_comes_last(void **state) {
    (void)state;
    struct made m;
    made_with_driver(&m, "host", "none", &made_healthy);
    made_code(&m, "cuInit", 999);
    made_top(&m, "klog.txt", "[10.0] PM: suspend exit\n");
    made_judge(&m);
    EXPECT(&m, "suspend.uvm", SEVERITY_FAIL, "rmmod nvidia_uvm");
    made_end(&m);

    made_with_driver(&m, "host", "none", &made_healthy);
    made_code(&m, "cuInit", 999);
    made_node(&m, "/dev/nvidia-uvm c 0666 0 0 504 0 ENXIO");
    made_top(&m, "klog.txt", "[10.0] PM: suspend exit\n");
    made_judge(&m);
    made_lacks(&m, "suspend.*");
    made_end(&m);
}

static void fabrics(void **state) {
    (void)state;
    struct made m;
    made_with_driver(&m, "host", "none", &made_healthy);
    made_code(&m, "cuInit", 802);
    made_judge(&m);
    made_lacks(&m, "fabric.*");
    EXPECT(&m, "cuda.init", SEVERITY_FAIL, "802", "CUDA_ERROR_SYSTEM_NOT_READY");
    made_end(&m);

    made_with_driver(&m, "host", "none", &made_healthy);
    made_code(&m, "cuInit", 802);
    made_node(&m, "/dev/nvidia-nvswitch0 c 0666 0 0 234 0 ok");
    made_judge(&m);
    EXPECT(&m, "fabric.not-ready", SEVERITY_FAIL, "nvidia-fabricmanager", "580.159.04");
    made_end(&m);

    made_with_driver(&m, "host", "none", &made_healthy);
    made_code(&m, "cuInit", 802);
    made_node(&m, "/dev/nvidia-nvswitch0 c 0666 0 0 234 0 ok");
    made_top(
        &m, "klog.txt",
        "nv-fabricmanager: fabric manager NVIDIA GPU driver interface version 570.1.2 don't match with driver version 580.159.04.\n");
    made_judge(&m);
    EXPECT(&m, "fabric.manager-version", SEVERITY_FAIL, "570.1.2", "580.159.04");
    made_end(&m);
}

static void compute_modes(void **state) {
    (void)state;
    struct made m;
    for (int busy = 0; busy < 2; busy++) {
        made_with_driver(&m, "host", "none", &made_healthy);
        js_set_string(js_at(js_get(m.probes, "gpus"), 1), "compute_mode", "exclusive_process");
        js_set_int(js_at(js_get(m.probes, "gpus"), 1), "index", 1);
        if (busy == 1)
            made_code(&m, "cuCtxCreate", 46);
        made_judge(&m);
        if (busy == 1)
            EXPECT(&m, "compute.exclusive", SEVERITY_FAIL, "-i 1 ", "another container");
        else
            made_quiet(&m);
        made_end(&m);
    }
    made_with_driver(&m, "host", "none", &made_healthy);
    js_set_string(js_at(js_get(m.probes, "gpus"), 0), "compute_mode", "prohibited");
    made_judge(&m);
    EXPECT(&m, "compute.prohibited", SEVERITY_FAIL, "GPU 0");
    made_end(&m);
}

/* Every code that the cases name has a text of its own; and whatever is answered, something true is said. */
static void codes_of_cuda(void **state) {
    (void)state;
    static const int named[] = {2, 3, 34, 46, 100, 101, 304, 802, 803, 804, 805, 999};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        const struct cuda_code *code = cuda_code_find(named[i]);
        assert_int_equal(code->code, named[i]);
        assert_int_equal(strncmp(code->name, "CUDA_ERROR_", 11), 0);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(cuda_code_find(named[k])->meaning, code->meaning);
    }
    assert_int_equal(cuda_code_find(4711)->code, -1);
    for (size_t i = 0; i <= sizeof named / sizeof *named; i++) {
        int code = i < sizeof named / sizeof *named ? named[i] : 4711;
        char text[16];
        struct made m;
        snprintf(text, sizeof text, "%d", code);
        made_with_driver(&m, "host", "none", &made_healthy);
        made_code(&m, "cuInit", code);
        made_judge(&m);
        EXPECT(&m, "cuda.init", SEVERITY_FAIL, text);
        assert_true(made_find(&m, "cuda.init")->remedy.count > 0);
        made_end(&m);
    }
}

/* NVML that hangs, dies or fails is told whatever CUDA answers, by one finding; what it merely lacks is none.
 */
static void nvml_that_does_not_answer(void **state) {
    (void)state;
    static const struct {
        const char *nvml, *cuda, *id;
        enum severity severity;
    } rows[] = {
        {"{\"code\":null,\"timeout\":true}", "{\"code\":0}", "cuda.nvml", SEVERITY_WARN},
        {"{\"code\":null,\"timeout\":true}", "{\"code\":999}", "cuda.nvml", SEVERITY_WARN},
        {"{\"code\":null,\"timeout\":true}", "{\"code\":null,\"absent\":true}", "cuda.nvml", SEVERITY_FAIL},
        {"{\"code\":null,\"timeout\":true}", NULL, "cuda.nvml", SEVERITY_FAIL},
        {"{\"code\":null,\"timeout\":true}", "{\"code\":null,\"timeout\":true}", "cuda.init", SEVERITY_FAIL},
        {"{\"code\":null,\"signal\":11}", "{\"code\":0}", "cuda.nvml", SEVERITY_WARN},
        {"{\"code\":null,\"signal\":11}", NULL, "cuda.nvml", SEVERITY_FAIL},
        {"{\"code\":null,\"signal\":11}", "{\"code\":null,\"signal\":11}", "cuda.init", SEVERITY_FAIL},
        {"{\"code\":null,\"signal\":0}", "{\"code\":0}", NULL, SEVERITY_INFO},
        {"{\"code\":null,\"absent\":true}", "{\"code\":0}", NULL, SEVERITY_INFO},
        {"{\"code\":0,\"count\":1}", "{\"code\":0}", NULL, SEVERITY_INFO},
        {"{\"code\":999}", "{\"code\":0}", "cuda.nvml", SEVERITY_WARN},
        {"{\"code\":15}", "{\"code\":0}", "cuda.nvml", SEVERITY_WARN},
        {"{\"code\":999}", "{\"code\":999}", "cuda.init", SEVERITY_FAIL},
        {"{\"code\":999}", NULL, NULL, SEVERITY_INFO},
        {"{\"code\":3}", "{\"code\":0}", NULL, SEVERITY_INFO},
        {"[]", "7", NULL, SEVERITY_INFO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        struct error err = {0};
        made_with_driver(&m, "host", "none", &made_healthy);
        js_set(m.probes, "nvmlInit", js_parse(rows[i].nvml, strlen(rows[i].nvml), &err));
        js_remove(m.probes, "cuInit");
        if (rows[i].cuda != NULL)
            js_set(m.probes, "cuInit", js_parse(rows[i].cuda, strlen(rows[i].cuda), &err));
        made_judge(&m);
        if (rows[i].id != NULL)
            EXPECT(&m, rows[i].id, rows[i].severity, "");
        if (rows[i].id == NULL || strcmp(rows[i].id, "cuda.nvml") != 0)
            made_lacks(&m, "cuda.nvml");
        else
            assert_null(made_find(&m, "cuda.nvml")->consequence_of);
        made_end(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy_is_quiet),
        cmocka_unit_test(versions_three_way),
        cmocka_unit_test(what_works_is_no_mismatch),
        cmocka_unit_test(why_it_is_not_loaded),
        cmocka_unit_test(flavours),
        cmocka_unit_test(three_with_hmm),
        cmocka_unit_test(suspend_comes_last),
        cmocka_unit_test(fabrics),
        cmocka_unit_test(compute_modes),
        cmocka_unit_test(codes_of_cuda),
        cmocka_unit_test(nvml_that_does_not_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
