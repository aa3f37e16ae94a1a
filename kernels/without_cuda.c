/* SPDX-License-Identifier: Apache-2.0 */
/* The launchers of a build without a toolkit: each says so (kernels/launch.h). */
#include "kernels/chase.h"
#include "kernels/clock_probe.h"
#include "kernels/collective.h"
#include "kernels/copy.h"
#include "kernels/corrupt.h"
#include "kernels/delay.h"
#include "kernels/fault.h"
#include "kernels/gate.h"
#include "kernels/launch.h"
#include "kernels/pattern.h"
#include "kernels/pingpong.h"

int kernels_load(void) {
    return KERNELS_WITHOUT_CUDA;
}

int empty_launch(void *stream) {
    (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int count_launch(uint32_t *counter, uint32_t expected, void *stream) {
    (void)counter, (void)expected, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int delay_launch(struct delay_words *words, uint32_t number, uint64_t ns, bool report, void *stream) {
    (void)words, (void)number, (void)ns, (void)report, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int chase_fill_device(void *memory, size_t bytes, size_t stride, void *stream) {
    (void)memory, (void)bytes, (void)stride, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int chase_launch(const void *memory, uint64_t offset, uint32_t hops, bool plain, unsigned blocks,
                 unsigned which, struct chase_reading *out, void *stream) {
    (void)memory, (void)offset, (void)hops, (void)plain, (void)blocks, (void)which, (void)out, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int pattern_fill_device(void *buffer, size_t bytes, uint32_t seed, void *stream) {
    (void)buffer, (void)bytes, (void)seed, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int pattern_check_device(const void *buffer, size_t bytes, uint32_t seed, struct pattern_fault *out,
                         void *stream) {
    (void)buffer, (void)bytes, (void)seed, (void)stream;
    *out = (struct pattern_fault){0};
    return KERNELS_WITHOUT_CUDA;
}

int corrupt_word_device(void *buffer, uint64_t offset, void *stream) {
    (void)buffer, (void)offset, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int corrupt_shift_device(void *buffer, uint64_t offset, void *stream) {
    (void)buffer, (void)offset, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int corrupt_swap_device(void *a, void *b, size_t bytes, void *stream) {
    (void)a, (void)b, (void)bytes, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int copy_kernel_launch(void *to, const void *from, size_t bytes, void *stream) {
    (void)to, (void)from, (void)bytes, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int pingpong_launch(const struct pingpong *plan, bool begins, uint32_t *mine, uint32_t *theirs,
                    struct pingpong_reading *out, void *stream) {
    (void)plan, (void)begins, (void)mine, (void)theirs, (void)out, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int collective_fill_device(void *buffer, uint64_t count, const struct collective_data *data, void *stream) {
    (void)buffer, (void)count, (void)data, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int collective_check_device(const void *buffer, uint64_t count, const struct collective_data *data,
                            struct collective_fault *out, void *stream) {
    (void)buffer, (void)count, (void)data, (void)stream;
    *out = (struct collective_fault){0};
    return KERNELS_WITHOUT_CUDA;
}

int collective_spread_device(void *buffer, uint64_t count, float scale, uint32_t seed, void *stream) {
    (void)buffer, (void)count, (void)scale, (void)seed, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int gate_launch(struct gate_words *words, uint32_t number, uint64_t limit_ns, void *stream) {
    (void)words, (void)number, (void)limit_ns, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int clock_probe_launch(struct clock_reading *out, void *stream) {
    (void)out, (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int fault_spin_forever(void *stream) {
    (void)stream;
    return KERNELS_WITHOUT_CUDA;
}

int fault_bad_address(void *stream) {
    (void)stream;
    return KERNELS_WITHOUT_CUDA;
}
