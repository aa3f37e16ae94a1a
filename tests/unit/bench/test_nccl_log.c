/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's log, of several versions, cut off, and hostile. */
#include "unit/unit.h"

#include "bench/nccl_log.h"

#include <stdlib.h>
#include <string.h>

static struct nccl_log read_text(const char *text) {
    struct nccl_log log;
    nccl_log_read(text, strlen(text), &log);
    return log;
}

#define AT "node:4242:4250 [0] NCCL INFO "

static void threads_over_p2p(void **state) {
    (void)state;
    struct nccl_log log =
        read_text(AT "Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer\n" AT
                     "Channel 01/0 : 0[0] -> 1[1] via P2P/direct pointer\n" AT
                     "Channel 00/1 : 0[0] -> 1[1] via P2P/direct pointer\n"
                     "node:4242:4251 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM/read\n" AT
                     "Channel 00/24 : 0 1\n" AT
                     "24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p "
                     "channels per peer\n");
    assert_int_equal(log.n_pairs, 2);
    assert_int_equal(nccl_log_channels(&log.pairs[0]), 2);
    assert_string_equal(log.pairs[0].transport, "P2P/direct");
    assert_int_equal(log.pairs[1].from, 1);
    assert_int_equal(log.pairs[1].to, 0);
    assert_string_equal(log.pairs[1].transport, "P2P/CUMEM/read");
    assert_int_equal(log.collective, 24);
    assert_int_equal(log.nvls, 16);
    assert_int_equal(log.peer, 32);
}

static void older_and_other_ways(void **state) {
    (void)state;
    struct nccl_log log = read_text(AT "Channel 00 : 0[1b000] -> 1[1c000] via SHM/direct/direct\n" AT
                                       "Channel 01 : 0[1b000] -> 1[1c000] via P2P/IPC\n" AT
                                       "Channel 02/0 : 3[3] -> 4[4] [send] via NET/IB/0(3)/GDRDMA\n" AT
                                       "Channel 02/0 : 2[2] -> 3[3] [receive] via NET/IB/0\n" AT
                                       "2 coll channels, 2 p2p channels, 2 p2p channels per peer\n");
    assert_int_equal(log.n_pairs, 2);
    assert_string_equal(log.pairs[0].transport, "SHM/direct/direct");
    assert_true(log.pairs[0].mixed);
    assert_string_equal(log.pairs[1].transport, "NET/IB/0(3)/GDRDMA");
    assert_int_equal(log.collective, 2);
    assert_int_equal(log.nvls, -1);
}

static void what_is_not_understood(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "\n\n\n",
        "Channel ",
        "Channel 00/0 : 0[0] ->",
        "Channel 00/0 : 0[0] -> 1[1] via ",
        "Channel 99999999999999999999/0 : 0[0] -> 1[1] via P2P",
        "Channel -1/0 : 0[0] -> 1[1] via P2P",
        "Channel 0/0 : 0[0 -> 1[1] via P2P",
        "Channel 0/0 : 99999[0] -> 1[1] via P2P",
        "coll channels",
        "x coll channels",
        "99999999 coll channels",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct nccl_log log = read_text(texts[i]);
        assert_int_equal(log.n_pairs, 0);
        assert_int_equal(log.collective, -1);
    }
}

/* Long words, zero bytes, more pairs than there is room for. */
static void hostile(void **state) {
    (void)state;
    struct nccl_log log;
    size_t size = 1 << 20, used = 0;
    char *text = malloc(size);
    assert_non_null(text);
    for (int from = 0; from < 40; from++)
        for (int to = 0; to < 40; to++)
            used += (size_t)snprintf(text + used, size - used, "Channel 127/0 : %d[%d] -> %d[%d] via %s\n",
                                     from, from, to, to,
                                     "P2P/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    nccl_log_read(text, used, &log);
    assert_int_equal(log.n_pairs, NCCL_LOG_PAIRS);
    assert_int_equal(strlen(log.pairs[0].transport), NCCL_LOG_WORD - 1);
    memset(text, 'C', size);
    memcpy(text + 100, "Channel 00/0 : 0[0] -> 1[1] via P2P", 35);
    nccl_log_read(text, size, &log);
    memset(text, 0, size);
    nccl_log_read(text, size, &log);
    assert_int_equal(log.n_pairs, 0);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_over_p2p),
        cmocka_unit_test(older_and_other_ways),
        cmocka_unit_test(what_is_not_understood),
        cmocka_unit_test(hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
