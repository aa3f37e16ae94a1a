/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper, spoken to through pipes as the coordinator does. */
#include "base/json.h"
#include "gpu/keeper.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "unit/gpu/fake.h"

struct talk {
    pid_t pid;
    FILE *to, *from;
};

static struct talk start(void) {
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(in[1]);
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(out[1]);
        _exit(keeper_main());
    }
    close(in[0]);
    close(out[1]);
    return (struct talk){pid, fdopen(in[1], "w"), fdopen(out[0], "r")};
}

static js *hear(struct talk *t) {
    char line[65536];
    struct error err = {0};
    assert_non_null(fgets(line, sizeof line, t->from));
    js *value = js_parse(line, strlen(line), &err);
    assert_non_null(value);
    return value;
}

static js *say(struct talk *t, const char *line) {
    fprintf(t->to, "%s\n", line);
    fflush(t->to);
    return hear(t);
}

/* Its stdin ends: it must end too, with 0. */
static void end(struct talk *t) {
    int status = -1;
    fclose(t->to);
    assert_int_equal(fgetc(t->from), EOF);
    fclose(t->from);
    assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void answers(void **state) {
    (void)state;
    use_fake("nvml", "count 2\nprocesses 1\n");
    struct talk t = start();
    js *ready = hear(&t);
    assert_string_equal(js_get_string(ready, "type", ""), "ready");
    assert_int_equal(js_get_int(ready, "gpus", -1), 2);
    assert_int_equal(js_get_int(ready, "held", -1), 0); /* the made-up ones have no nodes */
    assert_non_null(strstr(js_get_string(ready, "reason", ""), "/dev/nvidia25"));
    js_free(ready);
    for (int i = 0; i < 3; i++) {
        js *activity = say(&t, "{\"type\":\"activity\"}");
        assert_string_equal(js_get_string(activity, "type", ""), "activity");
        assert_int_equal(js_length(js_get(activity, "gpus")), 2);
        assert_int_equal(js_get_int(js_at(js_get(activity, "gpus"), 1), "utilization_percent", -1), 8);
        js_free(activity);
    }
    end(&t);
}

static void counts(void **state) {
    (void)state;
    use_fake("nvml", "count 2\nreplays 3\nthrottled_us 50\nlink_gen 5\nlink_width 16\npower_mw 120500\n");
    struct talk t = start();
    js_free(hear(&t));
    static const char question[] =
        "{\"type\":\"counters\",\"whole\":true,\"gpus\":[\"GPU-00000000-0000-0000-0000-000000000001\",\"GPU-of-nobody\",7]}";
    for (int i = 0; i < 2; i++) { /* the count in one call with the rest, and by its older function */
        FILE *settings = fopen(getenv("GPUVET_FAKE_NVML"), "a");
        assert_non_null(settings);
        fprintf(settings, "replays %d\nold_replays %d\n", 3 + 4 * i, i);
        fclose(settings);
        js *answer = say(&t, question);
        assert_string_equal(js_get_string(answer, "type", ""), "counters");
        const js *gpus = js_get(answer, "gpus");
        const js *known = js_get(gpus, "GPU-00000000-0000-0000-0000-000000000001");
        assert_int_equal(js_get_int(known, "replays", -1), 3 + 4 * i);
        assert_int_equal(js_get_int(known, "pcie_gen", -1), 5);
        assert_int_equal(js_get_int(known, "pcie_width", -1), 16);
        assert_true(js_get_number(known, "power_w", 0) > 120.4 && js_get_number(known, "power_w", 0) < 120.6);
        assert_true(js_is_object(js_get(known, "aer")));
        assert_true(js_is_null(js_get(js_get(gpus, "GPU-of-nobody"), "replays")));
        js_free(answer);
    }
    js *answer = say(&t, "{\"type\":\"counters\",\"gpus\":[\"GPU-00000000-0000-0000-0000-000000000000\"]}");
    const js *only = js_get(js_get(answer, "gpus"), "GPU-00000000-0000-0000-0000-000000000000");
    assert_int_equal(js_get_int(only, "replays", -1), 7);
    assert_null(js_get(only, "power_w"));
    assert_null(js_get(only, "pcie_gen"));
    js_free(answer);
    answer = say(&t, "{\"type\":\"counters\"}");
    assert_int_equal(js_length(js_get(answer, "gpus")), 0);
    js_free(answer);
    end(&t);
}

static void bad_lines(void **state) {
    (void)state;
    static const char *const lines[] = {"", "x", "[]", "{\"type\":1}", "{\"type\":\"other\"}"};
    use_fake("nvml", "count 1\n");
    struct talk t = start();
    js_free(hear(&t));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        js *answer = say(&t, lines[i]);
        assert_string_equal(js_get_string(answer, "type", ""), "error");
        js_free(answer);
    }
    char *longest = test_malloc(100001);
    memset(longest, 'x', 100000);
    longest[100000] = '\0';
    js *answer = say(&t, longest);
    assert_string_equal(js_get_string(answer, "type", ""), "error");
    js_free(answer);
    test_free(longest);
    answer = say(&t, "{\"type\":\"activity\"}"); /* and it goes on */
    assert_string_equal(js_get_string(answer, "type", ""), "activity");
    js_free(answer);
    end(&t);
}

static void no_driver(void **state) {
    (void)state;
    use_fake("nvml", "init 9\n");
    struct talk t = start();
    js *ready = hear(&t);
    assert_int_equal(js_get_int(ready, "gpus", -1), 0);
    assert_non_null(strstr(js_get_string(ready, "reason", ""), "not loaded"));
    js_free(ready);
    js *activity = say(&t, "{\"type\":\"activity\"}");
    assert_true(js_is_null(js_get(activity, "gpus")));
    assert_non_null(strstr(js_get_string(activity, "reason", ""), "not loaded"));
    js_free(activity);
    js *counters = say(&t, "{\"type\":\"counters\",\"gpus\":[\"GPU-0\"]}");
    assert_int_equal(js_length(js_get(counters, "gpus")), 0);
    assert_non_null(strstr(js_get_string(counters, "reason", ""), "not loaded"));
    js_free(counters);
    end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(answers, drop_fake),
        cmocka_unit_test_teardown(counts, drop_fake),
        cmocka_unit_test_teardown(bad_lines, drop_fake),
        cmocka_unit_test_teardown(no_driver, drop_fake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
