/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/compare/made_run.h"

#include "compare/baseline.h"

struct place {
    char folder[64], run[3][96];
};

static int make_place(void **state) {
    struct place *p = calloc(1, sizeof *p);
    struct error err = {0};
    char path[96];
    snprintf(p->folder, sizeof p->folder, "/tmp/gpuvet-baseline-XXXXXX");
    if (p == NULL || mkdtemp(p->folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/runs", p->folder);
    if (!folder_make(path, &err))
        return -1;
    snprintf(path, sizeof path, "%s/baselines", p->folder);
    if (!folder_make(path, &err))
        return -1;
    for (int i = 0; i < 3; i++) {
        snprintf(p->run[i], sizeof p->run[i], "%s/runs/r%d.jsonl", p->folder, i);
        made_write(p->run[i], (struct made){.number = i + 1});
    }
    *state = p;
    return 0;
}

static int remove_place(void **state) {
    struct place *p = *state;
    made_remove(p->folder);
    free(p);
    return 0;
}

/* Saves the first `n` runs; the number of warnings, or -1 with `text` (may be NULL) in the error. */
static int save(struct place *p, const char *name, int n, bool force, const char *text) {
    struct strings paths = {0};
    struct strings warnings = {0};
    struct error err = {0};
    for (int i = 0; i < n; i++)
        strings_add(&paths, p->run[i]);
    bool good = baseline_save(p->folder, name, &paths, force, &warnings, &err);
    int count = good ? (int)warnings.count : -1;
    if (!good && (text == NULL || strstr(err.text, text) == NULL))
        fail_msg("%s", err.text);
    strings_free(&paths);
    strings_free(&warnings);
    return count;
}

static void saved_and_loaded(void **state) {
    struct place *p = *state;
    struct error err = {0};
    struct run *runs;
    size_t n;
    assert_int_equal(save(p, "before", 3, false, NULL), 0);
    unlink(p->run[0]); /* it holds copies */
    assert_true(baseline_load(p->folder, "before", &runs, &n, &err));
    assert_int_equal(n, 3);
    assert_string_equal(js_get_string(runs[2].header, "boot_id", ""), "boot3");
    runs_free(runs, n);
    struct strings names = {0};
    assert_true(baseline_names(p->folder, &names, &err));
    assert_int_equal(names.count, 1); /* nothing half-made is left */
    strings_free(&names);
    js *manifest = baseline_manifest(p->folder, "before", &err);
    assert_string_equal(js_get_string(manifest, "machine_id", ""), "m1");
    assert_string_equal(js_get_string(manifest, "build_id", ""), "b1");
    js_free(manifest);
    assert_true(baseline_remove(p->folder, "before", &err));
    assert_false(baseline_exists(p->folder, "before"));
    assert_false(baseline_load(p->folder, "before", &runs, &n, &err));
}

static void replaced_only_by_force(void **state) {
    struct place *p = *state;
    struct error err = {0};
    struct run *runs;
    size_t n;
    assert_int_equal(save(p, "b", 3, false, NULL), 0);
    assert_int_equal(save(p, "b", 1, false, "--force"), -1);
    assert_int_equal(save(p, "b", 1, true, NULL), 2); /* few runs, one boot */
    assert_true(baseline_load(p->folder, "b", &runs, &n, &err));
    assert_int_equal(n, 1);
    runs_free(runs, n);
    /* A failure leaves the old one as it was. */
    made_write(p->run[1], (struct made){.number = 2, .machine = "m2"});
    assert_int_equal(save(p, "b", 2, true, "machine"), -1);
    assert_true(baseline_exists(p->folder, "b"));
}

static void only_runs_of_one_kind(void **state) {
    struct place *p = *state;
    made_write(p->run[1], (struct made){.number = 2, .build = "b2"});
    assert_int_equal(save(p, "b", 2, false, "build"), -1);
    made_write(p->run[1], (struct made){.number = 2, .simulated = true});
    assert_int_equal(save(p, "b", 2, false, "simulated"), -1);
    made_write(p->run[1], (struct made){.number = 1});
    assert_int_equal(save(p, "b", 2, false, "same run"), -1);
    assert_int_equal(save(p, "b", 0, false, "at least one run"), -1);
    made_write(p->run[0], (struct made){.number = 1, .no_record = true});
    assert_int_equal(save(p, "b", 1, false, "holds no record"), -1);
    assert_false(baseline_exists(p->folder, "b"));
}

static void names_stay_in_the_folder(void **state) {
    struct place *p = *state;
    static const char *const bad[] = {"", ".", "..", ".x", "a/b", "../x", "a b", "a\n", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(save(p, bad[i], 1, false, "cannot name a baseline"), -1);
        assert_false(baseline_exists(p->folder, bad[i]));
    }
    assert_true(save(p, "A-z_0.9", 1, false, NULL) >= 0);
}

static void damage_is_seen(void **state) {
    struct place *p = *state;
    struct error err = {0};
    struct run *runs;
    size_t n;
    char path[160];
    assert_int_equal(save(p, "b", 3, false, NULL), 0);
    snprintf(path, sizeof path, "%s/baselines/b/r1.jsonl", p->folder);
    made_write(path, (struct made){.number = 9});
    assert_false(baseline_load(p->folder, "b", &runs, &n, &err));
    assert_non_null(strstr(err.text, "r1.jsonl"));
    assert_int_equal(n, 0);
    /* A manifest that points out of its folder. */
    static const char evil[] =
        "{\"schema\":\"gpuvet.baseline/1\",\"runs\":[{\"file\":\"../../runs/r0.jsonl\","
        "\"sha256\":\"0000000000000000000000000000000000000000000000000000000000000000\"}]}";
    snprintf(path, sizeof path, "%s/baselines/b/baseline.json", p->folder);
    assert_true(file_replace(path, evil, sizeof evil - 1, &err));
    assert_null(baseline_manifest(p->folder, "b", &err));
    assert_true(file_replace(path, "[", 1, &err));
    assert_null(baseline_manifest(p->folder, "b", &err));
    char *found;
    assert_true(baseline_find(p->folder, NULL, "m1", &found, &err)); /* in nobody's way */
    assert_null(found);
}

static void newest_of_this_machine(void **state) {
    struct place *p = *state;
    struct error err = {0};
    char *found;
    assert_true(baseline_find(p->folder, NULL, "m1", &found, &err));
    assert_null(found);
    assert_true(save(p, "z-old", 2, false, NULL) >= 0);
    usleep(2000); /* stamps have milliseconds */
    assert_true(save(p, "a-new", 2, false, NULL) >= 0);
    assert_true(baseline_find(p->folder, NULL, "m1", &found, &err));
    assert_string_equal(found, "a-new");
    free(found);
    assert_true(baseline_find(p->folder, NULL, "m2", &found, &err));
    assert_null(found);
    assert_true(baseline_find(p->folder, "z-old", "m2", &found, &err));
    assert_string_equal(found, "z-old");
    free(found);
    assert_false(baseline_find(p->folder, "z-odl", "m1", &found, &err));
    assert_non_null(strstr(err.text, "did you mean z-old"));
}

static void runs_by_any_name(void **state) {
    struct place *p = *state;
    struct error err = {0};
    struct run *runs = NULL;
    size_t n = 0;
    assert_int_equal(save(p, "b", 3, false, NULL), 0);
    assert_true(runs_load(p->folder, p->run[0], &runs, &n, &err));
    assert_int_equal(n, 1);
    assert_true(runs_load(p->folder, "r2.jsonl", &runs, &n, &err));
    assert_int_equal(n, 2);
    assert_true(runs_load(p->folder, "b", &runs, &n, &err));
    assert_int_equal(n, 5);
    assert_false(runs_load(p->folder, "nothing", &runs, &n, &err));
    assert_false(runs_load(NULL, "b", &runs, &n, &err));
    assert_int_equal(n, 5);
    runs_free(runs, n);
}

#define AT_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void) {
    const struct CMUnitTest tests[] = {
        AT_PLACE(saved_and_loaded),      AT_PLACE(replaced_only_by_force),
        AT_PLACE(only_runs_of_one_kind), AT_PLACE(names_stay_in_the_folder),
        AT_PLACE(damage_is_seen),        AT_PLACE(newest_of_this_machine),
        AT_PLACE(runs_by_any_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
