/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers),
        cmocka_unit_test(processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
