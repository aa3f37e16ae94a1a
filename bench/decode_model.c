/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/decode_model.h"

#include "base/mem.h"
#include "kernels/collective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KV_SHARE = 8, FEED_FORWARD = 3, ELEMENT = 2, ALIGNED = 8, CHECKED = 32 };

static size_t weights_of(const struct decode_shape *shape, int gemm) {
    return (size_t)shape->gemms[gemm].n * (size_t)shape->gemms[gemm].k;
}

static size_t layer_weights(const struct decode_shape *shape) {
    size_t all = 0;
    for (int i = 0; i < DECODE_GEMMS; i++)
        all += weights_of(shape, i);
    return all;
}

/* A transformer's layer split over the ranks as usual: query, key and value (grouped: keys and values an
 * eighth) and up and gate by columns, output and down by rows, whose parts the all_reduces add up. */
bool decode_shape_make(int m, int hidden, int layers, int ranks, struct decode_shape *out) {
    int inner = FEED_FORWARD * hidden;
    if (m < 1 || layers < 1 || ranks < 1 || hidden < 1 || hidden % (ranks * KV_SHARE * ALIGNED) != 0)
        return false;
    *out = (struct decode_shape){.m = m, .hidden = hidden, .layers = layers, .ranks = ranks};
    int qkv = (hidden + 2 * hidden / KV_SHARE) / ranks, up = 2 * inner / ranks;
    const int sizes[DECODE_GEMMS][3] = {{qkv, hidden, hidden},
                                        {hidden, hidden / ranks, qkv},
                                        {up, hidden, hidden},
                                        {hidden, inner / ranks, up}};
    for (int i = 0; i < DECODE_GEMMS; i++) {
        out->gemms[i].n = sizes[i][0];
        out->gemms[i].k = sizes[i][1];
        out->gemms[i].ldx = sizes[i][2];
    }
    out->wide = qkv > up ? qkv : up;
    out->reduce_bytes = (size_t)m * (size_t)hidden * ELEMENT;
    out->weight_bytes = (double)layer_weights(out) * ELEMENT * layers;
    return true;
}

/* Weights such that outputs are about as large as inputs, whatever the size: each sum is over `k` products of
 * all ranks together. */
static float scale_of(const struct decode_shape *shape, int gemm) {
    bool split = gemm == 1 || gemm == 3;
    double k = (double)shape->gemms[gemm].k * (split ? shape->ranks : 1);
    return (float)sqrt(3 / k);
}

static const float input_scale = 1.7F;

static uint32_t weight_seed(uint32_t seed, int rank, int layer, int gemm) {
    return pattern_seed(seed, (uint32_t)(rank * 1000003 + layer * 17 + gemm + 1));
}

static bool fill(const struct decode_shape *shape, uint32_t seed, const struct nccl_rank *rank,
                 const struct decode_rank *d, struct error *err) {
    char *at = d->weights;
    for (int layer = 0; layer < shape->layers; layer++)
        for (int g = 0; g < DECODE_GEMMS; g++) {
            if (!gpu_check(collective_spread_device(at, weights_of(shape, g), scale_of(shape, g),
                                                    weight_seed(seed, rank->rank, layer, g), rank->stream),
                           "filling weights", err))
                return RELAY(err);
            at += weights_of(shape, g) * ELEMENT;
        }
    return (gpu_check(collective_spread_device(d->x, (uint64_t)shape->m * (uint64_t)shape->hidden,
                                               input_scale, seed, rank->stream),
                      "filling the input", err) &&
            gpu_stream_wait(rank->stream, err)) ||
           RELAY(err);
}

static bool alloc(size_t bytes, char **out, struct error *err) {
    void *memory = NULL;
    bool good = gpu_alloc(bytes, &memory, err);
    *out = memory;
    return good || RELAY(err);
}

bool decode_rank_make(const struct cublaslt *lt, const struct decode_shape *shape, uint32_t seed,
                      struct nccl_rank *rank, struct decode_rank *out, struct error *err) {
    size_t rows = (size_t)shape->m;
    *out = (struct decode_rank){0};
    bool good = alloc((size_t)shape->weight_bytes, &out->weights, err) &&
                alloc(shape->reduce_bytes, &out->x, err) && alloc(shape->reduce_bytes, &out->y, err) &&
                alloc(shape->reduce_bytes, &out->expected, err) &&
                alloc(rows * (size_t)shape->wide * ELEMENT, &out->inner, err) &&
                fill(shape, seed, rank, out, err) && cublaslt_gpu_make(lt, &out->lt, err);
    for (int g = 0; good && g < DECODE_GEMMS; g++)
        good = cublaslt_gemm_make(out->lt, shape->m, shape->gemms[g].n, shape->gemms[g].k,
                                  shape->gemms[g].ldx, &out->gemms[g], err);
    return good || RELAY(err);
}

