/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/tree.h"

#include "run/who.h"

#include <string.h>
#include <unistd.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void containers(void **state) {
    (void)state;
    static const struct {
        const char *cgroup, *want;
    } rows[] = {
        {"0::/system.slice/docker-" ID ".scope\n", "docker container 0123456789ab"},
        {"12:cpu:/docker/" ID "\n0::/\n", "docker container 0123456789ab"},
        {"0::/machine.slice/libpod-" ID ".scope/container\n", "podman container 0123456789ab"},
        {"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope\n",
         "kubernetes container 0123456789ab"},
        {"0::/lxc/101/ns/init.scope\n", "lxc container 101"},
        {"0::/lxc.payload.web-1/system.slice\n", "lxc container web-1"},
        {"0::/lxc/we\033[31mb\n", "lxc container we??31mb"},
        {"0::/lxc.monitor.web\n", NULL},
        {"0::/docker/buildkit\n", NULL},
        {"0::/user.slice/user-0.slice\n", NULL},
        {"0::/lxc/\n", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[80] = "";
        bool found = who_container(rows[i].cgroup, out, sizeof out);
        assert_int_equal(found, rows[i].want != NULL);
        assert_string_equal(out, rows[i].want != NULL ? rows[i].want : "");
    }
}

static void processes(void **state) {
    (void)state;
    char out[200];
    char want[64];
    who_process(getpid(), NULL, out, sizeof out);
    snprintf(want, sizeof want, "PID %d (", (int)getpid());
    assert_int_equal(strncmp(out, want, strlen(want)), 0);
    assert_non_null(strstr(out, "unit_run_who"));
    who_process(2147483000, NULL, out, sizeof out);
    assert_string_equal(out, "PID 2147483000");
    who_process(2147483000, "a\nb", out, sizeof out);
    assert_string_equal(out, "PID 2147483000 (a?b)");
    who_throttles(out, sizeof out);
    assert_non_null(strstr(out, "quota"));
}

static void quotas(void **state) {
    (void)state;
    char root[] = "r";
    const struct source source = {.root = root};
    struct who_quota quota;
    char out[400];
    tree_put("r/proc/self/cgroup", "0::/a/b\n");
    tree_put("r/proc/self/mountinfo",
             "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
    tree_put("r/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_false(who_quota(&source, &quota));
    assert_false(who_lacks_cpus(&source, 64, out, sizeof out));
    tree_put("r/sys/fs/cgroup/a/cpu.max", "20000 100000\n");
    tree_put("r/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n"); /* nearer, and wider */
    assert_true(who_quota(&source, &quota));
    assert_string_equal(quota.group, "/a");
    assert_int_equal(quota.quota_us, 20000);
    assert_int_equal(quota.period_us, 100000);
    assert_true(who_lacks_cpus(&source, 2, out, sizeof out));
    assert_non_null(strstr(out, "cgroup /a (20000 of 100000 us) is 0.2 CPUs, and gpuvet may run on 2"));
    tree_put("r/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    assert_true(who_lacks_cpus(&source, 4, out, sizeof out));
    assert_false(who_lacks_cpus(&source, 3, out, sizeof out)); /* as many as it may run on */
    tree_put("r/sys/fs/cgroup/a/b/cpu.max", "5 0\n");
    assert_false(who_quota(&source, &quota));
    /* v1 */
    tree_put("r/proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/\n");
    tree_put("r/proc/self/mountinfo", "40 24 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    tree_put("r/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
    tree_put("r/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    assert_true(who_lacks_cpus(&source, 1, out, sizeof out));
    assert_non_null(strstr(out, "cgroup /job (50000 of 100000 us) is 0.5 CPUs"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers),
        cmocka_unit_test(processes),
        cmocka_unit_test(quotas),
    };
    return cmocka_run_group_tests(tests, tree_enter, tree_leave);
}
