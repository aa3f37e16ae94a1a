/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gate.h"
#include "base/mem.h"
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

struct gpu_gate {
    struct gate_words *words; /* pinned: read and written by the device */
    uint32_t number;          /* of the last closing */
    int64_t limit_ns;
};

bool gpu_gate_make(struct gpu_gate **out, struct error *err) {
    *out = NULL;
    void *words = NULL;
    if (!gpu_host_alloc(sizeof(struct gate_words), &words, err))
        return RELAY(err);
    memset(words, 0, sizeof(struct gate_words));
    *out = mem_zeroed(1, sizeof **out);
    (*out)->words = words;
    return true;
}

void gpu_gate_free(struct gpu_gate *gate) {
    if (gate == NULL)
        return;
    gpu_gate_open(gate); /* a kernel that still waits must not outlive its words */
    gpu_host_free(gate->words);
    free(gate);
}

bool gpu_gate_close(struct gpu_gate *gate, gpu_stream stream, int64_t limit_ns, struct error *err) {
    gate->number++;
    gate->limit_ns = limit_ns;
    return gpu_gate_join(gate, stream, err) || RELAY(err);
}

bool gpu_gate_join(struct gpu_gate *gate, gpu_stream stream, struct error *err) {
    return gpu_check(gate_launch(gate->words, gate->number, (uint64_t)gate->limit_ns, stream),
                     "cannot close the gate", err) ||
           RELAY(err);
}

void gpu_gate_open(struct gpu_gate *gate) {
    __atomic_store_n(&gate->words->released, gate->number, __ATOMIC_RELEASE);
}

bool gpu_gate_held(const struct gpu_gate *gate, struct error *err) {
    if (gate->number == 0 || __atomic_load_n(&gate->words->gave_up, __ATOMIC_ACQUIRE) != gate->number)
        return true;
    return FAIL(
        err, ERROR_GPU,
        "gate: it gave up after %.1f s because what is timed was not queued by then (a call that waits for the "
        "device, or a host too slow)",
        (double)gate->limit_ns / 1e9);
}
