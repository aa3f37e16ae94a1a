/* SPDX-License-Identifier: Apache-2.0 */
/* The state that nvidia-uvm loses when a machine sleeps. After everything that also gives 999. */
#include "doctor/doctor.h"
#include "doctor/versions.h"

/* The machine woke up, and nvidia-uvm was not loaded since. */
static const struct kernel_event *woke_up(const struct scene *scene) {
    for (size_t i = scene->log.count; i > 0; i--) {
        if (scene->log.items[i - 1].kind == EVENT_UVM_LOADED)
            return NULL;
        if (scene->log.items[i - 1].kind == EVENT_RESUMED)
            return &scene->log.items[i - 1];
    }
    return NULL;
}

static void check(const struct scene *scene, struct findings *out) {
    enum { CUDA_UNKNOWN = 999 };
    const struct kernel_event *event = woke_up(scene);
    if (event == NULL || versions_cuda_code(scene) != CUDA_UNKNOWN || findings_cuda_cause(out) != NULL)
        return;
    const char *where = scene->container ? "on the host: " : "";
    struct finding *f =
        finding_add(out, "suspend.uvm", SEVERITY_FAIL, "cuInit answers 999 since the machine was suspended");
    if (event->seconds >= 0)
        finding_evidence(f, "kernel log", "%s, %.0f s after boot", event->text, event->seconds);
    else
        finding_evidence(f, "kernel log", "%s", event->text);
    finding_evidence(f, "cuInit", "999, with nodes and device rules in order");
    finding_remedy(
        f,
        "%sstop what uses the GPUs (containers too: \"Module nvidia_uvm is in use\"), then: rmmod nvidia_uvm && modprobe nvidia_uvm",
        where);
    finding_remedy(
        f,
        "%sso that it does not come back: options nvidia NVreg_PreserveVideoMemoryAllocations=1 in /etc/modprobe.d, and systemctl enable nvidia-suspend nvidia-resume nvidia-hibernate",
        where);
    finding_remedy(f, "%sa server that need not sleep: systemctl mask sleep.target suspend.target", where);
}

static const struct rule rules[] = {
    {.id = "suspend.uvm",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "999 after a suspend",
     .needs = "kernel log, probes.json: cuInit; nodes and device rules in order",
     .cause = "nvidia-uvm does not survive a suspend unless the driver is told to keep video memory",
     .remedy = "load nvidia_uvm anew; NVreg_PreserveVideoMemoryAllocations=1",
     .source = "public threads of ollama: reloading nvidia_uvm works",
     .check = check},
    {0},
};

const struct rule_family family_suspend = {"suspend", rules};
