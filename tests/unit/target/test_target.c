/* SPDX-License-Identifier: Apache-2.0 */
/* Names of places, their prefixes, what their starters see; helpers bounded in time; what is undone. */
#include "unit/unit.h"

#include "base/clock.h"
#include "base/files.h"
#include "target/helper.h"
#include "target/target.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct error err;

static char *prefix_of(const char *text) {
    struct target t;
    struct text out = {0};
    assert_true(target_parse(text, &t, &err));
    assert_string_equal(t.name, text);
    for (size_t i = 0; i < t.prefix.count; i++)
        text_addf(&out, "%s%s", i > 0 ? " " : "", t.prefix.items[i]);
    target_free(&t);
    return out.data != NULL ? text_take(&out) : strdup("");
}

static void expect_prefix(const char *text, const char *wanted) {
    char *made = prefix_of(text);
    assert_string_equal(made, wanted);
    free(made);
}

static void prefixes(void **state) {
    (void)state;
    expect_prefix("host", "");
    expect_prefix("lxc:web", "lxc-attach --clear-env -n web --");
    expect_prefix("pct:129", "pct exec 129 --");
    expect_prefix("docker:box", "docker exec -i box");
    expect_prefix("docker:reg/img:1 --gpus all", "docker exec -i reg/img:1");
    expect_prefix("podman:box", "podman exec -i box");
    expect_prefix("like:17", "/proc/self/exe enter 17 --");
    char *ssh = prefix_of("ssh:me@node:1");
    assert_non_null(strstr(ssh, "-oBatchMode=yes"));
    assert_non_null(strstr(ssh, " -- me@node:1"));
    free(ssh);
    char *srun = prefix_of("slurm:n4/--partition=gpu --gres=gpu:2");
    assert_non_null(strstr(srun, " --nodelist=n4 --partition=gpu --gres=gpu:2"));
    free(srun);
}

static void refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",        "moon",      "lxc",          "lxc:",      "lxc:-n",    "lxc:a b",
        "pct:web", "like:12x",  "like:-1",      "ssh:-oX=y", "docker:-v", "lxc:a\x1b[2J",
        "slurm:",  "command:/", "LXC:web",      ":x",        "like:",     "pct:99999999999",
        "lxc:a/b", "lxc:..",    "lxc:../../etc"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct target t;
        error_clear(&err);
        assert_false(target_parse(bad[i], &t, &err));
        assert_int_not_equal(err.kind, ERROR_NONE);
        assert_null(strchr(err.text, '\x1b'));
    }
}

static void argv_file(void **state) {
    (void)state;
    struct target t;
    char path[] = "/tmp/gpuvet-argv-XXXXXX";
    int fd = mkstemp(path);
    static const char words[] = "chroot\n/srv/a folder\n$(reboot)\n";
    assert_true(fd >= 0 && fd_write_all(fd, words, sizeof words - 1, &err));
    char name[64];
    snprintf(name, sizeof name, "command:%s", path);
    assert_true(target_parse(name, &t, &err));
    assert_int_equal(t.prefix.count, 3); /* a word with a blank is one word, and no shell sees it */
    assert_string_equal(t.prefix.items[1], "/srv/a folder");
    assert_string_equal(t.prefix.items[2], "$(reboot)");
    target_free(&t);
    assert_true(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
                fd_write_all(fd, "env\r\nA=1\r\n", 10, &err));
    assert_true(target_parse(name, &t, &err));
    assert_int_equal(t.prefix.count, 2);
    assert_string_equal(t.prefix.items[0], "env");
    assert_string_equal(t.prefix.items[1], "A=1");
    target_free(&t);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_false(target_parse(name, &t, &err));
    close(fd);
    unlink(path);
}