void decode_rank_free(struct decode_rank *d) {
    gpu_graph_free(d->graph);
    for (int g = 0; g < DECODE_GEMMS; g++)
        cublaslt_gemm_free(d->gemms[g]);
    cublaslt_gpu_free(d->lt);
    gpu_free(d->weights);
    gpu_free(d->x);
    gpu_free(d->inner);
    gpu_free(d->y);
    gpu_free(d->expected);
    *d = (struct decode_rank){0};
}

static bool add_up(const struct decode_shape *shape, struct nccl_rank *rank, char *y, gpu_stream stream,
                   struct error *err) {
    if (shape->ranks == 1)
        return true;
    return nccl_all_reduce(rank->set->nccl, y, y, shape->reduce_bytes / ELEMENT, NCCL_BF16, rank->comm,
                           stream, err) ||
           RELAY(err);
}

bool decode_queue(const struct decode_shape *shape, struct nccl_rank *rank, const struct decode_rank *d,
                  gpu_stream stream, struct error *err) {
    const char *w[DECODE_GEMMS];
    w[0] = d->weights;
    for (int g = 1; g < DECODE_GEMMS; g++)
        w[g] = w[g - 1] + weights_of(shape, g - 1) * ELEMENT;
    const char *x = d->x;
    for (int layer = 0; layer < shape->layers; layer++) {
        size_t offset = (size_t)layer * layer_weights(shape) * ELEMENT;
        bool good = cublaslt_gemm_enqueue(d->gemms[0], x, w[0] + offset, d->inner, stream, err) &&
                    cublaslt_gemm_enqueue(d->gemms[1], d->inner, w[1] + offset, d->y, stream, err) &&
                    add_up(shape, rank, d->y, stream, err) &&
                    cublaslt_gemm_enqueue(d->gemms[2], d->y, w[2] + offset, d->inner, stream, err) &&
                    cublaslt_gemm_enqueue(d->gemms[3], d->inner, w[3] + offset, d->y, stream, err) &&
                    add_up(shape, rank, d->y, stream, err);
        if (!good)
            return RELAY(err);
        x = d->y;
    }
    return true;
}

/* ---- against the host ---- */

static float number_of(uint32_t bf16) {
    uint32_t bits = bf16 << 16;
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

bool decode_check_gemm(const struct decode_shape *shape, uint32_t seed, struct nccl_rank *rank,
                       struct decode_rank *d, struct error *err) {
    int n = shape->gemms[0].n, k = shape->gemms[0].k;
    size_t count = (size_t)shape->m * (size_t)n;
    uint16_t *found = mem_zeroed(count, sizeof *found);
    bool good = cublaslt_gemm_enqueue(d->gemms[0], d->x, d->weights, d->inner, rank->stream, err) &&
                gpu_stream_wait(rank->stream, err) && gpu_copy(found, d->inner, count * ELEMENT, err);
    uint32_t weights = weight_seed(seed, rank->rank, 0, 0);
    for (uint32_t i = 0; good && i < CHECKED; i++) {
        size_t at = pattern_word(i, seed) % count;
        size_t row = at / (size_t)n, column = at % (size_t)n;
        double sum = 0;
        for (size_t j = 0; j < (size_t)k; j++)
            sum += (double)number_of(collective_spread_bits(row * (size_t)k + j, input_scale, seed)) *
                   (double)number_of(
                       collective_spread_bits(column * (size_t)k + j, scale_of(shape, 0), weights));
        double is = (double)number_of(found[at]);
        if (!(fabs(is - sum) <= 0.02 + 0.02 * fabs(sum)))
            good = FAIL(err, ERROR_VERIFY,
                        "a product by cuBLASLt is wrong at row %zu, column %zu: %g instead of %g", row,
                        column, is, sum);
    }
    free(found);
    return good || RELAY(err);
}
