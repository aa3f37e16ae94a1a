/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of a made /proc: what others used, what stole, who it was. */
#include "system/activity.h"

#include "unit/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_process(int pid, const char *name, int parent, long user, long system_time) {
    char path[64], text[256];
    snprintf(path, sizeof path, "r/proc/%d/stat", pid);
    snprintf(text, sizeof text, "%d (%s) S %d 1 1 0 -1 4194560 9 0 0 0 %ld %ld 0 0 20 0 1 0 55 4096 1\n", pid,
             name, parent, user, system_time);
    tree_put(path, text);
}

static void take(struct activity *out, double at_s) {
    struct error err = {0};
    if (!activity_read("r", out, &err))
        fail_msg("%s", err.text);
    out->at_ns = (int64_t)(at_s * 1e9);
}

static void near(double value, double want) {
    if (!(fabs(value - want) < 1e-9))
        fail_msg("%.12g is not %.12g", value, want);
}

/* The idle time of many CPUs since a long time is no number of nanoseconds; what has changed is. */
static void counts_past_what_it_holds(void **state) {
    (void)state;
    struct activity from, to;
    struct activity_report report;
    if (sysconf(_SC_CLK_TCK) != 100)
        skip_because("the kernel does not count in hundredths of a second");
    tree_put("r/proc/stat", "cpu  1000 0 500 922337203600 500 0 0 0 0 0\n");
    take(&from, 0);
    tree_put("r/proc/stat", "cpu  1600 0 600 922337204600 700 0 0 100 0 0\n");
    take(&to, 10);
    activity_between(&from, &to, 10, 0, &report);
    near(report.cpu_share, 700.0 / 2000);
    near(report.steal_share, 100.0 / 2000);
    activity_free(&from);
    activity_free(&to);
    tree_put("r/proc/stat", "cpu  18446744073709551615 18446744073709551615 1 1 1 1 1 1\n");
    take(&from, 0);
    activity_free(&from);
}

/* Ten seconds on two CPUs: 2000 ticks (of 1/100 s) in all. */
static void finds_who_is_busy(void **state) {
    (void)state;
    struct activity from, to;
    struct activity_report report;
    if (sysconf(_SC_CLK_TCK) != 100)
        skip_because("the kernel does not count in hundredths of a second");
    tree_put("r/proc/stat", "cpu  1000 0 500 8000 500 0 0 0 0 0\ncpu0 1 2 3\n");
    tree_put("r/proc/pressure/cpu", "some avg10=9.99 avg60=0.00 avg300=0.00 total=1000000\nfull total=7\n");
    tree_put("r/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=50\nfull total=7\n");
    tree_put("r/proc/self/cgroup", "0::/job\n");
    tree_put("r/sys/fs/cgroup/job/cpu.stat", "usage_usec 5\nnr_throttled 0\nthrottled_usec 70\n");
    put_process(10, "gpuvet", 1, 50, 50);
    put_process(11, "worker", 10, 10, 0);
    put_process(20, "cc1 (plus) x", 1, 100, 0);
    take(&from, 0);
    /* 700 busy, 100 stolen; 90 + 60 of the busy ones are ours, 20 more were an ended child's. */
    tree_put("r/proc/stat", "cpu  1600 0 600 9000 700 0 0 100 0 0\n");
    tree_put("r/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=3500000\n");
    tree_put("r/sys/fs/cgroup/job/cpu.stat", "usage_usec 5\nnr_throttled 1\nthrottled_usec 75\n");
    put_process(10, "gpuvet", 1, 100, 90);
    put_process(11, "worker", 10, 70, 0);
    put_process(20, "cc1 (plus) x", 1, 400, 150);
    put_process(30, "new", 1, 5, 0);
    take(&to, 10);
    activity_between(&from, &to, 10, INT64_C(200000000), &report);
    near(report.seconds, 10);
    near(report.cpu_share, (700.0 - 90 - 60 - 20) / 2000);
    near(report.steal_share, 100.0 / 2000);
    near(report.psi_cpu, 0.25);
    near(report.psi_memory, 0);
    assert_true(isnan(report.psi_io)); /* no such file: unknown, not zero */
    assert_true(report.throttled);
    assert_int_equal(report.top_pid, 20);
    assert_string_equal(report.top_name, "cc1 (plus) x");
    near(report.top_share, 0.45);
    /* Seen by another process, all of it is foreign. */
    activity_between(&from, &to, 999, 0, &report);
    near(report.cpu_share, 700.0 / 2000);
    activity_free(&from);
    activity_free(&to);
}

