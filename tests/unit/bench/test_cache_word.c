/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "bench/cache_word.h"

enum { MIB = 1 << 20 };

static void by_a_cache_of_known_size(void **state) {
    (void)state;
    assert_string_equal(cache_word(32, 64, 64), "hot");
    assert_string_equal(cache_word(33, 64, 64), "partly");
    assert_string_equal(cache_word(127, 64, 64), "partly");
    assert_string_equal(cache_word(128, 64, 64), "cold");
    assert_string_equal(cache_word(128, 64, 65), "partly");
}

/* 20 windows of 32 KiB and of 1 MiB, each sent and received, and 512 MiB. */
static void by_the_gpu(void **state) {
    (void)state;
    static const struct {
        int major, minor, mib;
        const char *word;
    } rows[] = {
        {9, 0, 1, "hot"},       {9, 0, 40, "partly"},    {9, 0, 128, "cold"},   {10, 0, 40, "hot"},
        {10, 3, 128, "partly"}, {10, 0, 512, "cold"},    {12, 0, 40, "partly"}, {12, 1, 512, "cold"},
        {8, 0, 10, "hot"},      {8, 6, 10, "partly"},    {8, 6, 12, "cold"},    {-1, -1, 1, "hot"},
        {-1, -1, 2, "partly"},  {-1, -1, 256, "partly"}, {-1, -1, 512, "cold"}, {13, 0, 512, "cold"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu_info gpu = {.cc_major = rows[i].major, .cc_minor = rows[i].minor};
        assert_string_equal(cache_word_gpu(&gpu, (double)rows[i].mib * MIB), rows[i].word);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_a_cache_of_known_size),
        cmocka_unit_test(by_the_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
