/* SPDX-License-Identifier: Apache-2.0 */
/* cuInit itself: what it answered, and what that means where nothing before explains it. After every family
 * that is a cause of this one. */
#include "doctor/cuda_codes.h"
#include "doctor/doctor.h"

#include <string.h>

static struct finding *say_code(int code, struct findings *out) {
    const struct cuda_code *known = cuda_code_find(code);
    struct finding *finding =
        finding_add(out, "cuda.init", SEVERITY_FAIL, "cuInit answers %d (%s)", code, known->name);
    finding_evidence(finding, "cuInit", "%d", code);
    finding_cause(finding, "%s", known->meaning);
    return finding;
}

static struct finding *say_end(const struct scene *scene, enum probe_state state, struct findings *out) {
    int signal = (int)js_get_int(js_get(scene->probes, "cuInit"), "signal", 0);
    bool late = state == PROBE_TIMEOUT;
    struct finding *finding = finding_add(out, "cuda.init", SEVERITY_FAIL, "%s",
                                          late ? "cuInit does not return" : "cuInit crashes the process");
    if (late) {
        finding_evidence(finding, "cuInit", "no answer in time");
        finding_cause(
            finding,
            "the driver waits for a GPU that does not answer, or another process holds a lock of it");
    } else {
        finding_evidence(finding, "cuInit", "killed by signal %d%s%s", signal,
                         signal > 0 && signal < 65 ? ", " : "",
                         signal > 0 && signal < 65 ? strsignal(signal) : "");
        finding_cause(
            finding, "the driver library crashed as it started: a damaged installation, a library put before "
                     "it, or a filter of system calls (SIGSYS)");
    }
    return finding;
}

/* A GPU that is lost may fail CUDA as a whole. */
static const struct finding *hardware_cause(const struct findings *findings) {
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity == SEVERITY_FAIL && text_starts(findings->items[i].rule->id, "xid."))
            return &findings->items[i];
    return NULL;
}

static void check_init(const struct scene *scene, struct findings *out) {
    int code = -1;
    enum probe_state state = scene_probe(scene, "cuInit", &code);
    if (state == PROBE_UNKNOWN || (state == PROBE_ANSWERED && code == 0))
        return;
    const struct finding *cause = findings_cuda_cause(out);
    cause = cause != NULL ? cause : hardware_cause(out);
    const char *id = cause == NULL ? NULL : cause->rule->id;
    struct finding *finding = state == PROBE_ANSWERED ? say_code(code, out) : say_end(scene, state, out);
    if (id != NULL) {
        finding_follows(finding, id);
        finding_remedy(finding, "mend the finding that it follows from");
        return;
    }
    if (state == PROBE_ANSWERED)
        finding_remedy(finding, "look at: %s", cuda_code_find(code)->look);
    else if (state == PROBE_TIMEOUT)
        finding_remedy(
            finding,
            "look at: dmesg | grep -E 'NVRM|Xid'; nvidia-smi; processes in state D (ps -eo pid,stat,comm)");
    else
        finding_remedy(
            finding, "look at: dmesg (segfault at …, audit); LD_PRELOAD; reinstall the driver's user space");
    finding_remedy(finding, "keep what doctor saw: gpuvet doctor --capture DIR");
}

/* What NVML's error means where no rule about versions, nodes or libraries has it and CUDA came up. */
static const char *nvml_failure(int code) {
    return code == 15 ? "a GPU is lost (fallen off the bus, or in need of a reset)"
           : code == 999
               ? "the driver answered something that NVML does not know, as with a GPU in a bad state"
               : NULL;
}

static void say_nvml(const struct scene *scene, enum probe_state state, int code, struct finding *finding) {
    int signal = (int)js_get_int(js_get(scene->probes, "nvmlInit"), "signal", 0);
    if (state == PROBE_TIMEOUT) {
        finding_evidence(finding, "nvmlInit", "no answer in time");
        finding_cause(finding,
                      "the driver waits for a GPU that does not answer, or another process holds a "
                      "lock of it; several GPUs without persistence mode may also just be slow to start");
        finding_remedy(finding,
                       "look at: dmesg | grep -E 'NVRM|Xid'; processes in state D (ps -eo pid,stat,comm)");
        finding_remedy(finding, "a slow start: systemctl enable --now nvidia-persistenced");
    } else if (state == PROBE_DIED) {
        finding_evidence(finding, "nvmlInit", "killed by signal %d", signal);
        finding_cause(finding, "a damaged installation, or a library put before it");
        finding_remedy(finding,
                       "look at: dmesg (segfault at …); LD_PRELOAD; reinstall the driver's user space");
    } else {
        finding_evidence(finding, "nvmlInit", "%d", code);
        finding_cause(finding, "%s", nvml_failure(code));
        finding_remedy(finding, "look at: dmesg | grep -E 'NVRM|Xid'; nvidia-smi");
    }
}

/* NVML hangs, crashes or fails. Where CUDA does so too that finding says it, and where CUDA came up the GPUs
 * work: no fail. */
static void check_nvml(const struct scene *scene, struct findings *out) {
    int code = -1, cuda_code = -1;
    enum probe_state state = scene_probe(scene, "nvmlInit", &code);
    enum probe_state cuda = scene_probe(scene, "cuInit", &cuda_code);
    bool silent =
        (state == PROBE_TIMEOUT || state == PROBE_DIED) && cuda != PROBE_TIMEOUT && cuda != PROBE_DIED;
    bool failed =
        state == PROBE_ANSWERED && nvml_failure(code) != NULL && cuda == PROBE_ANSWERED && cuda_code == 0;
    if (!silent && !failed)
        return;
    const struct finding *cause = hardware_cause(out);
    const char *id = cause == NULL ? NULL : cause->rule->id; /* the list moves as it grows */
    struct finding *finding =
        finding_add(out, "cuda.nvml", cuda == PROBE_UNKNOWN ? SEVERITY_FAIL : SEVERITY_WARN, "NVML %s",
                    state == PROBE_TIMEOUT ? "gives no answer in time: nvidia-smi hangs too, or is slow"
                    : state == PROBE_DIED  ? "crashes the process, and so does nvidia-smi"
                                           : "fails, and nvidia-smi with it, though CUDA starts");
    say_nvml(scene, state, code, finding);
    if (id != NULL)
        finding_follows(finding, id);
}

static const struct rule rules[] = {
    {
        .id = "cuda.init",
        .area = AREA_CUDA,
        .severity = SEVERITY_FAIL,
        .title = "cuInit fails",
        .needs = "probes.json: cuInit",
        .cause =
            "the driver library could not start CUDA; where no other rule knows why, what the code means by itself",
        .remedy = "what the code leads to; a capture, and the kernel log of this boot",
        .source = "measured codes of injected faults; CUDA driver API, CUresult",
        .check = check_init,
    },
    {
        .id = "cuda.nvml",
        .area = AREA_CUDA,
        .severity = SEVERITY_FAIL,
        .title = "NVML hangs, crashes or fails",
        .needs = "probes.json: nvmlInit, cuInit",
        .cause = "nvidia-smi and all that lists GPUs do the same, also where CUDA still works: then it "
                 "is a warn",
        .remedy =
            "the kernel log, processes stuck in the driver; persistence mode where only the start is slow",
        .source = "injected hangs, crashes and errors of NVML, with and without CUDA; NVML API, nvmlReturn_t",
        .check = check_nvml,
    },
    {0},
};

const struct rule_family family_cuda = {"cuda", rules};