static void environment_is_cleared(void **state) {
    (void)state;
    struct target t;
    setenv("NCCL_OF_THE_HOST", "1", 1);
    setenv("PATHOLOGY", "1", 1);
    setenv("SLURM_CONF", "/x", 1);
    assert_true(target_parse("lxc:web", &t, &err));
    bool path = false;
    bool slurm = false;
    for (size_t i = 0; i < t.environment.count; i++) {
        assert_false(text_starts(t.environment.items[i], "NCCL_"));
        assert_false(text_starts(t.environment.items[i], "PATHOLOGY"));
        path = path || text_starts(t.environment.items[i], "PATH=");
        slurm = slurm || strcmp(t.environment.items[i], "SLURM_CONF=/x") == 0;
    }
    assert_true(path && slurm);
    target_free(&t);
}

static bool help(const char *const *words, int64_t limit_ns, struct helper_result *result) {
    struct strings argv = {0};
    for (size_t i = 0; words[i] != NULL; i++)
        strings_add(&argv, words[i]);
    struct helper how = {.argv = &argv, .input = -1, .interrupt_fd = -1, .limit_ns = limit_ns};
    error_clear(&err);
    bool good = helper_must(&how, result, &err);
    strings_free(&argv);
    return good;
}

static void helpers(void **state) {
    (void)state;
    struct helper_result r;
    assert_true(help((const char *const[]){"printf", "a\\nb", NULL}, 60 * NS_PER_S, &r));
    assert_string_equal(text_string(&r.output), "a\nb");
    helper_result_free(&r);
    assert_false(help((const char *const[]){"sh", "-c", "echo first >&2; echo why >&2; exit 7", NULL},
                      60 * NS_PER_S, &r));
    assert_int_equal(r.status, 7);
    assert_string_equal(helper_last_words(&r), "why");
    helper_result_free(&r);
    assert_false(help((const char *const[]){"/nonexistent/program", NULL}, 60 * NS_PER_S, &r));
    helper_result_free(&r);
    /* Its limit ends it, and what it started; and endless output is no memory. */
    assert_false(help((const char *const[]){"sh", "-c", "sleep 600 & wait", NULL}, NS_PER_S / 5, &r));
    assert_non_null(strstr(err.text, "did not end"));
    assert_int_equal(err.native, HELPER_TOO_LATE);
    helper_result_free(&r);
    assert_true(help((const char *const[]){"head", "-c", "1000000", "/dev/zero", NULL}, 60 * NS_PER_S, &r));
    assert_int_equal(r.output.length, HELPER_MAX_OUTPUT);
    helper_result_free(&r);
}

/* A zombie that nobody reaps has ended too. */
static bool runs(pid_t pid) {
    char path[64];
    struct text stat = {0};
    struct error ignored = {0};
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    bool there = file_read(path, 4096, &stat, &ignored) && strstr(text_string(&stat), ") Z ") == NULL;
    text_free(&stat);
    return there;
}

