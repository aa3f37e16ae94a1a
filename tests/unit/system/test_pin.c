/* SPDX-License-Identifier: Apache-2.0 */
#include "system/pin.h"

#include "unit/unit.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void pins_and_releases(void **state) {
    (void)state;
    struct error err = {0};
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int cpu = sched_getcpu();
    if (!pin_thread(cpu, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pin_bound_cpu(), cpu);
    assert_true(pin_release(&err));
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    if (CPU_COUNT(&before) > 1)
        assert_int_equal(pin_bound_cpu(), -1);
}

static void refuses_what_is_no_cpu(void **state) {
    (void)state;
    struct error err = {0};
    assert_false(pin_thread(-1, &err));
    assert_false(pin_thread(1 << 20, &err));
    assert_true(strlen(err.text) > 0);
}

static void makes_buffers(void **state) {
    (void)state;
    struct error err = {0};
    struct host_buffer buffer;
    assert_true(host_buffer_make(1 << 20, -1, &buffer, &err));
    assert_non_null(buffer.data);
    memset(buffer.data, 3, buffer.bytes);
    assert_true(buffer.on_node == 1);
    host_buffer_free(&buffer);
    host_buffer_free(&buffer); /* twice is harmless */
    assert_false(host_buffer_make((size_t)1 << 62, -1, &buffer, &err));
    host_buffer_free(&buffer);
    assert_false(host_buffer_make(4096, 1 << 20, &buffer, &err));
}

/* The system calls of NUMA answer with `code`, as under a container's filter or a kernel without them. */
static bool forbid_numa(unsigned code) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)__builtin_offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_get_mempolicy, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* 0: as it should be; 77: no filter could be set. */
static int buffer_under_filter(unsigned code) {
    struct error err = {0};
    struct host_buffer buffer;
    if (!forbid_numa(code))
        return 77;
    if (!host_buffer_make(1 << 20, 0, &buffer, &err))
        return 1;
    return buffer.found_node == -1 ? 0 : 2;
}

static void works_without_numa_calls(void **state) {
    (void)state;
    static const unsigned codes[] = {1 /* EPERM */, 38 /* ENOSYS */};
    for (int i = 0; i < 2; i++) {
        int status = 0;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(buffer_under_filter(codes[i]));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
            skip_because("no seccomp filter can be set here");
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pins_and_releases),
        cmocka_unit_test(refuses_what_is_no_cpu),
        cmocka_unit_test(makes_buffers),
        cmocka_unit_test(works_without_numa_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
