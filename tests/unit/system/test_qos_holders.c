/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds a PM-QoS bound, in a made /proc: real descriptors' links show it by target and mode. */
#include "system/qos_holders.h"

#include "unit/tree.h"

#include <sys/stat.h>

#define DEVICE "/dev/cpu_dma_latency"

static void put_process(int pid, const char *name, const char *const *targets, size_t n) {
    struct error err = {0};
    char path[96];
    snprintf(path, sizeof path, "r/proc/%d/fd", pid);
    assert_true(folder_make(path, &err));
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "r/proc/%d/fd/%zu", pid, i);
        assert_int_equal(symlink(targets[i], path), 0);
    }
    snprintf(path, sizeof path, "r/proc/%d/comm", pid);
    if (name != NULL)
        tree_put(path, name);
}

static void expect_text(const char *want) {
    struct qos_holders found;
    qos_holders_find("r", &found);
    char *text = qos_holders_text(&found);
    if ((text == NULL) != (want == NULL) || (want != NULL && strcmp(text, want) != 0))
        fail_msg("'%s' instead of '%s'", text != NULL ? text : "(nothing)",
                 want != NULL ? want : "(nothing)");
    free(text);
}

static void holders_are_named(void **state) {
    (void)state;
    static const char *const other[] = {"/dev/null", "socket:[1]", DEVICE "s", "/tmp" DEVICE};
    static const char *const held[] = {"/dev/null", DEVICE, DEVICE};
    static const char *const elsewhere[] = {"/cpu_dma_latency"};
    struct error err = {0};
    assert_true(folder_make("r/proc/sys/fd", &err)); /* no process */
    put_process(7, "bash\n", other, 4);
    expect_text("none found");
    put_process(300, "tuned\n", held, 3);
    put_process(41, "in container\n", elsewhere, 1);
    expect_text("41 in container, 300 tuned");
}

/* Names are what their processes say; a process may be gone before its name is read. */
static void hostile_processes(void **state) {
    (void)state;
    static const char *const held[] = {DEVICE};
    struct error err = {0};
    put_process(1, "\033[2J\x80 evil\nsecond line\n", held, 1);
    put_process(2, NULL, held, 1);
    put_process(3, "", held, 1);
    assert_true(folder_make("r/proc/4", &err)); /* no descriptors at all */
    tree_put("r/proc/5", "no folder");
    char *long_name = mem_zeroed(1 << 20, 1);
    memset(long_name, 'n', (1 << 20) - 1);
    put_process(6, long_name, held, 1);
    free(long_name);
    struct qos_holders found;
    qos_holders_find("r", &found);
    assert_int_equal(found.count, 4);
    char *text = qos_holders_text(&found);
    assert_null(strpbrk(text, "\033\x80\n"));
    assert_non_null(strstr(text, "evil, 2 ?, 3 ?, 6 nnn"));
    assert_true(strlen(text) < 200);
    free(text);
}

static void bounded(void **state) {
    (void)state;
    static const char *const held[] = {DEVICE};
    for (int pid = 1; pid <= QOS_MAX_NAMED + 3; pid++)
        put_process(pid, "many\n", held, 1);
    struct qos_holders found;
    qos_holders_find("r", &found);
    assert_int_equal(found.count, QOS_MAX_NAMED + 3);
    char *text = qos_holders_text(&found);
    assert_non_null(strstr(text, "8 many and 3 more"));
    assert_null(strstr(text, "9 many"));
    free(text);
    for (int i = 0; i <= QOS_MAX_DESCRIPTORS; i++) {
        char path[64];
        snprintf(path, sizeof path, "r/proc/11/fd/%d", 100 + i);
        assert_int_equal(symlink("/dev/null", path), 0);
    }
    unlink("r/proc/11/fd/0"); /* what is held here is nothing any more */
    qos_holders_find("r", &found);
    assert_true(found.cut && found.count == QOS_MAX_NAMED + 2);
    text = qos_holders_text(&found);
    assert_non_null(strstr(text, "; not all could be looked at"));
    free(text);
}

/* What another user's process has open is for root alone to see. */
static void others_need_root(void **state) {
    (void)state;
    static const char *const held[] = {DEVICE};
    put_process(8, "locked\n", held, 1);
    assert_int_equal(chmod("r/proc/8/fd", 0) | chmod(".", 0755), 0);
    bool root = geteuid() == 0;
    if (root)
        assert_int_equal(seteuid(65534), 0);
    expect_text(NULL);
    if (root)
        assert_int_equal(seteuid(0), 0);
    put_process(9, "ours\n", held, 1);
    if (root)
        assert_int_equal(seteuid(65534), 0);
    expect_text("9 ours; to see all needs root");
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod("r/proc/8/fd", 0700), 0);
}

static void without_proc(void **state) {
    (void)state;
    expect_text(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(holders_are_named, tree_enter, tree_leave),
        cmocka_unit_test_setup_teardown(hostile_processes, tree_enter, tree_leave),
        cmocka_unit_test_setup_teardown(bounded, tree_enter, tree_leave),
        cmocka_unit_test_setup_teardown(others_need_root, tree_enter, tree_leave),
        cmocka_unit_test_setup_teardown(without_proc, tree_enter, tree_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
