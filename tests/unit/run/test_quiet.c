/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "run/quiet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct activity_report calm(void) {
    return (struct activity_report){
        .seconds = 2, .cpu_share = 0.01, .psi_cpu = 0.01, .psi_io = NAN, .psi_memory = 0};
}

static void says(const struct activity_report *report, const char *words) {
    char out[400];
    quiet_judge_cpu(report, out, sizeof out);
    if (words == NULL)
        assert_string_equal(out, "");
    else
        assert_non_null(strstr(out, words));
}

static void cpu(void **state) {
    (void)state;
    struct activity_report r = calm();
    says(&r, NULL);
    r.cpu_share = 0.4;
    r.top_pid = 123;
    r.top_share = 0.45;
    strcpy(r.top_name, "cc1plus");
    says(&r, "others use 40 % of the CPUs, most by PID 123 (cc1plus), 45 % of a CPU");
    r = calm();
    r.top_pid = 7;
    r.top_share = 0.99; /* one busy core of many */
    says(&r, "PID 7");
    r = calm();
    r.throttled = true;
    says(&r, "quota");
    r = calm();
    r.psi_memory = 0.5;
    says(&r, "memory");
    r = calm();
    r.psi_io = 0.9;
    says(&r, "disks");
    r = calm();
    r.steal_share = 0.2;
    says(&r, "hypervisor");
    r = calm();
    r.psi_cpu = r.psi_io = r.psi_memory = NAN; /* a kernel without PSI */
    says(&r, NULL);
}

static void gpus_say(const char *activity, const char *words) {
    struct error err = {0};
    struct text out = {0};
    js *value = js_parse(activity, strlen(activity), &err);
    assert_non_null(value);
    quiet_judge_gpus(value, false, &out);
    if (words == NULL)
        assert_string_equal(text_string(&out), "");
    else
        assert_non_null(strstr(text_string(&out), words));
    text_free(&out);
    js_free(value);
}

static void gpus(void **state) {
    (void)state;
    gpus_say("[]", NULL);
    gpus_say("[{\"utilization_percent\":0,\"memory_used_mib\":500,\"processes\":[]}]", NULL);
    gpus_say("[{},{\"processes\":[{\"pid\":2147483000,\"used_mib\":4}]}]", "GPU 1 is used by PID 2147483000");
    gpus_say("[{\"utilization_percent\":97,\"memory_used_mib\":500,\"processes\":[]}]", "GPU 0 is 97 % busy");
    gpus_say("[{\"utilization_percent\":null,\"memory_used_mib\":90000,\"processes\":null}]",
             "90000 MiB of GPU 0");
    gpus_say("{\"processes\":3}", NULL);
}

static void live_reading_counts_us_as_us(void **state) {
    (void)state;
    struct activity a;
    struct activity b;
    struct error err = {0};
    struct activity_report r;
    assert_true(activity_read("", &a, &err));
    assert_true(a.n_processes > 0);
    assert_true(activity_read("", &b, &err));
    activity_between(&a, &b, getpid(), 0, &r);
    assert_true(r.top_pid != getpid());
    activity_between(&a, &b, 1, 0, &r); /* everything descends from 1 here or from nobody */
    assert_true(r.cpu_share >= 0);
    activity_free(&a);
    activity_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu),
        cmocka_unit_test(gpus),
        cmocka_unit_test(live_reading_counts_us_as_us),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
