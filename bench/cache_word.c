/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/cache_word.h"

static const double mib = 1048576;

/* L2 of the smallest and of the largest GPU of each architecture that has data-centre cards (NVIDIA's
 * architecture whitepapers); what is not in the table may be anything. */
static const struct {
    int major, minor; /* minor -1: any */
    double least, most;
} caches[] = {
    {7, 0, 6, 6},       /* V100 */
    {7, 5, 4, 6},       /* T4 */
    {8, 0, 24, 40},     /* A30, A100 */
    {8, 6, 2, 6},       /* A2, A40 */
    {8, 9, 24, 96},     /* L4, L40S, GeForce RTX 40 */
    {9, 0, 50, 60},     /* H100, H200, GH200 */
    {10, -1, 126, 130}, /* B200, B300 */
    {12, -1, 24, 128},  /* RTX PRO 6000, GeForce RTX 50 */
};

const char *cache_word(double walked, double least, double most) {
    return walked <= least / 2 ? "hot" : walked >= 2 * most ? "cold" : "partly";
}

const char *cache_word_gpu(const struct gpu_info *gpu, double walked) {
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
        if (caches[i].major == gpu->cc_major && (caches[i].minor < 0 || caches[i].minor == gpu->cc_minor))
            return cache_word(walked, caches[i].least * mib, caches[i].most * mib);
    return cache_word(walked, 2 * mib, 130 * mib);
}

void cache_set(struct instance *instance, const char *word) {
    js_set_string(instance->attributes, "cache", word);
}
