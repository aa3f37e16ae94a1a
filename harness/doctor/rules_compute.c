/* SPDX-License-Identifier: Apache-2.0 */
/* Compute modes: one process at a time, or none. */
#include "doctor/doctor.h"
#include "doctor/versions.h"

#include <string.h>

enum { CUDA_UNAVAILABLE = 46 };

/* Whether a context on this GPU answered 46: of this one, where each was tried, else of one that is not
 * named. */
static bool is_busy(const struct scene *scene, const js *gpu) {
    static const char *const probes[] = {"cuInit", "cuCtxCreate", "cudaSetDevice"};
    const char *bdf = js_get_string(gpu, "bdf", "");
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        const js *each = js_get(js_get(scene->probes, probes[i]), "gpus");
        int code = -1;
        scene_probe(scene, probes[i], &code);
        if (js_is_object(each))
            code = (int)js_get_int(each, bdf, -1);
        if (code == CUDA_UNAVAILABLE)
            return true;
    }
    return false;
}

static void list_processes(struct finding *f, const js *gpu) {
    const js *processes = js_get(gpu, "processes");
    for (size_t i = 0; i < js_length(processes) && i < 8; i++) {
        int64_t pid = js_get_int(js_at(processes, i), "pid", 0);
        if (pid > 0)
            finding_evidence(f, "a process on it", "%lld %s", (long long)pid,
                             js_get_string(js_at(processes, i), "name", ""));
    }
}

static void say_prohibited(const js *gpu, int64_t index, struct findings *out) {
    struct finding *f =
        finding_add(out, "compute.prohibited", SEVERITY_FAIL,
                    "GPU %lld is in compute mode prohibited: CUDA may not use it", (long long)index);
    finding_evidence(f, js_get_string(gpu, "bdf", "GPU"), "compute mode prohibited");
    finding_remedy(
        f, "nvidia-smi -i %lld -c DEFAULT   (as root, on the host; lost at the next start of the driver)",
        (long long)index);
}

static void say_exclusive(const js *gpu, int64_t index, const char *mode, struct findings *out) {
    struct finding *f =
        finding_add(out, "compute.exclusive", SEVERITY_FAIL,
                    "GPU %lld is in compute mode %s, and a process holds it", (long long)index, mode);
    finding_evidence(f, js_get_string(gpu, "bdf", "GPU"), "compute mode %s", mode);
    finding_evidence(f, "making a context", "46, busy or unavailable");
    list_processes(f, gpu);
    finding_remedy(f, "nvidia-smi -i %lld -c 0   (as root, on the host)", (long long)index);
    finding_remedy(
        f,
        "or stop the process that holds it; it may be in another container, whose processes are not seen from here");
}

static void check(const struct scene *scene, struct findings *out) {
    const js *gpus = js_get(scene->probes, "gpus");
    for (size_t i = 0; i < js_length(gpus) && i < 64; i++) {
        const js *gpu = js_at(gpus, i);
        const char *mode = js_get_string(gpu, "compute_mode", "");
        int64_t index = js_get_int(gpu, "index", (int64_t)i);
        if (strcasecmp(mode, "prohibited") == 0)
            say_prohibited(gpu, index, out);
        else if (is_busy(scene, gpu) && strncasecmp(mode, "exclusive", strlen("exclusive")) == 0)
            say_exclusive(gpu, index, mode, out);
    }
}

static const struct rule rules[] = {
    {.id = "compute.prohibited",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a GPU's compute mode is prohibited",
     .needs = "probes.json: gpus",
     .cause = "in this mode no process may make a context; with every GPU in it CUDA finds none",
     .remedy = "nvidia-smi -c DEFAULT",
     .source = "nvidia-smi(1), compute mode",
     .check = check},
    {.id = "compute.exclusive",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a GPU is held by one process, in exclusive mode",
     .needs = "probes.json: gpus, cuCtxCreate or cudaSetDevice",
     .cause =
         "in this mode the second process's context fails with 46; the first may be in another container",
     .remedy = "nvidia-smi -c 0, or stop the other process",
     .source = "public threads: all CUDA-capable devices are busy or unavailable, E. Process"},
    {0},
};

const struct rule_family family_compute = {"compute", rules};
