/* SPDX-License-Identifier: Apache-2.0 */
/* In which container this is: what managers leave for their guests to see, and what they leave in a machine
 * that is none. */
#include "unit/tree.h"

#include "base/files.h"
#include "system/facts_read.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void begin(void) {
    assert_int_equal(system("rm -rf root && mkdir -p root/proc/self/ns root/proc/1 root/run/systemd"), 0);
}

static void put(const char *path, const char *data, size_t length) {
    struct error err = {0};
    char whole[128];
    snprintf(whole, sizeof whole, "root%s", path);
    assert_true(file_replace(whole, data, length, &err));
}
#define PUT(path, data) put(path, data, sizeof(data) - 1)

/* Namespaces by number: 0 the machine's own, 1 another one. */
static void spaces(int pid, int uts, int ipc, int cgroup) {
    static const struct {
        const char *name;
        unsigned first;
    } rows[] = {{"pid", 4026531836U}, {"uts", 4026531838U}, {"ipc", 4026531839U}, {"cgroup", 4026531835U}};
    const int own[] = {pid, uts, ipc, cgroup};
    for (size_t i = 0; i < 4; i++) {
        char path[64], target[64];
        snprintf(path, sizeof path, "root/proc/self/ns/%s", rows[i].name);
        snprintf(target, sizeof target, "%s:[%u]", rows[i].name, rows[i].first - 2000U * (unsigned)own[i]);
        unlink(path);
        assert_int_equal(symlink(target, path), 0);
    }
}

static void is(const char *want) {
    char root[] = "root";
    struct source source = {.root = root};
    struct fact fact = read_container(&source);
    assert_non_null(fact.value);
    assert_string_equal(fact.value, want);
    free(fact.value);
}

static void lxc_without_systemd(void **state) {
    (void)state;
    begin();
    PUT("/proc/self/cgroup", "5:devices:/\n0::/\n");
    spaces(1, 1, 1, 1);
    is("container");
    PUT("/proc/self/mountinfo",
        "72 103 0:42 /.lxc-boot-id /proc/sys/kernel/random/boot_id ro - tmpfs none rw\n");
    is("lxc"); /* all that a user sees who may not look at the first process */
    PUT("/proc/self/mountinfo", "1 0 0:5 / /proc/cpuinfo rw - fuse.lxcfs lxcfs rw\n");
    is("lxc");
    PUT("/proc/self/mountinfo", "");
    PUT("/proc/1/environ", "TERM=linux\0container=lxc\0HOME=/");
    is("lxc");
    PUT("/proc/1/environ", "xcontainer=lxc\0container=");
    is("container");
    PUT("/proc/self/environ", "PATH=/bin\0container=podman");
    is("podman");
    PUT("/run/systemd/container", "systemd-nspawn\n"); /* what systemd says stands first */
    is("systemd-nspawn");
}

static void engines(void **state) {
    (void)state;
    begin();
    PUT("/proc/self/cgroup", "0::/\n");
    PUT("/.dockerenv", "");
    is("docker"); /* a capture without namespaces */
    spaces(1, 1, 1, 1);
    is("docker");
    spaces(0, 1, 1, 1); /* --pid=host */
    is("docker");
    spaces(0, 0, 0, 0);
    PUT("/proc/self/cgroup",
        "0::/docker/0123456789ab\n"); /* everything of the host's, and its group all the same */
    is("docker");
    PUT("/proc/self/cgroup", "0::/../..\n");
    PUT("/run/.containerenv", "");
    spaces(1, 1, 1, 1);
    is("podman");
}

/* A virtual machine whose root was once an image; a host with a private IPC; a variable that somebody set. */
static void machines(void **state) {
    (void)state;
    begin();
    PUT("/proc/self/cgroup", "5:devices:/\n0::/user.slice\n");
    is("none");
    PUT("/.dockerenv", "");
    PUT("/proc/self/environ", "container=lxc");
    spaces(0, 0, 0, 0);
    is("none");
    begin();
    spaces(0, 0, 1, 0);
    is("none");
    spaces(0, 1, 1, 0);
    is("none");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lxc_without_systemd),
        cmocka_unit_test(engines),
        cmocka_unit_test(machines),
    };
    return cmocka_run_group_tests(tests, tree_enter, tree_leave);
}
