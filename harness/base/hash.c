/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <fcntl.h>
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static bool has_instructions(void) {
    unsigned a, b, c, d;
    enum { SHA_BIT = 1 << 29, SSE41_BIT = 1 << 19 };
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & SSE41_BIT) != 0 &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & SHA_BIT) != 0;
}

/* The CPU's own instructions: libraries of half a gigabyte are hashed in every run, and plain C takes seconds
 * of it. */
__attribute__((target("sha,sse4.1"))) static void add_blocks(uint32_t state[8], const uint8_t *data,
                                                             size_t blocks) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    /* They want the eight words as ABEF and CDGH. */
    __m128i first = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xB1);
    __m128i cdgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1B);
    __m128i abef = _mm_alignr_epi8(first, cdgh, 8);
    cdgh = _mm_blend_epi16(cdgh, first, 0xF0);
    for (; blocks > 0; blocks--, data += 64) {
        const __m128i old_abef = abef, old_cdgh = cdgh;
        __m128i w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(data + 16 * i)), swap);
        for (int i = 0; i < 16; i++) { /* four rounds each, and the words of four rounds to come */
            const __m128i next = w[(i + 1) % 4], after = w[(i + 2) % 4], last = w[(i + 3) % 4];
            const __m128i k =
                _mm_add_epi32(w[i % 4], _mm_loadu_si128((const __m128i *)(round_constants + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, k);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(k, 0x0E));
            w[i % 4] = _mm_sha256msg2_epu32(
                _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], next), _mm_alignr_epi8(last, after, 4)), last);
        }
        abef = _mm_add_epi32(abef, old_abef);
        cdgh = _mm_add_epi32(cdgh, old_cdgh);
    }
    first = _mm_shuffle_epi32(abef, 0x1B);
    cdgh = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(first, cdgh, 0xF0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(cdgh, first, 8));
}

/* As much of it as is whole blocks; returns how many bytes that was. */
static size_t add_fast(SHA2_CTX *context, const uint8_t *data, size_t length) {
    size_t blocks = has_instructions() ? length / 64 : 0;
    add_blocks(context->state.st32, data, blocks);
    context->bitcount[0] += (uint64_t)blocks * 512;
    return blocks * 64;
}
#else
static size_t add_fast(SHA2_CTX *context, const uint8_t *data, size_t length) {
    (void)context, (void)data, (void)length;
    return 0;
}
#endif

void sha256_hex(const void *data, size_t length, char out[SHA256_HEX_SIZE]) {
    SHA2_CTX context;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Init(&context);
    size_t done = add_fast(&context, data, length);
    SHA256Update(&context, (const uint8_t *)data + done, length - done);
    SHA256Final(digest, &context);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

bool sha256_file_hex(const char *path, char out[SHA256_HEX_SIZE]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *map = MAP_FAILED;
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map != MAP_FAILED) {
        madvise(map, (size_t)st.st_size, MADV_SEQUENTIAL);
        sha256_hex(map, (size_t)st.st_size, out);
        munmap(map, (size_t)st.st_size);
    }
    close(fd);
    return map != MAP_FAILED;
}
