/* SPDX-License-Identifier: Apache-2.0 */
/* cuInit itself: what it answered, when nothing before explains it. Last of the area, since every other
 * family is a cause of this one. */
#include "doctor/doctor.h"

static void check_init(const struct scene *scene, struct findings *out) {
    int code = -1;
    enum probe_state state = scene_probe(scene, "cuInit", &code);
    if (state == PROBE_UNKNOWN || (state == PROBE_ANSWERED && code == 0))
        return;
    const struct finding *cause = findings_cuda_cause(out);
    const char *id = cause == NULL ? NULL : cause->rule->id;
    struct finding *finding =
        state == PROBE_TIMEOUT ? finding_add(out, "cuda.init", SEVERITY_FAIL, "cuInit does not return")
        : state == PROBE_DIED  ? finding_add(out, "cuda.init", SEVERITY_FAIL, "cuInit crashes the process")
                               : finding_add(out, "cuda.init", SEVERITY_FAIL, "cuInit answers %d", code);
    if (id != NULL)
        finding_follows(finding, id);
    finding_evidence(finding, "cuInit", "%s",
                     state == PROBE_TIMEOUT ? "no answer in time"
                     : state == PROBE_DIED  ? "killed by a signal"
                                            : "an error");
    finding_remedy(finding, "%s",
                   id != NULL ? "mend the finding that it follows from" : "gpuvet doctor --capture DIR");
}

static const struct rule rules[] = {
    {
        .id = "cuda.init",
        .area = AREA_CUDA,
        .severity = SEVERITY_FAIL,
        .title = "cuInit fails",
        .needs = "probes.json: cuInit",
        .cause = "the driver library could not start CUDA; no other rule knows why",
        .remedy = "keep a capture, and look at the kernel log of this boot",
        .source = "CUDA driver API, CUresult",
        .check = check_init,
    },
    {0},
};

const struct rule_family family_cuda = {"cuda", rules};
