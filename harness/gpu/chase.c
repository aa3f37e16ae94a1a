/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/chase.h"

#include "kernels/chase.h"

#include <string.h>

enum { MAX_SM = 1024 };

/* Each multiprocessor begins where the one before it left off, so that no read finds a line that the last
 * sweep of the same multiprocessor left in its L1 cache. */
static uint64_t start_of(const struct gpu_chase *chase, int block) {
    uint64_t elements = chase->bytes / chase->stride;
    return (uint64_t)block * chase->hops % elements * chase->stride;
}

static void judge(const struct gpu_chase *chase, const struct chase_reading *reading, int block,
                  struct gpu_chase_result *out) {
    uint64_t base = (uint64_t)(uintptr_t)chase->memory;
    uint64_t expected = chase_end(start_of(chase, block), chase->hops, chase->bytes, chase->stride);
    if (reading->done == 1 && reading->end == base + expected)
        return;
    if (out->wrong++ == 0) {
        out->wrong_at = (uint64_t)block;
        out->expected = expected;
        out->found = reading->done == 1 ? reading->end - base : UINT64_MAX;
    }
}

void gpu_chase_sum_up(const struct gpu_chase *chase, const struct chase_reading *readings, int blocks,
                      struct gpu_chase_result *out) {
    bool seen[MAX_SM] = {false};
    double ns = 0, cycles = 0;
    *out = (struct gpu_chase_result){0};
    for (int b = 0; b < blocks; b++) {
        const struct chase_reading *r = &readings[b];
        judge(chase, r, b, out);
        ns += (double)r->ns;
        cycles += (double)r->cycles;
        if (r->done == 1 && r->sm < MAX_SM && !seen[r->sm]) {
            seen[r->sm] = true;
            out->multiprocessors++;
        }
    }
    out->hops = (uint64_t)blocks * chase->hops;
    out->ns = out->hops > 0 ? ns / (double)out->hops : 0;
    out->sm_mhz = ns > 0 ? cycles * 1e3 / ns : 0;
}

bool gpu_chase_sweep(const struct gpu_chase *chase, const struct gpu_device *device, gpu_stream stream,
                     struct gpu_chase_result *out, struct error *err) {
    int blocks = device->sm_count < MAX_SM ? device->sm_count : MAX_SM;
    size_t size = (size_t)blocks * sizeof(struct chase_reading);
    void *memory = NULL;
    if (!gpu_host_alloc(size, &memory, err))
        return RELAY(err);
    struct chase_reading *readings = memory;
    memset(readings, 0, size);
    bool good = true;
    for (int b = 0; good && b < blocks; b++)
        good = gpu_check(chase_launch(chase->memory, start_of(chase, b), chase->hops, chase->plain,
                                      (unsigned)blocks, (unsigned)b, &readings[b], stream),
                         "cannot launch a pointer chase", err);
    good = gpu_stream_wait(stream, good ? err : &(struct error){0}) && good;
    if (good)
        gpu_chase_sum_up(chase, readings, blocks, out);
    gpu_host_free(memory);
    return good || RELAY(err);
}
