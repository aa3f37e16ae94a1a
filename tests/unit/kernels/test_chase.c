/* SPDX-License-Identifier: Apache-2.0 */
/* The chain as the host lays it, and what is made of a sweep's readings. */
#include "unit/unit.h"

#include "gpu/chase.h"
#include "kernels/chase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 16, STRIDE = 128, ELEMENTS = BYTES / STRIDE, BLOCKS = 5, HOPS = 300 };

static const uint64_t *follow(const uint64_t *p) {
    return (const uint64_t *)(uintptr_t)*p;
}

static void chain_visits_all_lines(void **state) {
    (void)state;
    uint64_t *buffer = test_malloc(BYTES);
    bool seen[ELEMENTS] = {false};
    chase_fill_host(buffer, BYTES, STRIDE);
    const uint64_t *p = buffer;
    for (int i = 0; i < ELEMENTS; i++) {
        uint64_t offset = (uint64_t)((const char *)p - (const char *)buffer);
        assert_true(offset < BYTES && offset % STRIDE == 0);
        assert_false(seen[offset / STRIDE]);
        seen[offset / STRIDE] = true;
        p = follow(p);
    }
    assert_ptr_equal(p, buffer); /* round once, and back */
    test_free(buffer);
}

static void end_is_where_the_chain_leads(void **state) {
    (void)state;
    static const uint32_t hops[] = {0, 1, ELEMENTS - 1, ELEMENTS, ELEMENTS + 1, 10 * ELEMENTS + 7};
    static const uint64_t starts[] = {0, STRIDE, 8, BYTES - STRIDE, BYTES - 8};
    uint64_t *buffer = test_malloc(BYTES);
    chase_fill_host(buffer, BYTES, STRIDE);
    for (size_t h = 0; h < sizeof hops / sizeof *hops; h++)
        for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
            const uint64_t *p = buffer + starts[s] / 8;
            for (uint32_t i = 0; i < hops[h]; i++)
                p = follow(p);
            assert_int_equal((const char *)p - (const char *)buffer,
                             chase_end(starts[s], hops[h], BYTES, STRIDE));
        }
    test_free(buffer);
}

static void end_with_many_hops(void **state) {
    (void)state;
    /* Far beyond 32 bits of bytes. */
    assert_int_equal(chase_end(0, UINT32_MAX, (uint64_t)1 << 40, 1 << 20), (uint64_t)UINT32_MAX % (1 << 20)
                                                                               << 20);
}

/* ---- readings ---- */

static const struct gpu_chase plan = {
    .memory = (const void *)(uintptr_t)0x10000, .bytes = BYTES, .stride = STRIDE, .hops = HOPS};

/* A sweep in which all went well: 1000 ns a hop, at 1500 MHz. Each block begins where the last one ended. */
static void good_sweep(struct chase_reading readings[BLOCKS]) {
    uint64_t at = 0;
    for (unsigned b = 0; b < BLOCKS; b++) {
        at = chase_end(at, HOPS, BYTES, STRIDE);
        readings[b] = (struct chase_reading){
            .ns = 1000 * HOPS, .cycles = 1500 * HOPS, .end = 0x10000 + at, .sm = b, .done = 1};
    }
}

static void sum_of_a_good_sweep(void **state) {
    (void)state;
    struct chase_reading readings[BLOCKS];
    struct gpu_chase_result result;
    good_sweep(readings);
    readings[1].ns += 500 * HOPS; /* one multiprocessor farther away: 1500 ns */
    readings[3].sm = 2;           /* two blocks on one multiprocessor */
    gpu_chase_sum_up(&plan, readings, BLOCKS, &result);
    assert_int_equal(result.wrong, 0);
    assert_int_equal(result.hops, BLOCKS * HOPS);
    assert_int_equal(result.multiprocessors, BLOCKS - 1);
    assert_true(fabs(result.ns - 1100) < 1e-9);
    assert_true(fabs(result.sm_mhz - 1500 / 1.1) < 1e-9);
}

static void chases_that_went_astray(void **state) {
    (void)state;
    struct chase_reading readings[BLOCKS];
    struct gpu_chase_result result;
    good_sweep(readings);
    readings[2].end += STRIDE; /* a hop too many */
    readings[4].done = 0;      /* never ran */
    gpu_chase_sum_up(&plan, readings, BLOCKS, &result);
    assert_int_equal(result.wrong, 2);
    assert_int_equal(result.wrong_at, 2);
    assert_int_equal(result.found - result.expected, STRIDE);
    good_sweep(readings);
    memset(&readings[0], 0, sizeof *readings);
    gpu_chase_sum_up(&plan, readings, BLOCKS, &result);
    assert_int_equal(result.wrong, 1);
    assert_int_equal(result.wrong_at, 0);
    assert_int_equal(result.multiprocessors, BLOCKS - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_visits_all_lines),  cmocka_unit_test(end_is_where_the_chain_leads),
        cmocka_unit_test(end_with_many_hops),      cmocka_unit_test(sum_of_a_good_sweep),
        cmocka_unit_test(chases_that_went_astray),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