/* Ends a script once it says by "$1" that it is ready, and gives what it wrote to "$0". */
static char *last_act(const char *script) {
    struct helper_result r;
    struct text said = {0};
    struct strings argv = {0};
    char path[] = "/tmp/gpuvet-act-XXXXXX";
    char ready[64];
    int fd = mkstemp(path);
    snprintf(ready, sizeof ready, "%s.ready", path);
    assert_true(fd >= 0 && mkfifo(ready, 0600) == 0);
    int ready_fd = open(ready, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(ready_fd >= 0);
    const char *const words[] = {"sh", "-c", script, path, ready};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        strings_add(&argv, words[i]);
    struct helper how = {.argv = &argv, .input = -1, .interrupt_fd = ready_fd, .limit_ns = 60 * NS_PER_S};
    error_clear(&err);
    assert_false(helper_run(&how, &r, &err));
    assert_int_equal(err.kind, ERROR_INTERRUPTED);
    helper_result_free(&r);
    strings_free(&argv);
    error_clear(&err);
    assert_true(file_read(path, 4096, &said, &err));
    close(fd);
    close(ready_fd);
    unlink(path);
    unlink(ready);
    return text_take(&said);
}

static void expect_last_act(const char *script, const char *wanted) {
    char *said = last_act(script);
    assert_string_equal(said, wanted);
    free(said);
}

/* Asked before it is killed; so is what it started, which may take longer than itself; also one that is
 * stopped, and one that says something first. */
static void asked_to_end(void **state) {
    (void)state;
    expect_last_act("trap 'echo bye >&2; echo ended >$0; exit 3' TERM; echo >$1; "
                    "while :; do sleep 0.01; done",
                    "ended\n");
    expect_last_act(
        "sh -c 'trap \"sleep 0.2; echo ended >$0; exit\" TERM; echo >$1; while :; do sleep 0.01; done' $0 $1 & "
        "wait",
        "ended\n");
    /* Ready once it stands still: stopped after it was asked, it would hear nothing more. */
    expect_last_act("trap 'echo ended >$0; exit' TERM; "
                    "(until grep -q '^State:.T' /proc/$$/status; do :; done; echo >$1) & "
                    "kill -STOP $$; sleep 600 & wait",
                    "ended\n");
    /* One that will not is killed with what it started. */
    char *said = last_act("trap '' TERM; sleep 600 & echo $$ $! >$0; echo >$1; wait");
    char *rest = said;
    for (int i = 0; i < 2; i++) {
        pid_t pid = (pid_t)strtol(rest, &rest, 10);
        assert_true(pid > 1);
        assert_false(runs(pid));
    }
    free(said);
}

/* Without a file brought in there is one way; a container has the folders and, known from outside, its
 * namespaces. */
static void ways(void **state) {
    (void)state;
    struct target t;
    struct target_start start;
    struct strings options = {0};
    strings_add(&options, "--facts");
    assert_true(target_parse("host", &t, &err));
    assert_int_equal(target_ways(&t), 1);
    assert_true(target_bring(&t, 0, &options, &start, &err));
    assert_int_equal(start.argv.count, 3);
    assert_string_equal(start.argv.items[0], "/proc/self/exe");
    assert_string_equal(start.argv.items[2], "--facts");
    target_start_free(&start);
    target_free(&t);
    assert_true(target_parse("lxc:web", &t, &err));
    int folders = target_ways(&t);
    assert_true(
        target_bring(&t, folders - 1, &options, &start, &err)); /* not known from outside: by its stdin */
    assert_null(start.file);
    assert_string_equal(start.argv.items[start.argv.count - 4], "perl");
    assert_string_equal(start.argv.items[start.argv.count - 3], "-");
    assert_non_null(strstr(start.script, "\n__END__\n"));
    assert_null(strchr(strstr(start.script, "__END__\n") + strlen("__END__\n"), '\n'));
    target_start_free(&start);
    t.init = 4711;
    assert_int_equal(target_ways(&t), folders);
    assert_true(target_bring(&t, folders - 1, &options, &start, &err));
    assert_null(start.file);
    assert_string_equal(start.argv.items[1], "enter");
    assert_string_equal(start.argv.items[2], "4711");
    target_start_free(&start);
    target_free(&t);
    strings_free(&options);
}

/* Nothing is left to others that would stay after a sudden end. */
static void nobody_tidies_up(void **state) {
    (void)state;
    int ends[2];
    struct strings argv = {0};
    strings_add(&argv, "true");
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    struct undo undo = {.to = ends[1]};
    assert_int_equal(undo_add(&undo, &argv, NULL, false, &err), 0);
    assert_non_null(strstr(err.text, "tidies up after us is gone"));
    close(ends[1]);
    strings_free(&argv);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes),         cmocka_unit_test(refused),
        cmocka_unit_test(argv_file),        cmocka_unit_test(environment_is_cleared),
        cmocka_unit_test(helpers),          cmocka_unit_test(ways),
        cmocka_unit_test(nobody_tidies_up), cmocka_unit_test(asked_to_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
