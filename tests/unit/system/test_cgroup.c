/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups as hosts, containers and hybrids lay them out. */
#include "system/facts_read.h"

#include "unit/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(const char *path, const char *text) {
    char whole[256];
    snprintf(whole, sizeof whole, "r%s", path);
    tree_put(whole, text);
}

static void begin(const char *groups, const char *mounts) {
    assert_int_equal(system("rm -rf r"), 0);
    put("/proc/self/cgroup", groups);
    if (mounts != NULL)
        put("/proc/self/mountinfo", mounts);
}

/* NULL: the key is absent. */
static void expect(const char *cpuset, const char *cpu_max) {
    char root[] = "r";
    struct source source = {.root = root};
    struct cgroup_facts found = {0};
    read_cgroup(&source, &found);
    const char *got[] = {found.cpuset.value, found.cpu_max.value};
    const char *want[] = {cpuset, cpu_max};
    for (int i = 0; i < 2; i++)
        if ((got[i] == NULL) != (want[i] == NULL) || (got[i] != NULL && strcmp(got[i], want[i]) != 0))
            fail_msg("'%s', not '%s'", got[i] == NULL ? "(absent)" : got[i],
                     want[i] == NULL ? "(absent)" : want[i]);
    free(found.cpuset.value);
    free(found.cpu_max.value);
}

#define MOUNT_V2(root) "31 24 0:27 " root " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"

static void v2_takes_the_tightest_and_the_nearest(void **state) {
    (void)state;
    begin("0::/a/b\n", MOUNT_V2("/"));
    put("/sys/fs/cgroup/cpuset.cpus.effective", "0-63");
    put("/sys/fs/cgroup/a/cpuset.cpus.effective", "8-15");
    put("/sys/fs/cgroup/a/cpu.max", "200000 100000");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000");
    expect("8-15", "200000 100000");
    put("/sys/fs/cgroup/a/b/cpu.max", "30000 10000"); /* more than its parent has */
    expect("8-15", "200000 100000");
    put("/sys/fs/cgroup/a/b/cpu.max", "10000 10000");
    expect("8-15", "10000 10000");
    put("/sys/fs/cgroup/a/cpu.max", "max 100000");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000");
    expect("8-15", "max");
}

static void v1_by_its_controllers(void **state) {
    (void)state;
    begin("4:cpuset:/lxc/7\n3:cpu,cpuacct:/lxc/7\n0::/lxc/7\n",
          "40 24 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
          "41 24 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
          "42 24 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/cpuset/lxc/7/cpuset.cpus", "0-3");
    put("/sys/fs/cgroup/cpu,cpuacct/lxc/7/cpu.cfs_quota_us", "150000");
    put("/sys/fs/cgroup/cpu,cpuacct/lxc/7/cpu.cfs_period_us", "100000");
    put("/sys/fs/cgroup/cpu,cpuacct/lxc/cpu.cfs_quota_us", "-1");
    expect("0-3", "150000 100000");
    put("/sys/fs/cgroup/cpuset/lxc/7/cpuset.effective_cpus", "1-2");
    put("/sys/fs/cgroup/cpu,cpuacct/lxc/7/cpu.cfs_quota_us", "-1");
    expect("1-2", "max");
}

/* Mounted from the container's own group: paths of the host are seen below it. */
static void container_sees_its_own_part(void **state) {
    (void)state;
    begin("0::/docker/abc/job\n", MOUNT_V2("/docker/abc"));
    put("/sys/fs/cgroup/job/cpu.max", "50000 100000");
    put("/sys/fs/cgroup/cpuset.cpus.effective", "5");
    expect("5", "50000 100000");
    begin("0::/docker/abcdef/job\n", MOUNT_V2("/docker/abc")); /* a sibling, not below */
    put("/sys/fs/cgroup/job/cpu.max", "50000 100000");
    expect(NULL, NULL);
    begin("0::/../outside\n", MOUNT_V2("/"));
    put("/sys/fs/cgroup/cpu.max", "50000 100000");
    expect(NULL, NULL);
}

static void usual_places_without_a_list_of_mounts(void **state) {
    (void)state;
    begin("0::/a\n", NULL);
    put("/sys/fs/cgroup/a/cpu.max", "50000 100000");
    expect(NULL, "50000 100000");
}

static void survives_garbage(void **state) {
    (void)state;
    static const char *const quotas[] = {"",      "max", "x y", "0 0", "-5 100000", "99999999999999999999 1",
                                         "100000"};
    begin("garbage\n::\n0:\n0::relative/path\n", MOUNT_V2("/") "- - -\nshort line\n");
    expect(NULL, NULL);
    for (size_t i = 0; i < sizeof quotas / sizeof *quotas; i++) {
        begin("0::/a\n", MOUNT_V2("/"));
        put("/sys/fs/cgroup/a/cpu.max", quotas[i]);
        expect(NULL, strcmp(quotas[i], "max") == 0 ? "max" : NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v2_takes_the_tightest_and_the_nearest),
        cmocka_unit_test(v1_by_its_controllers),
        cmocka_unit_test(container_sees_its_own_part),
        cmocka_unit_test(usual_places_without_a_list_of_mounts),
        cmocka_unit_test(survives_garbage),
    };
    return cmocka_run_group_tests(tests, tree_enter, tree_leave);
}
