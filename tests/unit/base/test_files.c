/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files.h"

#include "unit/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void replaces_and_reads(void **state) {
    (void)state;
    struct error err = {0};
    assert_true(file_replace("a", "first", 5, &err));
    assert_true(file_replace("a", "se\0ond", 6, &err));
    struct text t = {0};
    text_add(&t, "<");
    assert_true(file_read("a", 6, &t, &err));
    assert_int_equal(t.length, 7);
    assert_memory_equal(t.data, "<se\0ond", 7);
    assert_false(file_read("a", 5, &t, &err));
    assert_int_equal(err.kind, ERROR_DATA);
    text_free(&t);
}

static void refuses_odd_files(void **state) {
    (void)state;
    struct error err = {0};
    struct text t = {0};
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_false(file_read("fifo", 100, &t, &err)); /* and does not wait for a writer */
    assert_false(file_read(".", 100, &t, &err));
    assert_false(file_read("/dev/zero", 100, &t, &err));
    assert_false(file_read("absent", 100, &t, &err));
    assert_int_equal(err.kind, ERROR_SYSTEM);
    assert_non_null(strstr(err.text, "absent"));
    text_free(&t);
}

static void what_is_no_file_is_not_replaced(void **state) {
    (void)state;
    struct error err = {0};
    struct stat st;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_false(file_replace("pipe", "x", 1, &err));
    assert_non_null(strstr(err.text, "pipe is no regular file"));
    assert_int_equal(lstat("pipe", &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    static const char *const leads_to[] = {"pipe", "/dev/null", "/proc/self/fd/1", "."};
    for (size_t i = 0; i < sizeof leads_to / sizeof *leads_to; i++) {
        assert_int_equal(symlink(leads_to[i], "link"), 0);
        assert_false(file_replace("link", "x", 1, &err));
        assert_int_equal(lstat("link", &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        assert_int_equal(unlink("link"), 0);
    }
    /* A link to a file, or to nothing, is replaced, and not what it leads to. */
    assert_int_equal(symlink("absent", "link"), 0);
    assert_true(file_replace("link", "x", 1, &err));
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(unlink("link"), 0);
}

static void failure_leaves_nothing_behind(void **state) {
    (void)state;
    struct error err = {0};
    assert_int_equal(mkdir("target", 0755), 0);
    assert_int_equal(mkdir("target/full", 0755), 0);
    assert_false(file_replace("target", "x", 1, &err)); /* a folder stands there */
    char beside[64];
    snprintf(beside, sizeof beside, "target.tmp.%ld", (long)getpid());
    assert_int_not_equal(access(beside, F_OK), 0);
    assert_false(file_replace("absent/x", "x", 1, &err));
}

static void a_link_set_in_the_way_is_not_followed(void **state) {
    (void)state;
    struct error err = {0};
    char beside[64];
    snprintf(beside, sizeof beside, "linked.tmp.%ld", (long)getpid());
    assert_int_equal(symlink("victim", beside), 0);
    assert_true(file_replace("linked", "x", 1, &err));
    assert_int_not_equal(access("victim", F_OK), 0);
    struct stat st;
    assert_int_equal(lstat("linked", &st), 0);
    assert_true(S_ISREG(st.st_mode));
    /* What is left over from a crash, or another container's of this process number, neither hinders nor
     * goes. */
    assert_int_equal(lstat(beside, &st), 0);
}

static void makes_folders(void **state) {
    (void)state;
    struct error err = {0};
    assert_true(folder_make("x/y/z", &err));
    assert_true(folder_make("x/y/z/", &err));
    assert_true(folder_make("/", &err));
    assert_true(file_replace("plain", "", 0, &err));
    assert_false(folder_make("plain", &err));
    assert_false(folder_make("plain/below", &err));
    assert_false(folder_make("", &err));
}

static void joins(void **state) {
    (void)state;
    const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"a", "/b", "a/b"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *made = path_join(cases[i][0], cases[i][1]);
        assert_string_equal(made, cases[i][2]);
        free(made);
    }
}

static void writes_all_or_says_so(void **state) {
    (void)state;
    struct error err = {0};
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        skip_because("/dev/full is not there");
    assert_false(fd_write_all(fd, "x", 1, &err));
    assert_int_equal(err.kind, ERROR_SYSTEM);
    close(fd);
    assert_false(fd_write_all(-1, "x", 1, &err));
    assert_true(fd_write_all(-1, "", 0, &err));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaces_and_reads),
        cmocka_unit_test(refuses_odd_files),
        cmocka_unit_test(what_is_no_file_is_not_replaced),
        cmocka_unit_test(failure_leaves_nothing_behind),
        cmocka_unit_test(a_link_set_in_the_way_is_not_followed),
        cmocka_unit_test(makes_folders),
        cmocka_unit_test(joins),
        cmocka_unit_test(writes_all_or_says_so),
    };
    return cmocka_run_group_tests(tests, tree_enter, tree_leave);
}
