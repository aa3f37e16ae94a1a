/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "base/mem.h"
#include "bench/host_chase.h"

#include <stdlib.h>
#include <string.h>

static void every_line_once(void **state) {
    (void)state;
    static const uint64_t seeds[] = {0, 1, 12345, UINT64_MAX};
    for (unsigned bits = 1; bits <= 14; bits++)
        for (size_t s = 0; s < 4; s++) {
            size_t lines = (size_t)1 << bits;
            unsigned char *seen = mem_zeroed(lines, 1);
            for (size_t step = 0; step < lines; step++) {
                uint64_t line = chase_line(step, bits, seeds[s]);
                assert_true(line < lines);
                assert_int_equal(seen[line]++, 0);
            }
            free(seen);
        }
}

/* A prefetcher lives on repeated distances: hardly one may come twice in a row, and none may be frequent. */
static void no_stride(void **state) {
    (void)state;
    enum { BITS = 14, LINES = 1 << BITS };
    unsigned *distances = mem_zeroed(2 * LINES, sizeof *distances);
    unsigned most = 0, repeated = 0;
    int64_t last = 0;
    for (uint64_t step = 1; step < LINES; step++) {
        int64_t d = (int64_t)chase_line(step, BITS, 7) - (int64_t)chase_line(step - 1, BITS, 7);
        unsigned count = ++distances[d + LINES];
        most = count > most ? count : most;
        repeated += d == last ? 1 : 0;
        last = d;
    }
    free(distances);
    assert_true(most < LINES / 64);
    assert_true(repeated < LINES / 64);
}

static void another_order_for_each_seed(void **state) {
    (void)state;
    unsigned same = 0;
    for (uint64_t step = 0; step < 4096; step++)
        same += chase_line(step, 12, 1) == chase_line(step, 12, 2) ? 1 : 0;
    assert_true(same < 64);
}

static void *filled(unsigned bits, uint64_t seed) {
    void *buffer = NULL;
    assert_int_equal(posix_memalign(&buffer, 4096, (size_t)CHASE_LINE << bits), 0);
    assert_int_equal(chase_fill(buffer, bits, seed, UINT64_MAX), UINT64_C(1) << bits);
    return buffer;
}

static void *address(void *buffer, uint64_t line) {
    return (char *)buffer + line * CHASE_LINE;
}

static void arrives_where_it_must(void **state) {
    (void)state;
    enum { BITS = 10 };
    void *buffer = filled(BITS, 99);
    void *start = address(buffer, chase_line(0, BITS, 99));
    static const uint64_t steps[] = {0, 1, 2, 500, 1023};
    for (size_t i = 0; i < 5; i++)
        assert_ptr_equal(chase_walk(start, steps[i]), address(buffer, chase_line(steps[i], BITS, 99)));
    assert_ptr_equal(chase_walk(start, 1 << BITS), start); /* one cycle through all */
    for (uint64_t n = 1; n < 1 << BITS; n++)
        assert_ptr_not_equal(chase_walk(start, n), start);
    free(buffer);
}

static void a_lost_line_shows(void **state) {
    (void)state;
    enum { BITS = 10 };
    void *buffer = filled(BITS, 5);
    void *start = address(buffer, chase_line(0, BITS, 5));
    chase_shorten(buffer, chase_line(100, BITS, 5));
    assert_ptr_equal(chase_walk(start, 100), address(buffer, chase_line(100, BITS, 5)));
    assert_ptr_equal(chase_walk(start, 101), address(buffer, chase_line(102, BITS, 5)));
    free(buffer);
}

/* Of a long order only what is walked is written; it arrives at the same lines, and nothing else is touched.
 */
static void only_what_is_walked(void **state) {
    (void)state;
    enum { BITS = 12, LINES = 1 << BITS, STEPS = 300 };
    void *whole = filled(BITS, 31);
    unsigned char *part = NULL;
    assert_int_equal(posix_memalign((void **)&part, 4096, (size_t)CHASE_LINE * LINES), 0);
    memset(part, 0xee, (size_t)CHASE_LINE * LINES);
    uint64_t length = chase_fill(part, BITS, 31, STEPS);
    assert_true(length == STEPS || length == LINES); /* where lines cannot be flushed */
    void *start = address(part, chase_line(0, BITS, 31));
    for (uint64_t n = 0; n < STEPS; n++)
        assert_int_equal((unsigned char *)chase_walk(start, n) - part,
                         (unsigned char *)chase_walk(address(whole, chase_line(0, BITS, 31)), n) -
                             (unsigned char *)whole);
    assert_ptr_equal(chase_walk(start, length), start);
    size_t written = 0;
    for (size_t line = 0; line < LINES; line++)
        written += part[line * CHASE_LINE + 7] != 0xee ? 1 : 0; /* the highest byte of an address */
    assert_int_equal(written, length);
    free(part);
    free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_once),
        cmocka_unit_test(no_stride),
        cmocka_unit_test(another_order_for_each_seed),
        cmocka_unit_test(arrives_where_it_must),
        cmocka_unit_test(a_lost_line_shows),
        cmocka_unit_test(only_what_is_walked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