static void reads_v1_throttling(void **state) {
    (void)state;
    struct activity a;
    tree_put("r/proc/stat", "cpu 1 2 3 4\n");
    tree_put("r/proc/self/cgroup", "4:memory:/x\n2:cpu,cpuacct:/job\n0::/\n");
    tree_put("r/sys/fs/cgroup/cpu/job/cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 123456\n");
    take(&a, 0);
    assert_int_equal(a.throttled_ns, 123456);
    activity_free(&a);
}

/* A container's quota stands on a group above the process's own, and only there it is counted. */
static void reads_throttling_of_groups_above(void **state) {
    (void)state;
    struct activity a, b;
    struct activity_report report;
    tree_put("r/proc/stat", "cpu 1 2 3 4\n");
    tree_put("r/proc/self/cgroup", "0::/lxc/web/init.scope\n");
    tree_put("r/sys/fs/cgroup/lxc/web/init.scope/cpu.stat",
             "usage_usec 5\nnr_throttled 0\nthrottled_usec 0\n");
    tree_put("r/sys/fs/cgroup/lxc/web/cpu.stat", "usage_usec 9\nnr_throttled 3\nthrottled_usec 40\n");
    tree_put("r/sys/fs/cgroup/lxc/web/cpu.max", "20000 100000\n");
    tree_put("r/sys/fs/cgroup/lxc/cpu.stat", "usage_usec 9\n");
    tree_put("r/sys/fs/cgroup/cpu.stat", "usage_usec 9\nnr_throttled 0\nthrottled_usec 1\n");
    take(&a, 0);
    assert_int_equal(a.throttled_ns, 41000);
    tree_put("r/sys/fs/cgroup/lxc/web/cpu.stat",
             "usage_usec 9\nnr_throttled 4\nthrottled_usec 9223372036854775807\n");
    tree_put("r/sys/fs/cgroup/cpu.stat", "usage_usec 9\nnr_throttled 1\nthrottled_usec 50\n");
    take(&b, 1); /* a figure that nobody can mean is left out */
    assert_int_equal(b.throttled_ns, 50000);
    activity_between(&a, &b, 1, 0, &report);
    assert_true(report.throttled);
    activity_free(&a);
    activity_free(&b);
}

static void survives_garbage(void **state) {
    (void)state;
    struct activity a, b;
    struct activity_report report;
    struct error err = {0};
    assert_int_equal(system("rm -rf r"), 0);
    assert_false(activity_read("r", &a, &err));
    tree_put("r/proc/stat", "cpu nonsense\n");
    assert_false(activity_read("r", &a, &err));
    tree_put("r/proc/stat", "cpu 1 2 3 4 5 6 7 8\n");
    tree_put("r/proc/pressure/cpu", "some total=x\n");
    tree_put("r/proc/5/stat", "");
    tree_put("r/proc/6/stat", "6 (no end");
    tree_put("r/proc/7/stat", "7 )backwards( S 1");
    tree_put("r/proc/99999999999999999999/stat", "1 (a) S 1 1 1 0 -1 0 0 0 0 0 1 1");
    put_process(8, "loop", 9, 1, 1); /* parents in a ring */
    put_process(9, "loop", 8, 1, 1);
    take(&a, 1);
    take(&b, 1);
    assert_int_equal(a.n_processes, 2);
    activity_between(&a, &b, 4, 0, &report);
    near(report.cpu_share, 0);
    near(report.top_share, 0);
    assert_true(isnan(report.psi_cpu));
    assert_false(report.throttled);
    activity_free(&a);
    activity_free(&b);
}

static void reads_this_machine(void **state) {
    (void)state;
    struct activity a;
    struct error err = {0};
    assert_true(activity_read("", &a, &err));
    bool found = false;
    for (size_t i = 0; i < a.n_processes; i++)
        found = found || a.processes[i].pid == getpid();
    assert_true(found);
    assert_true(a.total_ns > 0);
    activity_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_who_is_busy),   cmocka_unit_test(counts_past_what_it_holds),
        cmocka_unit_test(reads_v1_throttling), cmocka_unit_test(reads_throttling_of_groups_above),
        cmocka_unit_test(survives_garbage),    cmocka_unit_test(reads_this_machine),
    };
    return cmocka_run_group_tests(tests, tree_enter, tree_leave);
}
