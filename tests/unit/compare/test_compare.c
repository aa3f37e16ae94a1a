/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/compare/made_run.h"

#include "compare/compare.h"

#include <math.h>

#define H2D "copy.h2d@1/bandwidth{gpu=" MADE_GPU ",role=local;bytes=536870912}@host"
#define D2H "copy.d2h@1/bandwidth{gpu=" MADE_GPU ",role=local;bytes=536870912}@host"

/* Three runs of three boots as the usual BEFORE, and one AFTER; the comparison outlives them. */
static struct comparison compare_with(struct made before, struct made after, bool force) {
    struct run runs[3];
    struct error err = {0};
    struct comparison c;
    const struct compare_options o = {.force = force};
    for (int i = 0; i < 3; i++) {
        before.number = i + 1;
        runs[i] = made_run(before);
    }
    after.number = 4;
    struct run last = made_run(after);
    if (!compare_runs(runs, 3, &last, 1, &o, &c, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 3; i++)
        run_free(&runs[i]);
    run_free(&last);
    return c;
}

static enum verdict verdict_of(const struct comparison *c, const char *key) {
    const struct compare_row *row = comparison_find(c, key);
    assert_non_null(row);
    return row->result.verdict;
}

static bool worse_has(const struct comparison *c, const char *key) {
    for (size_t i = 0; i < c->n_worse; i++)
        if (strcmp(c->worse[i].key, key) == 0)
            return true;
    return false;
}

static void same_and_regressed(void **state) {
    (void)state;
    struct comparison c = compare_with((struct made){0}, (struct made){0}, false);
    assert_int_equal(c.n_rows, 2);
    assert_int_equal(c.n_family, 2);
    assert_int_equal(verdict_of(&c, H2D), VERDICT_SAME);
    assert_int_equal(c.n_differences + c.n_worse + c.n_failures, 0);
    assert_int_equal(comparison_exit_status(&c, true), 0);
    assert_null(comparison_find(&c, "copy.h2d@1/bandwidth{;}@host"));
    comparison_free(&c);
    c = compare_with((struct made){0}, (struct made){.h2d = 50}, false);
    assert_int_equal(verdict_of(&c, H2D), VERDICT_REGRESSED);
    assert_int_equal(verdict_of(&c, D2H), VERDICT_SAME);
    assert_true(fabs(comparison_find(&c, H2D)->result.ratio - 50.0 / 55) < 0.003);
    assert_int_equal(comparison_exit_status(&c, false), 1);
    comparison_free(&c);
    c = compare_with((struct made){0}, (struct made){.h2d = 60}, false);
    assert_int_equal(verdict_of(&c, H2D), VERDICT_IMPROVED);
    assert_int_equal(comparison_exit_status(&c, false), 0);
    comparison_free(&c);
}

/* Every row of a side is without a partner, and says by name why. */
static void all_without(struct made after, const char *why, bool force, enum verdict forced) {
    struct comparison c = compare_with((struct made){0}, after, false);
    assert_true(c.n_rows >= 2);
    for (size_t i = 0; i < c.n_rows; i++) {
        assert_int_equal(c.rows[i].result.verdict, VERDICT_NOT_COMPARABLE);
        if (strstr(c.rows[i].result.reason, why) == NULL)
            fail_msg("'%s' is not in '%s'", why, c.rows[i].result.reason);
    }
    assert_int_equal(comparison_exit_status(&c, false), 2);
    comparison_free(&c);
    if (!force)
        return;
    c = compare_with((struct made){0}, after, true);
    assert_int_equal(verdict_of(&c, H2D), forced);
    assert_true(c.notes.count > 0);
    comparison_free(&c);
}

static void not_comparable_by_name(void **state) {
    (void)state;
    all_without((struct made){.build = "b2"}, "different builds", true, VERDICT_SAME);
    all_without((struct made){.simulated = true}, "simulated", true, VERDICT_SAME);
    all_without((struct made){.version = "2"}, "case version", false, VERDICT_SAME);
    all_without((struct made){.bytes = "4096"}, "not measured with these parameters", false, VERDICT_SAME);
    all_without((struct made){.unit = "MB/s"}, "unit GB/s in BEFORE, MB/s in AFTER", false, VERDICT_SAME);
    all_without((struct made){.gpu = "GPU-other"}, "is not in", false, VERDICT_SAME);
}

static void facts_for_the_worse(void **state) {
    (void)state;
    struct made before = {.facts = "\"pci.0000:01:00.0.link_gen\":5,\"pci.0000:01:00.0.link_width\":16,"
                                   "\"gpu.G.power_limit_w\":600,\"gpu.G.ecc\":true,\"p2p.0.1\":\"OK\","
                                   "\"kernel.clocksource\":\"tsc\"",
                          .gpu_more = ",\"pcie\":{\"width\":16}"};
    struct made after = {.facts = "\"pci.0000:01:00.0.link_gen\":4,\"pci.0000:01:00.0.link_width\":8,"
                                  "\"gpu.G.power_limit_w\":450,\"gpu.G.ecc\":false,\"p2p.0.1\":\"CNS\","
                                  "\"kernel.clocksource\":\"hpet\"",
                         .gpu_more = ",\"pcie\":{\"width\":8}",
                         .path = "SYS"};
    struct comparison c = compare_with(before, after, false);
    assert_true(worse_has(&c, "pci.0000:01:00.0.link_gen"));
    assert_true(worse_has(&c, "pci.0000:01:00.0.link_width"));
    assert_true(worse_has(&c, "gpu.G.power_limit_w"));
    assert_true(worse_has(&c, "gpu.G.ecc"));
    assert_true(worse_has(&c, "p2p.0.1"));
    assert_true(worse_has(&c, "kernel.clocksource"));
    assert_true(worse_has(&c, "gpu." MADE_GPU ".pcie.width"));
    assert_true(worse_has(&c, "path." MADE_GPU));
    assert_int_equal(comparison_exit_status(&c, false), 1);
    comparison_free(&c);
    /* The other way round only the ECC mode is worse: any change of it is. */
    c = compare_with(after, before, false);
    assert_int_equal(c.n_worse, 1);
    assert_true(worse_has(&c, "gpu.G.ecc"));
    comparison_free(&c);
}

static void missing_gpu(void **state) {
    (void)state;
    struct comparison c = compare_with((struct made){0}, (struct made){.gpu = "GPU-other"}, false);
    assert_true(worse_has(&c, "gpu." MADE_GPU));
    comparison_free(&c);
    c = compare_with((struct made){0}, (struct made){.gpu = "GPU-other", .machine = "m2"}, false);
    assert_int_equal(c.n_worse, 0); /* another machine's GPUs are no loss of this one's */
    comparison_free(&c);
}

static void environment_beside(void **state) {
    (void)state;
    struct comparison c = compare_with(
        (struct made){.facts =
                          "\"cpu.governor\":\"powersave\",\"gone\":1,\"msr\":\"needs root\",\"kept\":[1],"
                          "\"lib.cuda.sha256\":\"1a\",\"lib.nccl.sha256\":\"00\""},
        (struct made){.facts = "\"cpu.governor\":\"performance\",\"new\":2,\"msr\":\"0x1\",\"kept\":[1],"
                               "\"lib.cuda.sha256\":\"2b\""},
        false);
    assert_int_equal(c.n_differences, 4); /* a hash that one side did not take is none */
    for (size_t i = 0; i < 4; i++) {
        const struct compare_difference *d = &c.differences[i];
        if (strcmp(d->key, "cpu.governor") == 0) {
            assert_int_equal(d->kind, DIFFERENCE_CHANGED);
            assert_string_equal(d->before, "powersave");
            assert_string_equal(d->after, "performance");
        } else if (strcmp(d->key, "lib.cuda.sha256") == 0) {
            assert_int_equal(d->kind, DIFFERENCE_CHANGED);
        } else if (strcmp(d->key, "gone") == 0) {
            assert_int_equal(d->kind, DIFFERENCE_REMOVED);
        } else {
            assert_string_equal(d->key, "new");
            assert_int_equal(d->kind, DIFFERENCE_ADDED);
        }
    }
    assert_int_equal(c.not_visible.count, 1);
    assert_string_equal(c.not_visible.items[0], "msr");
    assert_int_equal(comparison_exit_status(&c, false), 0); /* a difference is no verdict */
    comparison_free(&c);
}

static void failures_and_interrupts(void **state) {
    (void)state;
    struct made bad = {.outcome = "fail"};
    struct comparison c = compare_with((struct made){0}, bad, false);
    assert_int_equal(c.n_failures, 1);
    assert_false(c.failures[0].before_too);
    assert_string_equal(c.failures[0].outcome, "fail");
    assert_int_equal(comparison_exit_status(&c, false), 1);
    comparison_free(&c);
    c = compare_with(bad, bad, false);
    assert_true(c.failures[0].before_too);
    assert_int_equal(comparison_exit_status(&c, false), 0);
    comparison_free(&c);
    c = compare_with((struct made){0}, (struct made){.no_footer = true}, false);
    bool told = false;
    for (size_t i = 0; i < c.notes.count; i++)
        told = told || (strstr(c.notes.items[i], "interrupted") && strstr(c.notes.items[i], "copy.h2d@1/x"));
    assert_true(told);
    comparison_free(&c);
}

static void one_run_counts_once(void **state) {
    (void)state;
    struct error err = {0};
    struct comparison c;
    const struct compare_options o = {0};
    struct run a = made_run((struct made){.number = 1});
    struct run twice[] = {a, a};
    assert_false(compare_runs(twice, 2, &a, 1, &o, &c, &err));
    assert_non_null(strstr(err.text, "same run"));
    assert_false(compare_runs(NULL, 0, &a, 1, &o, &c, &err));
    run_free(&a);
}

static char *printed(const struct comparison *c) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    comparison_print(c, out);
    fclose(out);
    return text;
}

