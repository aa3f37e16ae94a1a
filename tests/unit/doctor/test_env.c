/* SPDX-License-Identifier: Apache-2.0 */
/* The family env: every shape of CUDA_VISIBLE_DEVICES on two GPUs, and MPS. */
#include "unit/doctor/made_driver.h"

static void with_uuids(struct made *m) {
    static const char *const uuids[] = {"GPU-aaaa1111-0000-0000-0000-000000000001",
                                        "GPU-aaaa2222-0000-0000-0000-000000000002"};
    for (size_t i = 0; i < 2; i++)
        js_set_string(js_at(js_get(m->probes, "gpus"), i), "uuid", uuids[i]);
}

static void visible_devices(void **state) {
    (void)state;
    static const struct {
        const char *value;
        int code, devices;
        const char *says; /* NULL: it is good */
    } rows[] = {
        {"0", 0, 1, NULL},
        {"1,0", 0, 2, NULL},
        {" 0 , 1 ", 0, 2, NULL},
        {"0,", 0, 1, NULL},
        {"GPU-aaaa1", 0, 1, NULL},
        {"GPU-AAAA2222-0000-0000-0000-000000000002", 0, 1, NULL},
        {"", 100, -1, "empty"},
        {"  ", 100, -1, "empty"},
        {"bash", 100, -1, "bash"},
        {"-1", 100, -1, "negative"},
        {"2", 100, -1, "index"},
        {"0,9", 0, 1, "'9'"},
        {"0,0", 100, -1, "twice"},
        {"0,GPU-aaaa1111", 100, -1, "twice"},
        {"GPU-aaaa", 100, -1, "more than one"},
        {"GPU-bbbb", 100, -1, "no GPU here has this UUID"},
        {"all", 100, -1, "NVIDIA_VISIBLE_DEVICES"},
        {"MIG-1234", 100, -1, "MIG"},
        {"99999999999999999999", 100, -1, "index"},
        {",0", 100, -1, "empty"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        made_with_driver(&m, "host", "none", &made_healthy);
        with_uuids(&m);
        made_variable(&m, "CUDA_VISIBLE_DEVICES", rows[i].value);
        made_code(&m, "cuInit", rows[i].code);
        if (rows[i].devices >= 0)
            js_set_int(m.probes, "cuda_devices", rows[i].devices);
        made_judge(&m);
        bool found = findings_has(&m.findings, "env.visible-devices", SEVERITY_FAIL);
        if (found != (rows[i].says != NULL))
            fail_msg("'%s' is %s", rows[i].value, found ? "called bad" : "called good");
        if (rows[i].says != NULL)
            EXPECT(&m, "env.visible-devices", SEVERITY_FAIL, rows[i].says, "unset CUDA_VISIBLE_DEVICES");
        made_end(&m);
    }
}

/* A list longer than anything that is kept, and words longer than what is shown. */
static void long_values(void **state) {
    (void)state;
    struct made m;
    struct text value = {0};
    for (int i = 0; i < 5000; i++)
        text_add(&value, i % 7 == 0 ? "0123456789abcdef" : ",1");
    made_with_driver(&m, "host", "none", &made_healthy);
    made_variable(&m, "CUDA_VISIBLE_DEVICES", text_string(&value));
    made_code(&m, "cuInit", 100);
    made_judge(&m);
    EXPECT(&m, "env.visible-devices", SEVERITY_FAIL, "0123456789abcdef");
    text_free(&value);
    made_end(&m);
}

static void mps(void **state) {
    (void)state;
    static const struct {
        const char *where, *folder, *pid, *comm;
        int code;
        int severity; /* -1: nothing */
    } rows[] = {
        {"host", "/tmp/nvidia-mps", NULL, NULL, 0, SEVERITY_WARN},
        {"host", "/tmp/nvidia-mps", "77\n", "nvidia-cuda-mps\n", 0, -1},
        {"host", "/tmp/nvidia-mps", "77\n", "bash\n", 0, SEVERITY_WARN},
        {"host", "/tmp/nvidia-mps", "77\n", NULL, 0, -1},          /* processes are not in the capture */
        {"container", "/tmp/nvidia-mps", "77\n", "bash\n", 0, -1}, /* the host's numbers */
        {"container", "/run/pipe", NULL, NULL, 805, SEVERITY_FAIL},
        {"host", NULL, NULL, NULL, 805, SEVERITY_FAIL},
        {"host", NULL, NULL, NULL, 0, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;
        char path[96];
        made_with_driver(&m, rows[i].where, "docker", &made_healthy);
        snprintf(path, sizeof path, "%s/control", rows[i].folder != NULL ? rows[i].folder : "/elsewhere");
        made_file(&m, path, "");
        if (rows[i].folder != NULL && strcmp(rows[i].folder, "/tmp/nvidia-mps") != 0)
            made_variable(&m, "CUDA_MPS_PIPE_DIRECTORY", rows[i].folder);
        if (rows[i].pid != NULL)
            made_file(&m, "/tmp/nvidia-mps/nvidia-cuda-mps-control.pid", rows[i].pid);
        if (rows[i].comm != NULL)
            made_file(&m, "/proc/77/comm", rows[i].comm);
        made_code(&m, "cuInit", rows[i].code);
        made_judge(&m);
        if (rows[i].severity < 0)
            made_lacks(&m, "env.mps");
        else
            EXPECT(&m, "env.mps", (enum severity)rows[i].severity, "MPS");
        made_end(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visible_devices),
        cmocka_unit_test(long_values),
        cmocka_unit_test(mps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
