/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of NVML's word on pairs, and of the far ends of NVLinks. */
#include "base/clock.h"
#include "gpu/facts_child.h"

#include <string.h>

#include "unit/gpu/fake.h"

static void ask(const char *lines, struct gpu_list *out) {
    struct error err = {0};
    use_fake("nvml", lines);
    assert_true(gpu_facts_child(out, 20 * NS_PER_S, &err));
    assert_true(out->count >= 2);
}

static void each_status_has_its_word(void **state) {
    (void)state;
    static const char *const words[] = {"OK", "CNS", "GNS", "TNS", "DR", "NS", ""};
    for (int status = 0; status < 7; status++) {
        char lines[64];
        struct gpu_list list;
        snprintf(lines, sizeof lines, "count 2\np2p %d\n", status);
        ask(lines, &list);
        assert_string_equal(gpu_list_p2p(&list, 0, 1), words[status]);
        assert_string_equal(gpu_list_p2p(&list, 1, 0), words[status]);
        assert_string_equal(gpu_list_p2p(&list, 0, 0), "");
        assert_string_equal(gpu_list_p2p(&list, 0, 7), "");
        gpu_list_free(&list);
    }
}

/* Reads may be fine where writes are not: a copy needs either. */
static void writes_count_too(void **state) {
    (void)state;
    struct gpu_list list;
    ask("count 2\np2p 0\np2p_write 3\n", &list);
    assert_string_equal(gpu_list_p2p(&list, 0, 1), "TNS");
    gpu_list_free(&list);
}

static void links_lead_to_their_far_end(void **state) {
    (void)state;
    static const struct {
        const char *lines;
        int neighbour, other; /* links from GPU 0 to 1, and to 2 */
    } rows[] = {
        {"count 4\nlinks 6\n", 6, 0},                     /* bridges between neighbours */
        {"count 4\nlinks 18\nlink_far switch\n", 18, 18}, /* a switch reaches everybody */
        {"count 4\nlinks 18\nlink_far nowhere\np2p 0\n", 18,
         18},                                                   /* not told what it is, and NVLink reaches */
        {"count 4\nlinks 18\nlink_far nowhere\np2p 5\n", 0, 0}, /* … and does not */
        {"count 4\nlinks 4\nlink_far hidden\n", 0, 0},          /* a GPU that is not ours to see */
        {"count 4\nlinks 0\n", 0, 0},
        {"count 4\nno_links 3\n", 0, 0},     /* no NVLink: not supported */
        {"count 4\nno_links 999\n", -1, -1}, /* nobody knows */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu_list list;
        ask(rows[i].lines, &list);
        if (gpu_list_nvlinks(&list, 0, 1) != rows[i].neighbour ||
            gpu_list_nvlinks(&list, 0, 2) != rows[i].other)
            fail_msg("row %zu: %d and %d links", i, gpu_list_nvlinks(&list, 0, 1),
                     gpu_list_nvlinks(&list, 0, 2));
        gpu_list_free(&list);
    }
}

static void an_old_driver_says_nothing(void **state) {
    (void)state;
    struct error err = {0};
    struct gpu_list list;
    use_fake("nvml_old", "count 2\n");
    assert_true(gpu_facts_child(&list, 20 * NS_PER_S, &err));
    assert_string_equal(gpu_list_p2p(&list, 0, 1), "");
    assert_int_equal(gpu_list_nvlinks(&list, 0, 1), -1);
    gpu_list_free(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_status_has_its_word, drop_fake),
        cmocka_unit_test_teardown(writes_count_too, drop_fake),
        cmocka_unit_test_teardown(links_lead_to_their_far_end, drop_fake),
        cmocka_unit_test_teardown(an_old_driver_says_nothing, drop_fake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
