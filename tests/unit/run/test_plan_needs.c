/* SPDX-License-Identifier: Apache-2.0 */
/* What a case needs of the GPUs that its items are on, on a made-up node: no case there is needs a compute
 * capability yet. */
#include "unit/unit.h"

#include "run/plan.c"

/* The reason to skip an item of a case that needs `cc_major`, on the GPUs that `where` names; "" for none. */
static void expect(int cc_major, const char *where, const char *reason) {
    static struct gpu_info gpus[] = {
        {.index = 0, .uuid = "GPU-a", .cc_major = 9, .cc_minor = 0},
        {.index = 1, .uuid = "GPU-b", .cc_major = 12, .cc_minor = 1},
        {.index = 2, .uuid = "GPU-c", .cc_major = -1, .cc_minor = -1},
        {.index = 3, .uuid = "GPU-d", .cc_major = 9, .mig = true},
    };
    const struct node node = {.gpus = {.items = gpus, .count = sizeof gpus / sizeof *gpus}};
    const struct bench_case bench = {.name = "made.up", .needs = {.gpus = 1, .cc_major = cc_major}};
    struct error err = {0};
    struct instance instance = {.where = js_parse(where, strlen(where), &err)};
    assert_non_null(instance.where);
    skip_unusable(&node, &bench, &instance);
    assert_string_equal(instance.skip != NULL ? instance.skip : "", reason);
    free(instance.skip);
    js_free(instance.where);
}

static void older_gpus_are_skipped(void **state) {
    (void)state;
    static const char old[] = "GPU 0 has compute capability 9.0, 10.0 is needed";
    expect(0, "{\"gpu\":\"GPU-a\"}", "");
    expect(9, "{\"gpu\":\"GPU-a\"}", "");
    expect(10, "{\"gpu\":\"GPU-a\"}", old);
    expect(10, "{\"gpu\":\"GPU-b\"}", "");
    expect(10, "{\"from\":\"GPU-b\",\"to\":\"GPU-a\"}", old);
    expect(10, "{\"gpus\":\"GPU-a+GPU-b\"}", old);
    expect(10, "{\"cpu_node\":0}", "");
}

/* Unknown is not old; what keeps every case off a GPU comes first. */
static void other_reasons_stay(void **state) {
    (void)state;
    expect(10, "{\"gpu\":\"GPU-c\"}", "");
    expect(10, "{\"gpu\":\"GPU-d\"}", "GPU 3 is in MIG mode, which is not measured");
    expect(10, "{\"gpu\":\"GPU-of-nobody\"}", "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_gpus_are_skipped),
        cmocka_unit_test(other_reasons_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
