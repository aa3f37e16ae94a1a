/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/host_chain.h"

#include "base/clock.h"

#include <stddef.h>

double chain_ghz(void (*chain)(int), int loops, int cycles) {
    int64_t start = clock_raw();
    chain(loops);
    int64_t ns = clock_raw() - start;
    return (double)loops * CHAIN_UNROLL * cycles / (double)(ns > 0 ? ns : 1);
}

#if defined(__x86_64__)

const char *chain_unknown(void) {
    return NULL;
}

void chain_add(int loops) {
    long x = 1;
    long y = 1;
    for (int i = 0; i < loops; i++)
        __asm__ volatile(".rept 16\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(y));
}

void chain_imul(int loops) {
    long x = 1;
    long y = 1;
    for (int i = 0; i < loops; i++)
        __asm__ volatile(".rept 16\n\timul %1, %0\n\t.endr" : "+r"(x) : "r"(y));
}

#define VECTOR_CLOBBERS                                                                                      \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "cc"

/* Ten accumulators cover the latency of two units; operands with full mantissas, so that bits toggle. */
static const double factor[2] = {0.7390851332151607, 0.7390851332151607};
static const double addend[2] = {1.6180339887498949, 1.6180339887498949};

/* 1024 times ten fused multiply-adds in registers named by `r`. */
#define FUSED_LOOP(r)                                                                                        \
    int n = 1024;                                                                                            \
    __asm__ volatile("vbroadcastsd %1, %%" r "mm10\n\t"                                                      \
                     "vbroadcastsd %2, %%" r "mm11\n\t"                                                      \
                     ".irp i,0,1,2,3,4,5,6,7,8,9\n\t"                                                        \
                     "vmulpd %%" r "mm10, %%" r "mm11, %%" r "mm\\i\n\t"                                     \
                     ".endr\n"                                                                               \
                     "1:\n\t"                                                                                \
                     ".irp i,0,1,2,3,4,5,6,7,8,9\n\t"                                                        \
                     "vfmadd213pd %%" r "mm11, %%" r "mm10, %%" r "mm\\i\n\t"                                \
                     ".endr\n\t"                                                                             \
                     "dec %0\n\t"                                                                            \
                     "jnz 1b\n\t"                                                                            \
                     "vzeroupper"                                                                            \
                     : "+r"(n)                                                                               \
                     : "m"(factor[0]), "m"(addend[0])                                                        \
                     : VECTOR_CLOBBERS)

static void burst_avx512(void) {
    FUSED_LOOP("z");
}

static void burst_avx2(void) {
    FUSED_LOOP("y");
}

static void burst_sse2(void) {
    int n = 1024;
    __asm__ volatile("movupd %1, %%xmm10\n\t"
                     "movupd %2, %%xmm11\n\t"
                     ".irp i,0,1,2,3,4,5,6,7,8,9\n\t"
                     "movapd %%xmm11, %%xmm\\i\n\t"
                     ".endr\n"
                     "1:\n\t"
                     ".irp i,0,1,2,3,4\n\t"
                     "mulpd %%xmm10, %%xmm\\i\n\t"
                     "addpd %%xmm11, %%xmm\\i\n\t"
                     ".endr\n\t"
                     ".irp i,5,6,7,8,9\n\t"
                     "mulpd %%xmm10, %%xmm\\i\n\t"
                     "addpd %%xmm11, %%xmm\\i\n\t"
                     ".endr\n\t"
                     "dec %0\n\t"
                     "jnz 1b"
                     : "+r"(n)
                     : "m"(factor), "m"(addend)
                     : VECTOR_CLOBBERS);
}

static const struct {
    const char *name;
    void (*burst)(void);
} kinds[] = {{"avx512", burst_avx512}, {"avx2", burst_avx2}, {"sse2", burst_sse2}};

static size_t kind(void) {
    if (__builtin_cpu_supports("avx512f"))
        return 0;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 2;
}

const char *chain_vector_kind(void) {
    return kinds[kind()].name;
}

void chain_vector(int us) {
    void (*burst)(void) = kinds[kind()].burst;
    int64_t end = clock_raw() + us * NS_PER_US;
    while (clock_raw() < end)
        burst();
}

#else

const char *chain_unknown(void) {
    return "not written for this processor: x86-64 only";
}
void chain_add(int loops) {
    (void)loops;
}
void chain_imul(int loops) {
    (void)loops;
}
const char *chain_vector_kind(void) {
    return "none";
}
void chain_vector(int us) {
    (void)us;
}

#endif
