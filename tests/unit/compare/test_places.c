/* SPDX-License-Identifier: Apache-2.0 */
/* Container over host from one run file: pairs, placement, causes that the facts of both sides show. */
#include "unit/unit.h"

#include "base/files.h"
#include "compare/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPU "GPU-11111111-2222-3333-4444-555555555555"
#define PLACE "command:/x=y"
#define PLACE_IN_KEYS "command:%2Fx%3Dy"

struct made {
    double here, there, own; /* GB/s; own 0: not measured */
    const char *bench;       /* NULL: "copy.h2d" */
    const char *there_view;  /* members of the container's view; NULL: as the host's */
    const char *there_facts; /* members of its environment; NULL: none */
    const char *flags;       /* of its records */
    const char *broken;      /* member of the place */
    bool one_place;
};

static void add_series(struct text *t, const struct made *m, const char *params, const char *target) {
    text_addf(
        t,
        "{\"key\":\"%s@1/bandwidth{gpu=" GPU ";%s}@%s\",\"unit\":\"GB/s\",\"better\":\"higher\","
        "\"statistic\":\"\",\"n\":1,\"delta_rel\":0.02,\"delta_abs\":0,\"between_rel\":0.005,\"class\":\"%s\"}",
        m->bench, params, target, strstr(params, "placement") != NULL ? "descriptive" : "primary");
}

static void add_record(struct text *t, const struct made *m, int round, const char *target, bool own,
                       double value) {
    text_addf(t,
              "{\"type\":\"record\",\"target\":\"%s\",\"round\":%d,\"case\":\"%s\",\"version\":1,"
              "\"metric\":\"bandwidth\",\"unit\":\"GB/s\",\"better\":\"higher\",\"where\":{\"gpu\":\"" GPU
              "\"},"
              "\"params\":{\"bytes\":64%s},\"outcome\":\"ok\",\"samples\":[%.9g],\"flags\":[%s]}\n",
              target, round, m->bench, own ? ",\"placement\":\"own\"" : "",
              value * (1 + 0.0005 * ((round * 5) % 7 - 3)),
              strcmp(target, "host") == 0 || m->flags == NULL ? "" : m->flags);
}

static void costs_of(struct made m, struct place_costs *costs) {
    static const char view[] =
        "\"cpus\":\"0-7\",\"memory_nodes\":\"0-1\",\"shm_mib\":64000,\"sys_nice\":true,"
        "\"seccomp\":\"0\",\"syscalls\":{\"mbind\":\"ok\"}";
    struct text t = {0};
    struct error err = {0};
    m.bench = m.bench != NULL ? m.bench : "copy.h2d";
    text_addf(
        &t,
        "{\"type\":\"header\",\"schema\":\"gpuvet.run/1\",\"tool\":{\"name\":\"gpuvet\",\"version\":\"0\","
        "\"build_id\":\"b\"},\"command\":[],\"seed\":1,\"profile\":\"standard\","
        "\"started\":\"2026-01-01T00:00:00.000Z\",\"node\":\"n\",\"simulated\":false,\"rounds_planned\":12,"
        "\"targets\":[\"host\"%s],\"environment\":{\"lib.nccl.version\":\"2.28.9\"},"
        "\"environment_volatile\":{},\"gpus\":[],\"places\":{\"host\":{\"same_machine\":true,"
        "\"environment\":{},\"view\":{%s}},\"" PLACE "\":{\"same_machine\":true,%s\"environment\":{%s},"
        "\"view\":{%s}}},\"series\":[",
        m.one_place ? "" : ",\"" PLACE "\"", view, m.broken != NULL ? m.broken : "",
        m.there_facts != NULL ? m.there_facts : "", m.there_view != NULL ? m.there_view : view);
    add_series(&t, &m, "bytes=64", "host");
    text_add(&t, ",");
    add_series(&t, &m, "bytes=64", PLACE_IN_KEYS);
    text_add(&t, ",");
    add_series(&t, &m, "bytes=64,placement=own", PLACE_IN_KEYS);
    text_add(&t, "]}\n");
    for (int round = 0; round < 12; round++) {
        add_record(&t, &m, round, "host", false, m.here);
        add_record(&t, &m, round, PLACE, false, m.there);
        if (m.own > 0)
            add_record(&t, &m, round, PLACE, true, m.own);
    }
    char path[] = "/tmp/gpuvet-places-XXXXXX";
    int fd = mkstemp(path);
    struct run run;
    assert_true(fd >= 0 && fd_write_all(fd, t.data, t.length, &err));
    close(fd);
    assert_true(run_read(path, &run, &err));
    unlink(path);
    text_free(&t);
    place_costs_make(&run, costs);
    run_free(&run);
}

