/* SPDX-License-Identifier: Apache-2.0 */
/* The data that says where it belongs, on the host: what is damaged is found, at its place, and nothing else.
 */
#include "kernels/corrupt.h"
#include "kernels/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

enum { BYTES = 1 << 20, SEED = 12345 };

static struct pattern_fault check(const void *buffer, size_t bytes, uint32_t seed) {
    struct pattern_fault fault;
    memset(&fault, 0xff, sizeof fault);
    pattern_check_host(buffer, bytes, seed, &fault);
    return fault;
}

static uint32_t *filled(size_t bytes, uint32_t seed) {
    uint32_t *buffer = test_malloc(bytes);
    memset(buffer, 0, bytes);
    pattern_fill_host(buffer, bytes, seed);
    return buffer;
}

static void fill_is_the_function(void **state) {
    (void)state;
    static const size_t sizes[] = {4, 8, 60, 4096, 16380, 16384, 16388, 100000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint32_t *buffer = filled(sizes[s], SEED);
        for (size_t i = 0; i < sizes[s] / 4; i++)
            assert_int_equal(buffer[i], pattern_word(i, SEED));
        assert_int_equal(check(buffer, sizes[s], SEED).bad, 0);
        test_free(buffer);
    }
}

static void never_past_the_end(void **state) {
    (void)state;
    uint32_t words[9];
    memset(words, 0x5a, sizeof words);
    pattern_fill_host(words, 32, SEED);
    assert_int_equal(words[8], 0x5a5a5a5a);
    assert_int_equal(check(words, 0, SEED).bad, 0);
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void words_differ(void **state) {
    (void)state;
    enum { COUNT = 1 << 18 };
    uint32_t *words = filled(COUNT * sizeof *words, SEED);
    qsort(words, COUNT, sizeof *words, ascending);
    for (size_t i = 1; i < COUNT; i++)
        assert_true(words[i - 1] != words[i]);
    test_free(words);
    /* 16 GiB further on, under another seed: another word. */
    for (uint64_t i = 0; i < 1000; i++) {
        assert_true(pattern_word(i, SEED) != pattern_word(i + (UINT64_C(1) << 32), SEED));
        assert_true(pattern_word(i, SEED) != pattern_word(i, SEED + 1));
    }
    for (uint32_t buffer = 0; buffer < 8; buffer++)
        assert_true(pattern_seed(SEED, buffer) != pattern_seed(SEED, buffer + 1));
}

static void one_bit(void **state) {
    (void)state;
    static const size_t places[] = {0, 1, 4095, 4096, 4097, BYTES / 4 - 1};
    uint32_t *buffer = filled(BYTES, SEED);
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        size_t at = places[p];
        buffer[at] ^= 1U << 7;
        struct pattern_fault fault = check(buffer, BYTES, SEED);
        assert_int_equal(fault.bad, 1);
        assert_int_equal(fault.first_offset, at * 4);
        assert_int_equal(fault.expected, pattern_word(at, SEED));
        assert_int_equal(fault.found, pattern_word(at, SEED) ^ (1U << 7));
        buffer[at] ^= 1U << 7;
    }
    assert_int_equal(check(buffer, BYTES, SEED).bad, 0);
    test_free(buffer);
}

static void corrupted_word(void **state) {
    (void)state;
    uint32_t *buffer = filled(BYTES, SEED);
    corrupt_word_host(buffer, 65552);
    struct pattern_fault fault = check(buffer, BYTES, SEED);
    assert_int_equal(fault.bad, CORRUPT_WORD_BYTES / 4);
    assert_int_equal(fault.first_offset, 65552);
    assert_int_equal(fault.found, ~fault.expected);
    test_free(buffer);
}

static void shifted_block(void **state) {
    (void)state;
    uint32_t *buffer = filled(BYTES, SEED);
    corrupt_shift_host(buffer, 131072);
    struct pattern_fault fault = check(buffer, BYTES, SEED);
    assert_int_equal(fault.bad, CORRUPT_SHIFT_BYTES / 4);
    assert_int_equal(fault.first_offset, 131072);
    assert_int_equal(fault.found, pattern_word((131072 + CORRUPT_SHIFT_BYTES) / 4 - 4, SEED));
    assert_int_equal(buffer[131072 / 4 + 4], pattern_word(131072 / 4, SEED));
    test_free(buffer);
}

static void exchanged_buffers(void **state) {
    (void)state;
    uint32_t other = pattern_seed(SEED, 1);
    uint32_t *a = filled(BYTES, SEED), *b = filled(BYTES, other);
    corrupt_swap_host(a, b, BYTES);
    struct pattern_fault fault = check(a, BYTES, SEED);
    assert_int_equal(fault.bad, BYTES / 4);
    assert_int_equal(fault.first_offset, 0);
    assert_int_equal(fault.found, pattern_word(0, other));
    assert_int_equal(check(a, BYTES, other).bad, 0);
    assert_int_equal(check(b, BYTES, SEED).bad, 0);
    test_free(a);
    test_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fill_is_the_function), cmocka_unit_test(never_past_the_end),
        cmocka_unit_test(words_differ),         cmocka_unit_test(one_bit),
        cmocka_unit_test(corrupted_word),       cmocka_unit_test(shifted_block),
        cmocka_unit_test(exchanged_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
