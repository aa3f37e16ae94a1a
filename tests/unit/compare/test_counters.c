/* SPDX-License-Identifier: Apache-2.0 */
/* Links under load and PCIe errors of made runs: what is a change for the worse, and what is not. */
#include "unit/compare/made_run.h"

#include "compare/compare.h"

#define STATE(members) ",\"gpu_state\":{\"" MADE_GPU "\":{" members "}}"
#define LINK(gen, width) STATE("\"link\":{\"gen\":" #gen ",\"width\":" #width "}")
#define KEY "gpu." MADE_GPU "."

static struct comparison compared(struct made before, struct made after) {
    struct error err = {0};
    struct comparison c;
    const struct compare_options o = {0};
    before.number = 1;
    after.number = 2;
    struct run x = made_run(before);
    struct run y = made_run(after);
    if (!compare_runs(&x, 1, &y, 1, &o, &c, &err))
        fail_msg("%s", err.text);
    run_free(&x);
    run_free(&y);
    return c;
}

/* `key` is the one change for the worse; NULL: there is none. `note`: words of a note, NULL none wanted. */
static void expect(const char *before, const char *after, const char *key, const char *was, const char *is,
                   const char *note) {
    struct comparison c = compared((struct made){.more = before}, (struct made){.more = after});
    assert_int_equal(c.n_worse, key == NULL ? 0 : 1);
    if (key != NULL) {
        assert_string_equal(c.worse[0].key, key);
        assert_string_equal(c.worse[0].before, was);
        assert_string_equal(c.worse[0].after, is);
        assert_int_equal(comparison_exit_status(&c, false), 1);
    } else {
        assert_int_equal(comparison_exit_status(&c, false), 0);
    }
    bool noted = false;
    for (size_t i = 0; i < c.notes.count; i++)
        noted = noted || (note != NULL && strstr(c.notes.items[i], note) != NULL);
    assert_int_equal(noted, note != NULL);
    comparison_free(&c);
}

static void links(void **state) {
    (void)state;
    expect(LINK(5, 16), LINK(5, 16), NULL, "", "", NULL);
    expect(LINK(5, 16), LINK(4, 16), KEY "link_under_load.gen", "5", "4", NULL);
    expect(LINK(5, 16), LINK(5, 8), KEY "link_under_load.width", "16", "8", NULL);
    expect(LINK(4, 8), LINK(5, 16), NULL, "", "", NULL);
    expect(NULL, LINK(1, 1), NULL, "", "", NULL);
    expect(LINK(5, 16), NULL, NULL, "", "", NULL);
    expect(LINK(5, 16), LINK(0, 16), NULL, "", "", NULL); /* no generation: no fact */
    expect(LINK(5, 16), STATE("\"link\":\"gone\",\"aer\":[1],\"replays\":{}"), NULL, "", "", NULL);
    /* What NVML says after the item may be an idle link's. */
    expect(STATE("\"pcie_gen\":5"), STATE("\"pcie_gen\":1"), NULL, "", "", NULL);
}

static void errors(void **state) {
    (void)state;
    expect(STATE("\"replays\":0"), STATE("\"replays\":0"), NULL, "", "", NULL);
    expect(STATE("\"replays\":0"), STATE("\"replays\":1"), KEY "replays", "0 in 24 items", "24 in 24 items",
           NULL);
    expect(STATE("\"replays\":2"), STATE("\"replays\":3"), NULL, "", "", "replays: 72 in 24 items in AFTER");
    expect(STATE("\"replays\":2"), STATE("\"replays\":5"), KEY "replays", "48 in 24 items", "120 in 24 items",
           NULL);
    expect(STATE("\"replays\":3"), STATE("\"replays\":0"), NULL, "", "", NULL);
    expect(STATE("\"replays\":null"), STATE("\"replays\":1"), NULL, "", "", "not known in BEFORE");
    expect(NULL, STATE("\"replays\":1"), NULL, "", "", "not known in BEFORE");
    expect(STATE("\"replays\":0"), STATE("\"replays\":-7"), NULL, "", "", NULL);
    expect(STATE("\"aer\":{\"correctable\":0}"), STATE("\"aer\":{\"correctable\":2}"), KEY "aer.correctable",
           "0 in 24 items", "48 in 24 items", NULL);
    expect(STATE("\"aer\":{\"nonfatal\":0}"), STATE("\"aer\":{\"nonfatal\":1}"), KEY "aer.nonfatal",
           "0 in 24 items", "24 in 24 items", NULL);
    expect(STATE("\"aer\":{\"fatal\":0}"), STATE("\"aer\":{\"fatal\":1}"), KEY "aer.fatal", "0 in 24 items",
           "24 in 24 items", NULL);
    expect(STATE("\"replays\":0"), STATE("\"replays\":9223372036854775807"), KEY "replays", "0 in 24 items",
           "26388279066624 in 24 items", NULL); /* a hostile file overflows nothing */
}

static void heat_is_told(void **state) {
    (void)state;
    expect(NULL, STATE("\"throttled_us\":{\"sw_thermal\":500,\"hw_thermal\":0}"), NULL, "", "",
           "held down by heat for 12.0 ms");
    expect(NULL, STATE("\"throttled_us\":{\"hw_power_brake\":250}"), NULL, "", "",
           "a power brake for 6.0 ms");
    expect(NULL, STATE("\"throttled_us\":{\"sw_power_cap\":500}"), NULL, "", "", NULL);
}

static void unsettled_links_and_other_machines(void **state) {
    (void)state;
    struct comparison c =
        compared((struct made){.more = LINK(5, 16)}, (struct made){.more = LINK(3, 16), .machine = "m2"});
    assert_int_equal(c.n_worse, 0);
    comparison_free(&c);
    c = compared((struct made){.more = LINK(5, 16)},
                 (struct made){.more = LINK(3, 16), .flags = "\"guest\",\"not-steady\""});
    assert_int_equal(c.n_worse, 0);
    comparison_free(&c);
    struct run run = made_run((struct made){.number = 1, .more = LINK(5, 16)});
    const struct run_gpu *gpu = run_find_gpu(&run, MADE_GPU);
    assert_non_null(gpu);
    assert_int_equal(gpu->link_gen, 5);
    assert_int_equal(gpu->link_width, 16);
    assert_null(run_find_gpu(&run, "GPU-x"));
    run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links),
        cmocka_unit_test(errors),
        cmocka_unit_test(heat_is_told),
        cmocka_unit_test(unsettled_links_and_other_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
