/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "bench/host_stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 5 };

static void parts_share_without_overlap(void **state) {
    (void)state;
    enum { N = 3 };
    char *buffer = NULL; /* only addresses are made */
    struct stream_part parts[N];
    size_t bytes = (size_t)10 * STREAM_BLOCK + 77;
    for (int i = 0; i < N; i++) {
        stream_share(buffer, bytes, N, i, 1, &parts[i]);
        assert_int_equal(parts[i].bytes, 3 * STREAM_BLOCK);
        assert_int_equal((uintptr_t)parts[i].data, (uintptr_t)i * 3 * STREAM_BLOCK);
    }
    assert_int_not_equal(parts[0].seed, parts[1].seed); /* exchanged parts would show */
    stream_share(buffer, STREAM_BLOCK, 64, 63, 1, &parts[0]);
    assert_int_equal(parts[0].bytes, 0); /* more cores than blocks: nothing to read, no harm */
    assert_true(stream_read(&parts[0], 1000) == 0);
}

struct made {
    unsigned char *buffer;
    struct stream_part part;
};

static struct made make(void) {
    struct made m;
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 4096, (size_t)2 * BLOCKS * STREAM_BLOCK), 0);
    m.buffer = memory;
    stream_share(m.buffer, (size_t)2 * BLOCKS * STREAM_BLOCK, 2, 1, 42, &m.part);
    stream_fill(&m.part);
    return m;
}

/* Until each block was read at least once. */
static void read_all(struct made *m) {
    while (m->part.read < m->part.bytes)
        assert_true(stream_read(&m->part, 1) > 0);
}

static struct verification verdict(struct made *m) {
    struct verification v = {0};
    stream_check(&m->part);
    stream_verdict(&m->part, m->buffer, &v);
    free(m->part.sums);
    free(m->buffer);
    return v;
}

static void good_data(void **state) {
    (void)state;
    struct made m = make();
    read_all(&m);
    struct verification v = verdict(&m);
    assert_int_equal(v.bad, 0);
    assert_true(v.checked_bytes >= (uint64_t)BLOCKS * STREAM_BLOCK);
    assert_string_equal(v.what, "host buffer");
}

static void a_wrong_bit(void **state) {
    (void)state;
    struct made m = make();
    size_t at = 3 * STREAM_BLOCK + 4096;
    m.part.data[at] ^= 4;
    read_all(&m);
    assert_true(m.part.wrong > 0);
    assert_int_equal(m.part.first_wrong, 3);
    struct verification v = verdict(&m);
    assert_int_equal(v.bad, 1);
    assert_int_equal(v.first_bad_offset, BLOCKS * STREAM_BLOCK + at); /* from the buffer's start */
    assert_int_equal(v.expected ^ v.found, 4);
}

/* Wrong while it was read, right afterwards: a fault of the way, not of the memory. */
static void a_passing_fault(void **state) {
    (void)state;
    struct made m = make();
    m.part.data[2 * STREAM_BLOCK] ^= 1;
    read_all(&m);
    m.part.data[2 * STREAM_BLOCK] ^= 1;
    struct verification v = verdict(&m);
    assert_true(v.bad > 0);
    assert_int_equal(v.first_bad_offset, (BLOCKS + 2) * STREAM_BLOCK);
    assert_non_null(strstr(v.what, "sums"));
}

static void huge_pages(void **state) {
    (void)state;
    static const char smaps[] = "7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n"
                                "Size:               4096 kB\n"
                                "AnonHugePages:      2048 kB\n"
                                "Private_Hugetlb:       0 kB\n"
                                "7f0000400000-7f0000800000 rw-p 00000000 00:00 0 [anon:x]\n"
                                "Size:               4096 kB\n"
                                "AnonHugePages:      4096 kB\n"
                                "VmFlags: rd wr\n";
    assert_true(stream_huge_share(smaps, 0x7f0000000000, 1 << 20) == 0.5);
    assert_true(stream_huge_share(smaps, 0x7f0000400000, 4 << 20) == 1.0);
    assert_true(stream_huge_share(smaps, 0x7f0000000000, 8 << 20) == 0.75); /* both mappings */
    assert_true(isnan(stream_huge_share(smaps, 0x1000, 4096)));
    assert_true(isnan(stream_huge_share("", 0, 1)));
    assert_true(isnan(stream_huge_share("0-ffff rw\nSize: many kB\nAnonHugePages: -\n", 0, 1)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_share_without_overlap),
        cmocka_unit_test(good_data),
        cmocka_unit_test(a_wrong_bit),
        cmocka_unit_test(a_passing_fault),
        cmocka_unit_test(huge_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
