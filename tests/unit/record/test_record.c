/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files.h"
#include "base/mem.h"
#include "run/record.h"
#include "unit/unit.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define KEY_TAIL "{gpu=GPU-1;wait=spin}@host"
static const char header[] =
    "{\"type\":\"header\",\"schema\":\"gpuvet.run/1\",\"series\":["
    "{\"key\":\"launch@1/call.p99" KEY_TAIL "\",\"unit\":\"us\",\"better\":\"lower\",\"statistic\":\"p99\","
    "\"class\":\"descriptive\",\"delta_rel\":0.25},"
    "{\"key\":\"launch@1/call.p50" KEY_TAIL "\",\"unit\":\"us\",\"better\":\"lower\",\"statistic\":\"p50\","
    "\"class\":\"primary\",\"delta_rel\":0.05,\"delta_abs\":0.2,\"between_rel\":0.01}]}\n";
static const char footer[] = "{\"type\":\"footer\",\"outcome\":\"complete\"}\n";

struct scratch {
    char folder[64];
    char path[128];
};

static int set_up(void **state) {
    struct scratch *s = mem_zeroed(1, sizeof *s);
    snprintf(s->folder, sizeof s->folder, "/tmp/gpuvet-record.XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->path, sizeof s->path, "%s/run.jsonl", s->folder);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    struct scratch *s = *state;
    unlink(s->path);
    rmdir(s->folder);
    free(s);
    return 0;
}

static void add_record(struct text *t, int round, const char *rest) {
    text_addf(
        t,
        "{\"type\":\"record\",\"target\":\"host\",\"round\":%d,\"id\":1,\"case\":\"launch\",\"version\":1,"
        "\"metric\":\"call\",\"where\":{\"gpu\":\"GPU-1\"},\"params\":{\"wait\":\"spin\"},%s}\n",
        round, rest);
}

static bool read_text(const struct scratch *s, const char *text, struct run *run, struct error *err) {
    unlink(s->path);
    assert_true(file_replace(s->path, text, strlen(text), err));
    return run_read(s->path, run, err);
}

static void test_values(void **state) {
    struct run run;
    struct error err = {0};
    struct text t = {0};
    text_add(&t, header);
    add_record(&t, 2, "\"outcome\":\"ok\",\"samples\":[5,7,6],\"limit\":9");
    add_record(&t, 0, "\"outcome\":\"ok\",\"samples\":[1,2,3,10],\"attributes\":{\"path_class\":\"PIX\"}");
    add_record(&t, 1, "\"outcome\":\"hang\",\"reason\":\"no end\"");
    add_record(&t, 2, "\"outcome\":\"ok\",\"samples\":[8],\"flags\":[\"busy: pid 4\"]");
    add_record(&t, 3, "\"outcome\":\"skip\",\"reason\":\"no GPU\"");
    text_add(&t, footer);
    assert_true(read_text(*state, text_string(&t), &run, &err));
    assert_int_equal(run.n_series, 2);
    assert_string_equal(run.series[0].key, "launch@1/call.p50" KEY_TAIL); /* sorted */
    const struct series *s = run_find(&run, "launch@1/call.p50" KEY_TAIL);
    assert_non_null(s);
    assert_true(s->primary && !s->higher_is_better);
    assert_string_equal(s->bench, "launch");
    assert_string_equal(s->metric, "call");
    assert_string_equal(s->target, "host");
    assert_string_equal(s->path_class, "PIX");
    assert_true(s->delta_abs == 0.2 && s->between_rel == 0.01 && s->limit == 9);
    /* Rounds in order; of round 2 the later record counts; the median of 1, 2, 3, 10 is 2.5. */
    assert_int_equal(s->n_values, 2);
    assert_true(s->rounds[0] == 0 && s->values[0] == 2.5 && s->rounds[1] == 2 && s->values[1] == 8);
    assert_true(s->n_bad == 1 && s->n_skip == 1 && s->flagged_busy);
    assert_non_null(strstr(s->bad_reason, "no end"));
    const struct series *tail = run_find(&run, "launch@1/call.p99" KEY_TAIL);
    assert_true(fabs(tail->values[0] - (3 + 0.97 * 7)) < 1e-12);
    assert_true(tail->largest == 10 &&
                tail->n_samples == 5); /* 4 of round 0, and the later record's of round 2 */
    assert_int_equal(run.n_failures, 1);
    assert_string_equal(run.failures[0].key, "launch@1/call" KEY_TAIL);
    assert_false(run.interrupted);
    assert_int_equal(run.notes.count, 1); /* twice for one round */
    assert_null(run_find(&run, "launch@1/call" KEY_TAIL));
    run_free(&run);
    text_free(&t);
}

static void test_interrupted(void **state) {
    struct run run;
    struct error err = {0};
    struct text t = {0};
    text_add(&t, header);
    text_add(&t, "{\"type\":\"start\",\"round\":0,\"id\":1,\"key\":\"launch@1/call" KEY_TAIL "\"}\n");
    add_record(&t, 0, "\"outcome\":\"ok\",\"samples\":[1]");
    text_add(&t, "{\"type\":\"start\",\"round\":1,\"id\":1,\"key\":\"launch@1/call" KEY_TAIL "\"}\n");
    size_t whole = t.length;
    add_record(&t, 1, "\"outcome\":\"ok\",\"samples\":[1]");
    t.data[whole + 60] = '\0'; /* killed while writing */
    assert_true(read_text(*state, t.data, &run, &err));
    assert_true(run.interrupted && run.truncated_line && run.footer == NULL);
    assert_string_equal(run.last_started, "launch@1/call" KEY_TAIL " in round 1");
    assert_int_equal(run_find(&run, "launch@1/call.p50" KEY_TAIL)->n_values, 1);
    run_free(&run);
    t.data[whole] = '\0';
    t.length = whole;
    add_record(&t, 1, "\"outcome\":\"ok\",\"samples\":[1]");
    text_add(&t, "{\"type\":\"footer\",\"outcome\":\"interrupted\"}\n");
    assert_true(read_text(*state, t.data, &run, &err));
    assert_true(run.interrupted && !run.truncated_line && run.last_started == NULL);
    run_free(&run);
    text_free(&t);
}

/* Each with what the refusal must name. */
static void test_refused(void **state) {
    static const char *const bad[][2] = {
        {"", "empty"},
        {"{\"type\":\"header\"", "cut off"},
        {"[1]\n", "no run file"},
        {"{\"type\":\"record\"}\n", "no run file"},
        {"{\"type\":\"header\",\"schema\":\"gpuvet.run/7\",\"series\":[]}\n", "gpuvet.run/7"},
        {"{\"type\":\"header\",\"schema\":\"gpuvet.run/1\"}\n", "series"},
        {"{\"type\":\"header\",\"schema\":\"gpuvet.run/1\",\"series\":[],\"environment\":7}\n", "wrong type"},
        {"{\"type\":\"header\",\"schema\":\"gpuvet.run/1\",\"series\":[{\"key\":\"x\"}]}\n", "no valid key"},
        {"{\"type\":\"header\",\"schema\":\"gpuvet.run/1\",\"series\":[{\"key\":\"a@1/m{;}@h\","
         "\"statistic\":\"p50\",\"better\":\"lower\",\"class\":\"primary\"}]}\n",
         "statistic"},
        {"{\"type\":\"header\",\"schema\":\"gpuvet.run/1\",\"series\":[{\"key\":\"a@1/m{;}@h\","
         "\"statistic\":\"\",\"better\":\"lower\",\"class\":\"primary\",\"delta_rel\":-1}]}\n",
         "out of range"},
        {"H{\"type\":\"record\"}\n", ":2:"},
        {"Hgarbage\n", ":2:"},
        {"H\n", ":2:"},
        {"H{\"type\":\"surprise\"}\n", "surprise"},
        {"H{\"type\":\"footer\",\"outcome\":\"done\"}\n", "done"},
        {"H{\"type\":\"footer\",\"outcome\":\"failed\"}\n{\"type\":\"finding\"}\n", "after the footer"},
        {"HH", "second header"},
        {"H{\"type\":\"record\",\"outcome\":\"ok\",\"round\":0,\"samples\":[\"1\"]}\n", "samples"},
        {"H{\"type\":\"record\",\"outcome\":\"ok\",\"round\":-1,\"samples\":[1]}\n", "round"},
        {"H{\"type\":\"record\",\"outcome\":\"skip\",\"round\":0}\n", "what it is of"},
        {"H{\"type\":\"start\",\"key\":\"x\"}\n", "start"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct run run;
        struct error err = {0};
        struct text t = {0};
        const char *c = bad[i][0];
        for (; *c == 'H'; c++)
            text_add(&t, header);
        text_add(&t, c);
        if (read_text(*state, text_string(&t), &run, &err))
            fail_msg("accepted: %s", bad[i][0]);
        if (strstr(err.text, bad[i][1]) == NULL || strstr(err.text, "run.jsonl") == NULL)
            fail_msg("'%s' says: %s", bad[i][0], err.text);
        text_free(&t);
    }
}

/* A small packed file can unpack to millions of lines: what is kept of them is bounded. */
static void test_bounded(void **state) {
    struct run run;
    struct error err = {0};
    struct text t = {0};
    text_add(&t, header);
    for (int i = 0; i <= RUN_MAX_FINDINGS; i++)
        text_add(&t, "{\"type\":\"finding\"}\n");
    assert_false(read_text(*state, text_string(&t), &run, &err));
    assert_non_null(strstr(err.text, "findings"));
    text_clear(&t);
    struct text long_reason = {0};
    text_add(&long_reason, "\"outcome\":\"fail\",\"reason\":\"");
    for (int i = 0; i < 2 * RUN_MAX_REASON; i++)
        text_add(&long_reason, "z");
    text_add(&long_reason, "\"");
    text_add(&t, header);
    for (int i = 0; i <= RUN_MAX_FAILURES; i++)
        add_record(&t, i, text_string(&long_reason));
    assert_true(read_text(*state, text_string(&t), &run, &err));
    assert_int_equal(run.n_failures, RUN_MAX_FAILURES);
    assert_int_equal(strlen(run.failures[0].reason), RUN_MAX_REASON);
    run_free(&run);
    text_free(&t);
    text_free(&long_reason);
}

static void test_declared_twice(void **state) {
    struct run run;
    struct error err = {0};
    struct text t = {0};
    const char *series =
        "{\"key\":\"a@1/m{;}@h\",\"statistic\":\"\",\"better\":\"lower\",\"class\":\"primary\"}";
    text_addf(&t, "{\"type\":\"header\",\"schema\":\"gpuvet.run/1\",\"series\":[%s,%s]}\n", series, series);
    assert_false(read_text(*state, text_string(&t), &run, &err));
    assert_non_null(strstr(err.text, "declared twice"));
    text_free(&t);
}

static void test_writer(void **state) {
    const struct scratch *s = *state;
    struct error err = {0};
    struct run_writer *w = run_writer_open(s->path, &err);
    assert_non_null(w);
    js *line = js_parse(header, strlen(header), &err);
    assert_true(run_writer_add(w, line, true, &err));
    js_free(line);
    assert_null(run_writer_open(s->path, &err)); /* never over an existing file */
    assert_int_equal(err.native, EEXIST);
    assert_true(run_writer_sync(w, &err) && run_writer_close(w, &err));
    assert_true(run_writer_close(NULL, &err));
    struct run run;
    assert_true(run_read(s->path, &run, &err));
    assert_true(run.interrupted && run.n_series == 2);
    run_free(&run);
}

/* A full disk: the first failure is told, every later call fails with it, and what was written can be read.
 */
static void test_full_disk(void **state) {
    const struct scratch *s = *state;
    struct error err = {0};
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    struct run_writer *w = run_writer_open(s->path, &err);
    js *line = js_parse(header, strlen(header), &err);
    assert_true(run_writer_add(w, line, false, &err));
    struct rlimit full = {.rlim_cur = strlen(header) + 50, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    bool written = run_writer_add(w, line, false, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(written);
    assert_int_equal(err.native, EFBIG);
    struct error again = {0};
    assert_false(run_writer_add(w, line, false, &again)); /* although there would be room now */
    assert_string_equal(again.text, err.text);
    assert_false(run_writer_close(w, &again));
    js_free(line);
    struct run run;
    assert_true(run_read(s->path, &run, &err));
    assert_true(run.truncated_line);
    run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_interrupted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_declared_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_writer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_disk, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
