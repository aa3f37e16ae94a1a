/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_libraries.h"

#include "base/clock.h"
#include "base/forked.h"
#include "base/hash.h"
#include "gpu/cublaslt.h"
#include "gpu/nccl.h"

#include <stdio.h>
#include <string.h>

static const int64_t limit_ns = 30 * NS_PER_S;

struct wanted {
    bool nccl, cublaslt;
    const char *cuda; /* its path; NULL: not wanted, or not known */
};

static void describe_cublaslt(js *out) {
    struct error ignored = {0};
    struct cublaslt *lt = NULL;
    char hex[SHA256_HEX_SIZE];
    if (!cublaslt_open(&lt, &ignored))
        return;
    js *one = js_new_object();
    cublaslt_describe(lt, one);
    const char *path = js_get_string(one, "path", "");
    if (sha256_file_hex(path, hex))
        js_set_string(one, "sha256", hex);
    js_set(out, strstr(path, "libcublasLt.so.12") != NULL ? "cublasLt12" : "cublasLt", one);
}

/* In a child: libraries run code of their own as they are loaded, and none of them shall stay here. */
static js *describe(void *argument) {
    const struct wanted *wanted = argument;
    struct error ignored = {0};
    struct nccl *nccl = NULL;
    char hex[SHA256_HEX_SIZE];
    js *out = js_new_object();
    if (wanted->nccl && nccl_open(&nccl, &ignored)) {
        js *one = js_new_object();
        nccl_describe(nccl, true, one);
        js_set(out, "nccl", one);
    }
    if (wanted->cublaslt)
        describe_cublaslt(out);
    if (wanted->cuda != NULL && sha256_file_hex(wanted->cuda, hex)) {
        js *one = js_new_object();
        js_set_string(one, "path", wanted->cuda);
        js_set_string(one, "sha256", hex);
        js_set(out, "cuda", one);
    }
    return out;
}

static void take_over(js *environment, const char *name, const js *found) {
    static const char *const parts[] = {"path", "version", "sha256"};
    char key[64];
    snprintf(key, sizeof key, "lib.%s.path", name);
    bool same = strcmp(js_get_string(environment, key, ""), js_get_string(found, "path", "")) == 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *value = js_get_string(found, parts[i], NULL);
        snprintf(key, sizeof key, "lib.%s.%s", name, parts[i]);
        if (value != NULL && !(same && js_get(environment, key) != NULL))
            js_set_string(environment, key, value);
    }
}

void run_libraries_add(const struct prepared *p, js *environment) {
    const struct prepared_place *first = &p->places[0];
    struct wanted wanted = {0};
    bool uses_gpu = false;
    for (size_t i = 0; i < first->plan.n_items; i++) {
        const struct plan_item *item = &first->plan.items[i];
        if (item->instance.skip != NULL)
            continue;
        uses_gpu = uses_gpu || item->bench->needs.gpus > 0;
        wanted.nccl = wanted.nccl || item->bench->needs.nccl;
        wanted.cublaslt = wanted.cublaslt || item->bench->needs.cublaslt;
    }
    if (first->target.kind != TARGET_HOST || !(uses_gpu || wanted.nccl || wanted.cublaslt))
        return;
    wanted.cuda = uses_gpu ? js_get_string(environment, "lib.cuda.path", NULL) : NULL;
    struct error ignored = {0};
    js *found = forked_json(describe, &wanted, limit_ns, &ignored);
    for (struct js_member m = js_first(found); m.key != NULL; m = js_next(found, m))
        take_over(environment, m.key, m.value);
    js_free(found);
}