static void pairs_are_judged(void **state) {
    (void)state;
    struct place_costs c;
    costs_of((struct made){.here = 50, .there = 45}, &c);
    assert_int_equal(c.n, 1);
    assert_int_equal(c.places[0].n_rows, 1);
    assert_int_equal(c.places[0].n_rounds, 12);
    const struct place_row *row = &c.places[0].rows[0];
    assert_int_equal(row->result.verdict, VERDICT_REGRESSED);
    assert_true(row->result.ratio > 0.899 && row->result.ratio < 0.901);
    assert_non_null(strstr(row->cause, "no known cause"));
    place_costs_free(&c);
    costs_of((struct made){.here = 50, .there = 50}, &c);
    assert_int_equal(c.places[0].rows[0].result.verdict, VERDICT_SAME);
    assert_null(c.places[0].rows[0].cause); /* without a gap nothing is blamed */
    place_costs_free(&c);
    costs_of((struct made){.here = 50, .there = 45, .one_place = true}, &c);
    assert_int_equal(c.n, 0);
    place_costs_free(&c);
}

static void expect_cause(struct made m, const char *word) {
    struct place_costs c;
    costs_of(m, &c);
    const char *cause = c.places[0].rows[0].cause;
    if (cause == NULL || strstr(cause, word) == NULL)
        fail_msg("'%s' is not in '%s'", word, cause != NULL ? cause : "(none)");
    place_costs_free(&c);
}

static void causes(void **state) {
    (void)state;
    static const char small_shm[] =
        "\"cpus\":\"0-7\",\"memory_nodes\":\"0-1\",\"shm_mib\":64,\"sys_nice\":true,"
        "\"seccomp\":\"0\",\"syscalls\":{\"mbind\":\"ok\"}";
    static const char docker[] =
        "\"cpus\":\"0-7\",\"memory_nodes\":\"0-1\",\"shm_mib\":64000,\"sys_nice\":false,"
        "\"seccomp\":\"2\",\"syscalls\":{\"mbind\":\"EPERM\"}";
    static const char one_node[] =
        "\"cpus\":\"4-7\",\"memory_nodes\":\"1\",\"shm_mib\":64000,\"sys_nice\":true,"
        "\"seccomp\":\"0\",\"syscalls\":{\"mbind\":\"ok\"}";
    struct made slow = {.here = 50, .there = 45};
    slow.bench = "nccl.all_reduce";
    slow.there_view = small_shm;
    expect_cause(slow, "/dev/shm has 64 MiB there, 64000 here");
    slow.bench = "decode.step"; /* its ranks go through NCCL too */
    expect_cause(slow, "/dev/shm has 64 MiB there, 64000 here");
    slow.bench = "memory.copy"; /* a copy within a GPU knows no shared memory */
    expect_cause(slow, "no known cause");
    slow.bench = "copy.h2d";
    slow.there_view = docker;
    expect_cause(slow, "mbind (EPERM) refused there, SYS_NICE is missing");
    slow.bench = "launch.latency";
    expect_cause(slow, "seccomp");
    slow.there_view = one_node;
    slow.bench = "copy.h2d";
    expect_cause(slow, "NUMA nodes 1 only");
    slow.there_view = NULL;
    slow.bench = "nccl.all_reduce";
    slow.there_facts = "\"lib.nccl.version\":\"2.21.5\"";
    expect_cause(slow, "libnccl is 2.21.5 there, 2.28.9 here");
    slow.bench = "decode.step";
    expect_cause(slow, "libnccl is 2.21.5 there, 2.28.9 here");
    slow.bench = "copy.h2d";
    expect_cause(slow, "no known cause");
    slow.bench = "nccl.all_reduce";
    slow.there_facts = NULL;
    slow.flags = "\"cpu-quota\"";
    expect_cause(slow, "CPU quota held it back");
}

static void placement_is_its_own_matter(void **state) {
    (void)state;
    struct place_costs c;
    costs_of((struct made){.here = 50, .there = 50, .own = 40}, &c);
    const struct place_row *row = &c.places[0].rows[0];
    assert_int_equal(c.places[0].n_rows, 1); /* the twin is no row of its own */
    assert_int_equal(row->result.verdict, VERDICT_SAME);
    assert_true(row->has_placement);
    assert_int_equal(row->placement.verdict, VERDICT_REGRESSED);
    assert_non_null(strstr(row->cause, "placement: -20.0 %"));
    place_costs_free(&c);
}

static void broken_places_say_why(void **state) {
    (void)state;
    struct place_costs c;
    char *text = NULL;
    size_t size = 0;
    costs_of((struct made){.here = 50, .there = 50, .broken = "\"broken\":\"cuInit\\u001b[2J says 999\","},
             &c);
    FILE *out = open_memstream(&text, &size);
    place_costs_print(&c, out);
    fclose(out);
    assert_non_null(strstr(text, "says 999"));
    assert_null(strchr(text, '\x1b'));
    js *json = place_costs_json(&c);
    assert_int_equal(js_length(json), 1);
    assert_string_equal(js_get_string(js_at(json, 0), "target", ""), PLACE);
    js_free(json);
    free(text);
    place_costs_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_judged),
        cmocka_unit_test(causes),
        cmocka_unit_test(placement_is_its_own_matter),
        cmocka_unit_test(broken_places_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
