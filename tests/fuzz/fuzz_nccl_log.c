/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's log: any bytes, and what is read out of them stays within its bounds. */
#define FUZZ_CORPUS "nccl_log"
#include "bench/nccl_log.c"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct nccl_log *log = mem_zeroed(1, sizeof *log);
    nccl_log_read((const char *)data, size, log);
    if (log->n_pairs < 0 || log->n_pairs > NCCL_LOG_PAIRS || log->collective < -1)
        abort();
    for (int i = 0; i < log->n_pairs; i++) {
        const struct nccl_log_pair *pair = &log->pairs[i];
        if (memchr(pair->transport, '\0', NCCL_LOG_WORD) == NULL || pair->transport[0] == '\0' ||
            pair->from < 0 || pair->to < 0 || nccl_log_channels(pair) < 1)
            abort();
    }
    free(log);
    return 0;
}
