/* SPDX-License-Identifier: Apache-2.0 */
/* What host.frequency makes of two chains that do not agree. The linker puts the function below in the place
 * of chain_ghz(). */
#include "unit/unit.h"

#include "bench/host_chain.h"
#include "run/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEGMENTS = 40, SAMPLES = 2, CALLS = SEGMENTS * SAMPLES }; /* of one chain in one try */

static double adds[3]; /* GHz by add in the first try and those after it; imul says 3 in all */
static int calls;

double __wrap_chain_ghz(void (*chain)(int), int loops, int cycles);
double __wrap_chain_ghz(void (*chain)(int), int loops, int cycles) {
    (void)loops;
    (void)cycles;
    if (chain != chain_add)
        return 3.0;
    int attempt = calls++ / CALLS;
    return adds[attempt < 2 ? attempt : 2];
}

struct outcome {
    bool good;
    int tries;
    bool flagged;
    size_t count;
    double first;
    struct error err;
};

static struct outcome measured(double first, double second, double third, bool guest) {
    struct outcome o = {0};
    struct samples samples = {0};
    struct case_context context = {
        .params = js_new_object(),
        .attributes = js_new_object(),
        .extra = js_new_object(),
        .flags = js_new_array(),
        .wanted_samples = SAMPLES,
    };
    adds[0] = first;
    adds[1] = second;
    adds[2] = third;
    calls = 0;
    js_set_string((js *)context.params, "cores", "one");
    js_set_string((js *)context.params, "load", "none");
    if (guest)
        js_set_string((js *)context.attributes, "guest", "kvm");
    o.good = bench_find("host.frequency")->sample(&context, &samples, &o.err);
    o.tries = calls / CALLS;
    for (size_t i = 0; i < js_length(context.flags); i++)
        if (strcmp(js_string(js_at(context.flags, i), ""), "chains-disagree") == 0)
            o.flagged = true;
    assert_int_equal(js_get_int(context.extra, "tries", 1), o.tries);
    o.count = samples.count;
    o.first = samples.count > 0 ? samples.values[0] : NAN;
    free(samples.values);
    js_free((js *)context.params);
    js_free((js *)context.attributes);
    js_free(context.extra);
    js_free(context.flags);
    return o;
}

static void here_or_skip(void) {
    if (chain_unknown() != NULL)
        skip_because("no chains for this processor");
}

static void chains_that_agree(void **state) {
    (void)state;
    here_or_skip();
    struct outcome o = measured(2.99, 0, 0, false);
    assert_true(o.good && !o.flagged);
    assert_int_equal(o.tries, 1);
    assert_int_equal(o.count, SAMPLES);
    assert_true(o.first == 3.0);
    o = measured(2.85, 0, 0, false);
    assert_true(o.good && o.flagged);
    assert_int_equal(o.tries, 1);
}

/* Only the try that is taken counts, for the samples and for the flag. */
static void a_neighbour_that_goes(void **state) {
    (void)state;
    here_or_skip();
    struct outcome o = measured(2.5, 2.99, 0, false);
    assert_true(o.good && !o.flagged);
    assert_int_equal(o.tries, 2);
    assert_int_equal(o.count, SAMPLES);
    o = measured(2.5, 4.0, 2.8, false);
    assert_true(o.good && o.flagged);
    assert_int_equal(o.tries, 3);
}

static void a_neighbour_that_stays(void **state) {
    (void)state;
    here_or_skip();
    struct outcome o = measured(2.5, 2.5, 2.567, false);
    assert_false(o.good);
    assert_int_equal(o.tries, 3);
    assert_int_equal(o.count, 0);
    assert_non_null(strstr(o.err.text, "3 tries: 2.567 GHz by add, 3.000 GHz by imul"));
    o = measured(2.5, 2.5, 2.567, true);
    assert_true(o.good && o.flagged);
    assert_int_equal(o.tries, 3);
    assert_int_equal(o.count, SAMPLES);
    assert_true(o.first == 3.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_that_agree),
        cmocka_unit_test(a_neighbour_that_goes),
        cmocka_unit_test(a_neighbour_that_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
