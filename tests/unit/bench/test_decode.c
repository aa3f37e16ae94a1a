/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of decode.step on a made-up GPU whose memory is the host's, with products made in plain C. */
#include "unit/unit.h"

#include "bench/decode_model.c"

static struct {
    int products, sums;
    bool wrong;
    char order[64];
} fake;

struct cublaslt_gpu {
    int unused;
};

struct cublaslt_gemm {
    int m, n, k, ldx;
};

bool cublaslt_gpu_make(const struct cublaslt *lt, struct cublaslt_gpu **out, struct error *err) {
    (void)lt, (void)err;
    *out = mem_zeroed(1, sizeof **out);
    return true;
}

void cublaslt_gpu_free(struct cublaslt_gpu *gpu) {
    free(gpu);
}

bool cublaslt_gemm_make(struct cublaslt_gpu *gpu, int m, int n, int k, int ldx, struct cublaslt_gemm **out,
                        struct error *err) {
    (void)gpu, (void)err;
    *out = mem_zeroed(1, sizeof **out);
    **out = (struct cublaslt_gemm){m, n, k, ldx};
    return true;
}

void cublaslt_gemm_free(struct cublaslt_gemm *gemm) {
    free(gemm);
}

static uint16_t bits_of(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (uint16_t)(bits >> 16);
}

bool cublaslt_gemm_enqueue(const struct cublaslt_gemm *g, const void *x, const void *w, void *y,
                           gpu_stream stream, struct error *err) {
    (void)stream, (void)err;
    const uint16_t *xs = x, *ws = w;
    for (int row = 0; row < g->m; row++)
        for (int column = 0; column < g->n; column++) {
            float sum = fake.wrong ? 1 : 0;
            for (int i = 0; i < g->k; i++)
                sum += number_of(xs[row * g->ldx + i]) * number_of(ws[column * g->k + i]);
            ((uint16_t *)y)[row * g->n + column] = bits_of(sum);
        }
    fake.order[fake.products + fake.sums] = 'p';
    fake.products++;
    return true;
}

bool nccl_all_reduce(const struct nccl *nccl, const void *send, void *receive, size_t count,
                     enum nccl_type type, nccl_comm comm, gpu_stream stream, struct error *err) {
    (void)nccl, (void)comm, (void)stream, (void)err;
    assert_ptr_equal(send, receive);
    assert_int_equal(count, 64 * 2);
    assert_int_equal(type, NCCL_BF16);
    fake.order[fake.products + fake.sums] = '+';
    fake.sums++;
    return true;
}

bool gpu_check(int code, const char *what, struct error *err) {
    return code == 0 || FAIL(err, ERROR_GPU, "%s", what);
}

bool gpu_alloc(size_t bytes, void **out, struct error *err) {
    (void)err;
    *out = mem_zeroed(1, bytes);
    return true;
}

void gpu_free(void *p) {
    free(p);
}

bool gpu_stream_wait(gpu_stream stream, struct error *err) {
    (void)stream, (void)err;
    return true;
}

bool gpu_copy(void *to, const void *from, size_t bytes, struct error *err) {
    (void)err;
    memcpy(to, from, bytes);
    return true;
}

void gpu_graph_free(gpu_graph graph) {
    (void)graph;
}

int collective_spread_device(void *buffer, uint64_t count, float scale, uint32_t seed, void *stream) {
    (void)stream;
    for (uint64_t i = 0; i < count; i++)
        ((uint16_t *)buffer)[i] = (uint16_t)collective_spread_bits(i, scale, seed);
    return 0;
}

static void sizes(void **state) {
    (void)state;
    struct decode_shape s;
    assert_true(decode_shape_make(1, 6144, 4, 2, &s));
    assert_int_equal(s.reduce_bytes, 12 << 10);
    assert_int_equal(s.gemms[0].n, 3840); /* 6144 and twice 768, over 2 */
    assert_int_equal(s.gemms[0].k, 6144);
    assert_int_equal(s.gemms[1].n, 6144);
    assert_int_equal(s.gemms[1].k, 3072);
    assert_int_equal(s.gemms[2].n, 18432);
    assert_int_equal(s.gemms[3].k, 9216);
    assert_true(s.weight_bytes > 1.6e9 && s.weight_bytes < 1.8e9);
    assert_true(decode_shape_make(16, 3072, 4, 8, &s));
    assert_int_equal(s.reduce_bytes, 96 << 10);
    assert_false(decode_shape_make(1, 6144, 4, 5, &s));
    assert_false(decode_shape_make(0, 6144, 4, 2, &s));
}

static void a_layer_is_four_products_and_two_sums(void **state) {
    (void)state;
    struct decode_shape s;
    struct decode_rank d;
    struct nccl_set set = {.n = 1};
    struct nccl_rank rank = {.set = &set};
    struct error err = {0};
    assert_true(decode_shape_make(2, 64, 3, 1, &s));
    assert_true(decode_rank_make(NULL, &s, 5, &rank, &d, &err));
    memset(&fake, 0, sizeof fake);
    assert_true(decode_queue(&s, &rank, &d, NULL, &err));
    assert_string_equal(fake.order, "pppppppppppp"); /* one GPU has nothing to add up */
    /* Outputs stay about as large as the input. */
    double sum = 0;
    for (int i = 0; i < 2 * 64; i++) {
        double one = (double)number_of(((uint16_t *)(void *)d.y)[i]);
        sum += one * one;
    }
    assert_true(sum / 128 > 0.05 && sum / 128 < 20);
    s.ranks = 2; /* and two have */
    memset(&fake, 0, sizeof fake);
    assert_true(decode_queue(&s, &rank, &d, NULL, &err));
    assert_string_equal(fake.order, "pp+pp+pp+pp+pp+pp+");
    decode_rank_free(&d);
}

static void products_are_checked(void **state) {
    (void)state;
    struct decode_shape s;
    struct decode_rank d;
    struct nccl_set set = {.n = 1};
    struct nccl_rank rank = {.set = &set};
    struct error err = {0};
    assert_true(decode_shape_make(2, 64, 2, 1, &s));
    assert_true(decode_rank_make(NULL, &s, 9, &rank, &d, &err));
    fake.wrong = false;
    assert_true(decode_check_gemm(&s, 9, &rank, &d, &err));
    fake.wrong = true;
    assert_false(decode_check_gemm(&s, 9, &rank, &d, &err));
    assert_int_equal(err.kind, ERROR_VERIFY);
    fake.wrong = false;
    memset(d.inner, 0, 16);
    assert_false(decode_check_gemm(&s, 10, &rank, &d, &err)); /* other weights */
    decode_rank_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(a_layer_is_four_products_and_two_sums),
        cmocka_unit_test(products_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
