/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up libcublasLt.so.13 that works on host memory: products in cuBLASLt's own terms (columns
 * contiguous, operand A turned over where the descriptor says so). GPUVET_FAKE_CUBLASLT names a function that
 * fails with 15; "none" makes the heuristic find nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, INVALID = 7, NOT_SUPPORTED = 15 };

struct desc {
    int compute, scale, turn_a, turn_b;
};
struct layout {
    int type;
    uint64_t rows, columns;
    int64_t leading;
};
struct preference {
    size_t workspace;
};
struct result {
    uint64_t algorithm[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
};

static int status_of(const char *symbol) {
    const char *fails = getenv("GPUVET_FAKE_CUBLASLT");
    return fails != NULL && strcmp(fails, symbol) == 0 ? NOT_SUPPORTED : OK;
}

EXPORT int cublasLtCreate(void **out);
EXPORT int cublasLtCreate(void **out) {
    *out = malloc(1);
    return status_of("cublasLtCreate");
}

EXPORT int cublasLtDestroy(void *handle);
EXPORT int cublasLtDestroy(void *handle) {
    free(handle);
    return OK;
}

EXPORT size_t cublasLtGetVersion(void);
EXPORT size_t cublasLtGetVersion(void) {
    return 130100;
}

EXPORT const char *cublasLtGetStatusString(int status);
EXPORT const char *cublasLtGetStatusString(int status) {
    return status == NOT_SUPPORTED ? "not supported" : "other";
}

EXPORT int cublasLtMatmulDescCreate(struct desc **out, int compute, int scale);
EXPORT int cublasLtMatmulDescCreate(struct desc **out, int compute, int scale) {
    *out = calloc(1, sizeof **out);
    **out = (struct desc){.compute = compute, .scale = scale};
    return status_of("cublasLtMatmulDescCreate");
}

EXPORT int cublasLtMatmulDescDestroy(struct desc *desc);
EXPORT int cublasLtMatmulDescDestroy(struct desc *desc) {
    free(desc);
    return OK;
}

EXPORT int cublasLtMatmulDescSetAttribute(struct desc *desc, int attribute, const void *value, size_t size);
EXPORT int cublasLtMatmulDescSetAttribute(struct desc *desc, int attribute, const void *value, size_t size) {
    int32_t number;
    if (size != sizeof number)
        return INVALID;
    memcpy(&number, value, size);
    if (attribute == 3)
        desc->turn_a = number;
    else if (attribute == 4)
        desc->turn_b = number;
    else
        return INVALID;
    return OK;
}

EXPORT int cublasLtMatrixLayoutCreate(struct layout **out, int type, uint64_t rows, uint64_t columns,
                                      int64_t leading);
EXPORT int cublasLtMatrixLayoutCreate(struct layout **out, int type, uint64_t rows, uint64_t columns,
                                      int64_t leading) {
    *out = calloc(1, sizeof **out);
    **out = (struct layout){type, rows, columns, leading};
    return leading < (int64_t)rows ? INVALID : status_of("cublasLtMatrixLayoutCreate");
}

EXPORT int cublasLtMatrixLayoutDestroy(struct layout *layout);
EXPORT int cublasLtMatrixLayoutDestroy(struct layout *layout) {
    free(layout);
    return OK;
}

EXPORT int cublasLtMatmulPreferenceCreate(struct preference **out);
EXPORT int cublasLtMatmulPreferenceCreate(struct preference **out) {
    *out = calloc(1, sizeof **out);
    return OK;
}

EXPORT int cublasLtMatmulPreferenceDestroy(struct preference *preference);
EXPORT int cublasLtMatmulPreferenceDestroy(struct preference *preference) {
    free(preference);
    return OK;
}

EXPORT int cublasLtMatmulPreferenceSetAttribute(struct preference *preference, int attribute,
                                                const void *value, size_t size);
EXPORT int cublasLtMatmulPreferenceSetAttribute(struct preference *preference, int attribute,
                                                const void *value, size_t size) {
    if (attribute != 1 || size != sizeof preference->workspace)
        return INVALID;
    memcpy(&preference->workspace, value, size);
    return OK;
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, struct desc *desc, struct layout *a, struct layout *b,
                                          struct layout *c, struct layout *d, struct preference *preference,
                                          int wanted, struct result *out, int *found);
EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, struct desc *desc, struct layout *a, struct layout *b,
                                          struct layout *c, struct layout *d, struct preference *preference,
                                          int wanted, struct result *out, int *found) {
    (void)handle, (void)desc, (void)a, (void)b, (void)c, (void)d;
    *found = status_of("none") == OK && wanted > 0 ? 1 : 0;
    *out = (struct result){.algorithm = {42}, .workspace = preference->workspace / 2};
    return status_of("cublasLtMatmulAlgoGetHeuristic");
}

static float number_of(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float out;
    memcpy(&out, &wide, sizeof out);
    return out;
}

EXPORT int cublasLtMatmul(void *handle, struct desc *desc, const float *alpha, const uint16_t *a,
                          struct layout *la, const uint16_t *b, struct layout *lb, const float *beta,
                          const uint16_t *c, struct layout *lc, uint16_t *d, struct layout *ld,
                          const uint64_t *algorithm, void *workspace, size_t bytes, void *stream);
EXPORT int cublasLtMatmul(void *handle, struct desc *desc, const float *alpha, const uint16_t *a,
                          struct layout *la, const uint16_t *b, struct layout *lb, const float *beta,
                          const uint16_t *c, struct layout *lc, uint16_t *d, struct layout *ld,
                          const uint64_t *algorithm, void *workspace, size_t bytes, void *stream) {
    (void)handle, (void)c, (void)lc, (void)stream;
    uint64_t m = desc->turn_a ? la->columns : la->rows, k = desc->turn_a ? la->rows : la->columns;
    int sound = desc->compute == 68 && desc->scale == 0 && la->type == 14 && lb->type == 14 &&
                ld->type == 14 && desc->turn_b == 0 && lb->rows == k && ld->rows == m &&
                ld->columns == lb->columns && algorithm[0] == 42 && workspace != NULL && bytes > 0 &&
                *beta == 0;
    if (!sound)
        return INVALID;
    for (uint64_t row = 0; row < m; row++)
        for (uint64_t column = 0; column < ld->columns; column++) {
            float sum = 0;
            for (uint64_t i = 0; i < k; i++) {
                uint64_t at =
                    desc->turn_a ? row * (uint64_t)la->leading + i : i * (uint64_t)la->leading + row;
                sum += number_of(a[at]) * number_of(b[column * (uint64_t)lb->leading + i]);
            }
            sum *= *alpha;
            uint32_t bits;
            memcpy(&bits, &sum, sizeof bits);
            d[column * (uint64_t)ld->leading + row] = (uint16_t)(bits >> 16);
        }
    return status_of("cublasLtMatmul");
}
