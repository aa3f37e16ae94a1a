/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/chase_common.h"

#include <stdio.h>
#include <string.h>

bool chase_is_wanted(const struct case_context *context) {
    return case_number(context, "hops") > 0;
}

bool chase_plan(const struct case_context *context, struct gpu_chase *out, struct error *err) {
    *out = (struct gpu_chase){.bytes = (size_t)case_number(context, "bytes"),
                              .stride = (size_t)case_number(context, "stride"),
                              .hops = (uint32_t)case_number(context, "hops"),
                              .plain = strcmp(case_text(context, "loads"), "plain") == 0};
    if (out->stride < 8 || out->stride % 8 != 0 || out->bytes % out->stride != 0)
        return FAIL(err, ERROR_DATA, "the buffer of %zu bytes is no multiple of the stride, %zu", out->bytes,
                    out->stride);
    return true;
}

bool chase_sweep(const struct case_context *context, struct chase_run *run, struct error *err) {
    return gpu_chase_sweep(&run->chase, &context->gpu, run->stream, &run->last, err) || RELAY(err);
}

bool chase_take_samples(struct case_context *context, struct chase_run *run, struct samples *out,
                        struct error *err) {
    for (int i = 0; i < context->wanted_samples && run->last.wrong == 0; i++) {
        if (!chase_sweep(context, run, err))
            return RELAY(err);
        samples_add(out, run->last.ns);
        js_append_number(context->sm_mhz, run->last.sm_mhz);
    }
    if (out->count == 0) /* astray in the warm-up already: verify() says so, about a sample */
        samples_add(out, run->last.ns);
    js_set_int(context->extra, "multiprocessors", run->last.multiprocessors);
    return true;
}

void chase_verify(const struct chase_run *run, struct verification *out) {
    const struct gpu_chase_result *last = &run->last;
    snprintf(out->what, sizeof out->what, "ends of the pointer chases");
    out->checked_bytes = last->hops * sizeof(uint64_t);
    out->bad = (uint64_t)last->wrong;
    out->first_bad_offset = last->wrong_at;
    out->expected = (uint32_t)last->expected;
    out->found = (uint32_t)last->found;
}
