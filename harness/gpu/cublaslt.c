/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/cublaslt.h"

#include "base/mem.h"
#include "gpu/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is used of cuBLASLt, as the cublasLt.h of CUDA 12 and 13 has it ---- */

typedef void *lt_object; /* handles, descriptors, layouts, preferences are pointers to opaque structs */

enum {
    LT_SUCCESS = 0,
    LT_R_32F = 0,
    LT_R_16BF = 14,
    LT_COMPUTE_32F = 68,
    LT_OP_T = 1,
    LT_DESC_TRANSA = 3,
    LT_PREF_MAX_WORKSPACE = 1,
};

struct lt_heuristic {
    uint64_t algorithm[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
};

#define FUNCTIONS(X)                                                                                         \
    X(create, "cublasLtCreate", (lt_object *))                                                               \
    X(destroy, "cublasLtDestroy", (lt_object))                                                               \
    X(desc_create, "cublasLtMatmulDescCreate", (lt_object *, int, int))                                      \
    X(desc_destroy, "cublasLtMatmulDescDestroy", (lt_object))                                                \
    X(desc_set, "cublasLtMatmulDescSetAttribute", (lt_object, int, const void *, size_t))                    \
    X(layout_create, "cublasLtMatrixLayoutCreate", (lt_object *, int, uint64_t, uint64_t, int64_t))          \
    X(layout_destroy, "cublasLtMatrixLayoutDestroy", (lt_object))                                            \
    X(pref_create, "cublasLtMatmulPreferenceCreate", (lt_object *))                                          \
    X(pref_destroy, "cublasLtMatmulPreferenceDestroy", (lt_object))                                          \
    X(pref_set, "cublasLtMatmulPreferenceSetAttribute", (lt_object, int, const void *, size_t))              \
    X(heuristic, "cublasLtMatmulAlgoGetHeuristic",                                                           \
      (lt_object, lt_object, lt_object, lt_object, lt_object, lt_object, lt_object, int,                     \
       struct lt_heuristic *, int *))                                                                        \
    X(matmul, "cublasLtMatmul",                                                                              \
      (lt_object, lt_object, const void *, const void *, lt_object, const void *, lt_object, const void *,   \
       const void *, lt_object, void *, lt_object, const uint64_t *, void *, size_t, gpu_stream))

struct cublaslt {
    struct library library;
    size_t (*get_version)(void);
    const char *(*status_string)(int); /* NULL in old ones */
#define X(field, symbol, arguments) int(*field) arguments;
    FUNCTIONS(X)
#undef X
};

static const struct library_name library_name = {
    .what = "cuBLASLt",
    .files = {"libcublasLt.so.13", "libcublasLt.so.12"},
    .variable = "GPUVET_CUBLASLT",
    .install = "install it (apt install libcublas-13-0, or pip install nvidia-cublas)",
};

struct cublaslt_gpu {
    const struct cublaslt *lt;
    lt_object handle;
    void *workspace;
};

struct cublaslt_gemm {
    const struct cublaslt_gpu *gpu;
    lt_object desc, a, b, d;
    struct lt_heuristic chosen;
};

/* ---- the library ---- */

static bool check(const struct cublaslt *lt, int status, const char *what, struct error *err) {
    if (status == LT_SUCCESS)
        return true;
    return FAIL_NATIVE(err, ERROR_GPU, status, "%s: cuBLASLt: %s (%d)", what,
                       lt->status_string != NULL ? lt->status_string(status) : "error", status);
}

static bool resolve(struct cublaslt *lt, struct error *err) {
    static const struct {
        const char *symbol;
        size_t offset;
    } table[] = {
#define X(field, symbol, arguments) {symbol, offsetof(struct cublaslt, field)},
        FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *function = dlsym(lt->library.handle, table[i].symbol);
        if (function == NULL)
            return FAIL(err, ERROR_ABSENT, "%s has no %s", lt->library.path, table[i].symbol);
        memcpy((char *)lt + table[i].offset, &function, sizeof function);
    }
    void *function = dlsym(lt->library.handle, "cublasLtGetVersion");
    memcpy(&lt->get_version, &function, sizeof function);
    function = dlsym(lt->library.handle, "cublasLtGetStatusString");
    memcpy(&lt->status_string, &function, sizeof function);
    return true;
}

bool cublaslt_open(struct cublaslt **out, struct error *err) {
    *out = NULL;
    struct cublaslt *lt = mem_zeroed(1, sizeof *lt);
    if (!library_open(&library_name, &lt->library, err) || !resolve(lt, err)) {
        free(lt);
        return RELAY(err);
    }
    *out = lt;
    return true;
}

void cublaslt_describe(const struct cublaslt *lt, js *out) {
    size_t version = lt->get_version != NULL ? lt->get_version() : 0;
    char text[48];
    snprintf(text, sizeof text, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
    js_set_string(out, "version", version > 0 ? text : NULL);
    library_describe(&lt->library, false, out);
}

bool cublaslt_gpu_make(const struct cublaslt *lt, struct cublaslt_gpu **out, struct error *err) {
    struct cublaslt_gpu *gpu = mem_zeroed(1, sizeof *gpu);
    *out = gpu;
    gpu->lt = lt;
    return (check(lt, lt->create(&gpu->handle), "cannot start on this GPU", err) &&
            gpu_alloc(CUBLASLT_WORKSPACE, &gpu->workspace, err)) ||
           RELAY(err);
}

void cublaslt_gpu_free(struct cublaslt_gpu *gpu) {
    if (gpu == NULL)
        return;
    gpu_free(gpu->workspace);
    if (gpu->handle != NULL)
        gpu->lt->destroy(gpu->handle);
    free(gpu);
}

/* ---- one product ---- */

static bool choose(struct cublaslt_gemm *gemm, struct error *err) {
    const struct cublaslt *lt = gemm->gpu->lt;
    lt_object preference = NULL;
    size_t workspace = CUBLASLT_WORKSPACE;
    int found = 0;
    bool good = check(lt, lt->pref_create(&preference), "cannot make a preference", err) &&
                check(lt, lt->pref_set(preference, LT_PREF_MAX_WORKSPACE, &workspace, sizeof workspace),
                      "cannot set the workspace's size", err) &&
                check(lt,
                      lt->heuristic(gemm->gpu->handle, gemm->desc, gemm->a, gemm->b, gemm->d, gemm->d,
                                    preference, 1, &gemm->chosen, &found),
                      "no algorithm for this product", err);
    if (preference != NULL)
        lt->pref_destroy(preference);
    if (good && (found < 1 || gemm->chosen.status != LT_SUCCESS))
        return FAIL(err, ERROR_GPU, "cuBLASLt has no algorithm for this product");
    return good || RELAY(err);
}

/* In cuBLASLt's columns: w is k × n and turned over, x is k × m, y is n × m. */
bool cublaslt_gemm_make(struct cublaslt_gpu *gpu, int m, int n, int k, int ldx, struct cublaslt_gemm **out,
                        struct error *err) {
    struct cublaslt_gemm *gemm = mem_zeroed(1, sizeof *gemm);
    const struct cublaslt *lt = gpu->lt;
    int turned = LT_OP_T;
    *out = gemm;
    gemm->gpu = gpu;
    bool good =
        check(lt, lt->desc_create(&gemm->desc, LT_COMPUTE_32F, LT_R_32F), "cannot describe a product", err) &&
        check(lt, lt->desc_set(gemm->desc, LT_DESC_TRANSA, &turned, sizeof turned),
              "cannot describe a product", err) &&
        check(lt, lt->layout_create(&gemm->a, LT_R_16BF, (uint64_t)k, (uint64_t)n, k), "cannot describe w",
              err) &&
        check(lt, lt->layout_create(&gemm->b, LT_R_16BF, (uint64_t)k, (uint64_t)m, ldx), "cannot describe x",
              err) &&
        check(lt, lt->layout_create(&gemm->d, LT_R_16BF, (uint64_t)n, (uint64_t)m, n), "cannot describe y",
              err);
    return (good && choose(gemm, err)) || error_context(err, "%d × %d × %d", m, n, k);
}

void cublaslt_gemm_free(struct cublaslt_gemm *gemm) {
    if (gemm == NULL)
        return;
    const struct cublaslt *lt = gemm->gpu->lt;
    lt_object layouts[] = {gemm->a, gemm->b, gemm->d};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i] != NULL)
            lt->layout_destroy(layouts[i]);
    if (gemm->desc != NULL)
        lt->desc_destroy(gemm->desc);
    free(gemm);
}

bool cublaslt_gemm_enqueue(const struct cublaslt_gemm *gemm, const void *x, const void *w, void *y,
                           gpu_stream stream, struct error *err) {
    static const float one = 1, zero = 0;
    const struct cublaslt *lt = gemm->gpu->lt;
    return check(lt,
                 lt->matmul(gemm->gpu->handle, gemm->desc, &one, w, gemm->a, x, gemm->b, &zero, y, gemm->d, y,
                            gemm->d, gemm->chosen.algorithm, gemm->gpu->workspace, CUBLASLT_WORKSPACE,
                            stream),
                 "a product cannot be queued", err) ||
           RELAY(err);
}
