/* SPDX-License-Identifier: Apache-2.0 */
/* Heterogeneous memory management of nvidia-uvm, with which cuInit answers 3 on some kernels. */
#include "doctor/doctor.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

#define PARAMETER "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm"

static const struct modprobe_line *option_line(const struct scene *scene) {
    for (size_t i = 0; i < scene->driver.n_lines; i++) {
        const struct modprobe_line *line = &scene->driver.lines[i];
        if (strcmp(line->command, "options") == 0 && strcmp(line->module, "nvidia_uvm") == 0 &&
            (strstr(line->rest, "uvm_disable_hmm=1") != NULL ||
             strstr(line->rest, "uvm_disable_hmm=Y") != NULL ||
             strstr(line->rest, "uvm_disable_hmm=y") != NULL))
            return line;
    }
    return NULL;
}

static void check(const struct scene *scene, struct findings *out) {
    enum { CUDA_NOT_INITIALIZED = 3 };
    char *value = look_text(scene->source, PARAMETER);
    bool on = value != NULL && strcmp(value, "N") == 0;
    free(value);
    if (!on || versions_cuda_code(scene) != CUDA_NOT_INITIALIZED || versions_is_open(scene) == 0 ||
        findings_cuda_cause(out) != NULL)
        return;
    const struct modprobe_line *line = option_line(scene);
    const char *where = scene->container ? "on the host: " : "";
    struct finding *f =
        finding_add(out, "hmm.enabled", SEVERITY_FAIL, "cuInit answers 3 with HMM on in nvidia-uvm%s",
                    scene->container ? "; only the host can change that" : "");
    finding_evidence(f, PARAMETER, "N (HMM is on)");
    finding_evidence(f, "cuInit", "3");
    if (line != NULL)
        finding_evidence(f, line->file, "line %d: options nvidia_uvm %s, which is not in effect", line->line,
                         line->rest);
    else
        finding_remedy(f, "%secho 'options nvidia_uvm uvm_disable_hmm=1' > /etc/modprobe.d/nvidia-uvm.conf",
                       where);
    finding_remedy(
        f, "%sreload it, with nothing using the GPUs: rmmod nvidia_uvm && modprobe nvidia_uvm   (or reboot)",
        where);
    remedy_initrd(f, scene);
    finding_remedy(f, "check: " PARAMETER " says Y");
}

static const struct rule rules[] = {
    {.id = "hmm.enabled",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "cuInit answers 3 until HMM is off",
     .needs = "probes.json: cuInit, " PARAMETER,
     .cause =
         "on some kernels the open module's heterogeneous memory management cannot start, and cuInit answers 3 though NVML and every node are well",
     .remedy = "options nvidia_uvm uvm_disable_hmm=1 on the host, and nvidia_uvm loaded anew",
     .source = "several public threads, with L20, RTX 6000 Ada and RTX PRO 6000",
     .check = check},
    {0},
};

const struct rule_family family_hmm = {"hmm", rules};
