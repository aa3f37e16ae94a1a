/* SPDX-License-Identifier: Apache-2.0 */
/* A baseline whose manifest is anything, beside one whole run: refused with a reason, or loaded. */
#define FUZZ_CORPUS "baseline"
#include "compare/baseline.h"
#include "fuzz/fuzz.h"

/* The run that manifests of the corpus name with its checksum. */
static const char run_file[] =
    "{\"type\":\"header\",\"schema\":\"gpuvet.run/1\",\"tool\":{\"build_id\":\"b\"},"
    "\"series\":[]}\n";

static void check_load(const char *results) {
    struct error err = {0};
    struct run *runs = NULL;
    size_t n = 0;
    if (baseline_load(results, "b", &runs, &n, &err)) {
        if (n == 0)
            abort();
        runs_free(runs, n);
    } else if (n > 0 || runs != NULL || err.text[0] == '\0') {
        abort(); /* a refusal says why and gives nothing */
    }
}

static void check_found(const char *results) {
    struct error err = {0};
    char *found = NULL;
    if (baseline_find(results, NULL, "m1", &found, &err) && found != NULL && strcmp(found, "b") != 0)
        abort();
    free(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    const char *results = fuzz_tree();
    if (fuzz_put("baselines/b/r.jsonl", run_file, sizeof run_file - 1) &&
        fuzz_put("baselines/b/baseline.json", (const char *)data, size)) {
        js *manifest = baseline_manifest(results, "b", &err);
        if (manifest == NULL && err.text[0] == '\0')
            abort();
        check_load(results);
        if (manifest != NULL) /* else it would be warned of a damaged one, each time */
            check_found(results);
        js_free(manifest);
    }
    return 0;
}
