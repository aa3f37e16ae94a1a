/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/host_stream.h"

#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t words __attribute__((vector_size(16)));

void stream_share(void *buffer, size_t bytes, int n, int index, uint32_t seed, struct stream_part *out) {
    size_t each = bytes / (size_t)n / STREAM_BLOCK * STREAM_BLOCK;
    *out = (struct stream_part){.data = (unsigned char *)buffer + (size_t)index * each,
                                .bytes = each,
                                .seed = pattern_seed(seed, (uint32_t)index)};
}

/* Eight streams of additions, so that loads are what it waits for. */
__attribute__((no_sanitize("address", "undefined"))) static uint64_t block_sum(const unsigned char *data) {
    const words *p = (const words *)(const void *)data;
    words sums[8] = {{0}};
    for (size_t i = 0; i < STREAM_BLOCK / sizeof(words); i += 8) {
        sums[0] += p[i];
        sums[1] += p[i + 1];
        sums[2] += p[i + 2];
        sums[3] += p[i + 3];
        sums[4] += p[i + 4];
        sums[5] += p[i + 5];
        sums[6] += p[i + 6];
        sums[7] += p[i + 7];
    }
    words all = (sums[0] + sums[1]) + (sums[2] + sums[3]) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    return all[0] + all[1];
}

void stream_fill(struct stream_part *part) {
    size_t n = part->bytes / STREAM_BLOCK;
    part->sums = mem_zeroed(n > 0 ? n : 1, sizeof *part->sums);
    pattern_fill_host(part->data, part->bytes, part->seed);
    for (size_t b = 0; b < n; b++)
        part->sums[b] = block_sum(part->data + b * STREAM_BLOCK);
}

double stream_read(struct stream_part *part, int64_t ns) {
    size_t n = part->bytes / STREAM_BLOCK;
    int64_t start = clock_raw();
    int64_t now = start;
    uint64_t bytes = 0;
    while (n > 0 && now - start < ns) {
        if (block_sum(part->data + part->at * STREAM_BLOCK) != part->sums[part->at]) {
            part->first_wrong = part->wrong == 0 ? part->at : part->first_wrong;
            part->wrong++;
        }
        part->at = part->at + 1 < n ? part->at + 1 : 0;
        bytes += STREAM_BLOCK;
        now = clock_raw();
    }
    part->read += bytes;
    return now > start ? (double)bytes / (double)(now - start) : 0;
}

void stream_check(struct stream_part *part) {
    pattern_check_host(part->data, part->bytes, part->seed, &part->fault);
}

void stream_verdict(const struct stream_part *part, const void *buffer, struct verification *out) {
    uint64_t offset = (uint64_t)(part->data - (const unsigned char *)buffer);
    snprintf(out->what, sizeof out->what, "host buffer");
    out->checked_bytes += part->read;
    if (out->bad == 0 && part->fault.bad > 0) {
        out->first_bad_offset = offset + part->fault.first_offset;
        out->expected = part->fault.expected;
        out->found = part->fault.found;
    } else if (out->bad == 0 &&
               part->wrong > 0) { /* right again by now: of the word only the block is known */
        out->first_bad_offset = offset + part->first_wrong * STREAM_BLOCK;
        out->expected = (uint32_t)part->sums[part->first_wrong];
        snprintf(out->what, sizeof out->what, "host buffer (sums of blocks read)");
    }
    out->bad += part->fault.bad > 0 ? part->fault.bad : part->wrong;
}

/* ---- huge pages ---- */

double stream_huge_share(const char *smaps, uintptr_t start, size_t bytes) {
    uint64_t size_kb = 0;
    uint64_t huge_kb = 0;
    bool ours = false;
    for (const char *line = smaps; line != NULL && *line != '\0';) {
        uint64_t from = 0, to = 0, kb = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
            ours = from < (uint64_t)start + bytes && to > (uint64_t)start;
        else if (ours && sscanf(line, "Size: %" SCNu64, &kb) == 1)
            size_kb += kb;
        else if (ours && (sscanf(line, "AnonHugePages: %" SCNu64, &kb) == 1 ||
                          sscanf(line, "Private_Hugetlb: %" SCNu64, &kb) == 1))
            huge_kb += kb;
        line = strchr(line, '\n');
        line += line != NULL ? 1 : 0;
    }
    return size_kb > 0 ? (double)huge_kb / (double)size_kb : NAN;
}