static void output(void **state) {
    (void)state;
    struct comparison c =
        compare_with((struct made){0}, (struct made){.h2d = 50, .facts = "\"x\":\"a\\u001b[31m\""}, false);
    char *text = printed(&c);
    assert_non_null(strstr(text, "regressed (1)"));
    assert_non_null(strstr(text, "same (1)"));
    assert_non_null(strstr(text, "copy.h2d bandwidth GPU 0 local 512 MiB"));
    assert_non_null(strstr(text, "1 %"));
    assert_null(strchr(text, '\x1b')); /* a run file cannot write to the terminal */
    free(text);
    js *json = comparison_json(&c);
    assert_string_equal(js_get_string(json, "schema", ""), "gpuvet.compare/1");
    assert_int_equal(js_get_int(js_get(json, "verdicts"), "regressed", -1), 1);
    assert_int_equal(js_length(js_get(json, "series")), 2);
    assert_int_equal(js_get_int(json, "exit_status", -1), 1);
    js_free(json);
    comparison_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_and_regressed),  cmocka_unit_test(not_comparable_by_name),
        cmocka_unit_test(facts_for_the_worse), cmocka_unit_test(missing_gpu),
        cmocka_unit_test(environment_beside),  cmocka_unit_test(failures_and_interrupts),
        cmocka_unit_test(one_run_counts_once), cmocka_unit_test(output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
