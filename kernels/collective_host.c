/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/collective.h"

static uint32_t load(const void *buffer, uint64_t i, size_t size) {
    uint32_t bits = 0;
    memcpy(&bits, (const char *)buffer + i * size, size); /* little endian: the low bytes */
    return bits;
}

void collective_fill_host(void *buffer, uint64_t count, const struct collective_data *data) {
    size_t size = collective_size(data->type);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t bits = collective_expected(data, i);
        memcpy((char *)buffer + i * size, &bits, size);
    }
}

void collective_check_host(const void *buffer, uint64_t count, const struct collective_data *data,
                           struct collective_fault *out) {
    size_t size = collective_size(data->type);
    *out = (struct collective_fault){0};
    for (uint64_t i = 0; i < count; i++) {
        uint32_t expected = collective_expected(data, i), found = load(buffer, i, size);
        if (found == expected)
            continue;
        if (out->bad++ == 0) {
            out->first_offset = i * size;
            out->expected = expected;
            out->found = found;
        }
    }
}
