/* SPDX-License-Identifier: Apache-2.0 */
/* Products through a made-up cuBLASLt: whose rows and columns are whose. */
#include "unit/unit.h"

#include "base/mem.h"
#include "gpu/cublaslt.h"

#include <stdlib.h>
#include <string.h>

bool gpu_alloc(size_t bytes, void **out, struct error *err) {
    (void)err;
    *out = mem_zeroed(1, bytes);
    return true;
}

void gpu_free(void *p) {
    free(p);
}

static uint16_t bits_of(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static struct cublaslt *open_fake(void) {
    struct cublaslt *lt = NULL;
    struct error err = {0};
    unsetenv("GPUVET_FAKE_CUBLASLT");
    setenv("GPUVET_CUBLASLT", GPUVET_FAKES_DIR "/libcublaslt.so", 1);
    if (!cublaslt_open(&lt, &err))
        fail_msg("%s", err.text);
    return lt;
}

/* y = x × w turned over, with rows of x that lie further apart than they are long. */
static void rows_times_rows(void **state) {
    (void)state;
    enum { M = 3, N = 5, K = 4, LDX = 7 };
    uint16_t x[M * LDX], w[N * K], y[M * N] = {0};
    struct cublaslt *lt = open_fake();
    struct cublaslt_gpu *gpu = NULL;
    struct cublaslt_gemm *gemm = NULL;
    struct error err = {0};
    for (int i = 0; i < M * LDX; i++)
        x[i] = bits_of((float)(i % 5 - 2));
    for (int i = 0; i < N * K; i++)
        w[i] = bits_of((float)(i % 3 - 1));
    assert_true(cublaslt_gpu_make(lt, &gpu, &err));
    assert_true(cublaslt_gemm_make(gpu, M, N, K, LDX, &gemm, &err));
    assert_true(cublaslt_gemm_enqueue(gemm, x, w, y, NULL, &err));
    for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
            float sum = 0;
            for (int i = 0; i < K; i++)
                sum += (float)((row * LDX + i) % 5 - 2) * (float)((column * K + i) % 3 - 1);
            assert_int_equal(y[row * N + column], bits_of(sum));
        }
    cublaslt_gemm_free(gemm);
    cublaslt_gpu_free(gpu);
    js *about = js_new_object();
    cublaslt_describe(lt, about);
    assert_string_equal(js_get_string(about, "version", ""), "13.1.0");
    js_free(about);
    free(lt);
}

static void failures_have_names(void **state) {
    (void)state;
    static const struct {
        const char *fails, *words;
    } rows[] = {
        {"cublasLtCreate", "cannot start on this GPU: cuBLASLt: not supported (15)"},
        {"cublasLtMatmulAlgoGetHeuristic", "no algorithm for this product: cuBLASLt: not supported (15)"},
        {"none", "has no algorithm for this product"},
        {"cublasLtMatrixLayoutCreate", "cannot describe w"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cublaslt *lt = open_fake();
        struct cublaslt_gpu *gpu = NULL;
        struct cublaslt_gemm *gemm = NULL;
        struct error err = {0};
        setenv("GPUVET_FAKE_CUBLASLT", rows[i].fails, 1);
        bool good = cublaslt_gpu_make(lt, &gpu, &err) && cublaslt_gemm_make(gpu, 16, 8, 8, 8, &gemm, &err);
        assert_false(good);
        assert_non_null(strstr(err.text, rows[i].words));
        if (i > 0)
            assert_non_null(strstr(err.text, "16"));
        cublaslt_gemm_free(gemm);
        cublaslt_gpu_free(gpu);
        free(lt);
    }
    unsetenv("GPUVET_FAKE_CUBLASLT");
}

static void another_library_is_a_skip(void **state) {
    (void)state;
    struct cublaslt *lt = NULL;
    struct error err = {0};
    setenv("GPUVET_CUBLASLT", GPUVET_FAKES_DIR "/libnccl.so", 1);
    assert_false(cublaslt_open(&lt, &err));
    assert_int_equal(err.kind, ERROR_ABSENT);
    assert_non_null(strstr(err.text, "has no cublasLtCreate"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_times_rows),
        cmocka_unit_test(failures_have_names),
        cmocka_unit_test(another_library_is_a_skip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
