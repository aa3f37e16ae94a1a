/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver reports of a GPU in the kernel log of this boot (Xids), each GPU's reports taken together
 * and beside what the port above it and the IOMMU say. */
#include "doctor/doctor.h"
#include "doctor/versions.h"

#include <string.h>

enum {
    XID_DOUBLE_BIT = 48,
    XID_ROW_REMAP = 63,
    XID_REMAP_FAILED = 64,
    XID_OFF_BUS = 79,
    XID_CONTAINED = 94,
    XID_UNCONTAINED = 95,
    XID_GSP_TIMEOUT = 119,
    XID_GSP_ERROR = 120,
    XID_RECOVERY = 154,
    XID_DOUBLE_BIT_MEMORY = 171,
    MANY = 3, /* errors of memory on one GPU in one boot that are more than an accident */
};

/* ---- what all share ---- */

static size_t count(const struct scene *scene, const char *bdf, int code) {
    return kernel_log_count(&scene->log, EVENT_XID, bdf, code);
}

static const struct kernel_event *last_xid(const struct scene *scene, const char *bdf, int code) {
    for (size_t i = scene->log.count; i > 0; i--) {
        const struct kernel_event *event = &scene->log.items[i - 1];
        if (event->kind == EVENT_XID && event->code == code && (bdf == NULL || strcmp(event->bdf, bdf) == 0))
            return event;
    }
    return NULL;
}

/* Calls `rule` once for every device that the driver reports of. */
static void each_gpu(const struct scene *scene, struct findings *out,
                     void (*rule)(const struct scene *, const char *bdf, struct findings *)) {
    enum { MOST = 64 };
    const char *seen[MOST];
    size_t n = 0;
    for (size_t i = 0; i < scene->log.count && n < MOST; i++) {
        const struct kernel_event *event = &scene->log.items[i];
        bool known = event->bdf[0] == '\0' || (event->kind != EVENT_XID && event->kind != EVENT_FALLEN_OFF);
        for (size_t k = 0; k < n && !known; k++)
            known = strcmp(seen[k], event->bdf) == 0;
        if (!known) {
            seen[n++] = event->bdf;
            rule(scene, event->bdf, out);
        }
    }
}

static const struct pci_facts *device(const struct scene *scene, const char *bdf) {
    for (size_t i = 0; i < scene->facts->n_pci; i++)
        if (strcmp(scene->facts->pci[i].bdf, bdf) == 0)
            return &scene->facts->pci[i];
    return NULL;
}

/* The recovery that the driver asks for, of this GPU or without an address. */
static const struct kernel_event *recovery(const struct scene *scene, const char *bdf) {
    const struct kernel_event *own = last_xid(scene, bdf, XID_RECOVERY);
    return own != NULL ? own : last_xid(scene, "", XID_RECOVERY);
}

/* It is there again: it was reset since. */
static enum severity now(const struct scene *scene, const char *bdf) {
    return versions_nvml_has(scene, bdf) && !versions_cuda_fails(scene) ? SEVERITY_WARN : SEVERITY_FAIL;
}

/* ---- off the bus ---- */

/* Errors of the link: the GPU's own, or those of a port on the way to it. */
static const struct kernel_event *link_errors(const struct scene *scene, const char *bdf, size_t *n) {
    const struct kernel_event *found = NULL;
    const struct pci_facts *at = device(scene, bdf);
    *n = 0;
    for (int depth = 0; depth < 16; depth++) {
        const char *name = depth == 0 ? bdf : at->parent;
        if (name[0] == '\0')
            break;
        const struct kernel_event *event = kernel_log_last(&scene->log, EVENT_AER, name);
        *n += kernel_log_count(&scene->log, EVENT_AER, name, -1);
        found = found == NULL ? event : found;
        at = device(scene, name);
        if (at == NULL)
            break;
    }
    return found;
}

static void off_bus(const struct scene *scene, const char *bdf, struct findings *out) {
    const struct kernel_event *xid = last_xid(scene, bdf, XID_OFF_BUS);
    const struct kernel_event *event =
        xid != NULL ? xid : kernel_log_last(&scene->log, EVENT_FALLEN_OFF, bdf);
    size_t errors = 0;
    if (event == NULL)
        return;
    const struct kernel_event *link = link_errors(scene, bdf, &errors);
    struct finding *f =
        finding_add(out, "xid.off-bus", now(scene, bdf), "GPU %s has fallen off the bus (Xid 79)%s", bdf,
                    link != NULL ? ", after errors on its PCIe link" : "");
    finding_evidence(f, "kernel log", "%s", event->text);
    if (link != NULL) {
        finding_evidence(f, link->bdf, "%zu AER report%s: %s", errors, errors == 1 ? "" : "s", link->text);
        finding_remedy(f, "the signal path first: reseat the GPU, another riser or cable, another slot");
        finding_remedy(f, "force the slot one generation lower in the firmware, and see whether it holds");
    } else {
        finding_remedy(
            f,
            "power and heat first: power cables and rail (a multi-rail supply trips on spikes), temperature, then riser and slot");
        finding_remedy(f, "another driver version: some fall off with no sign before");
    }
    const struct kernel_event *asked = recovery(scene, bdf);
    if (asked != NULL)
        finding_evidence(f, "kernel log, then", "%s", asked->text);
    finding_remedy(f, "to get it back: power the machine off fully, for 30 s, not a warm reboot");
}

static void check_off_bus(const struct scene *scene, struct findings *out) {
    each_gpu(scene, out, off_bus);
}

/* ---- memory ---- */

static const js *remapped_rows(const struct scene *scene, const char *bdf) {
    const js *gpus = js_get(scene->probes, "gpus");
    for (size_t i = 0; i < js_length(gpus); i++)
        if (strcasecmp(js_get_string(js_at(gpus, i), "bdf", ""), bdf) == 0)
            return js_get(js_at(gpus, i), "remapped_rows");
    return NULL;
}

static void memory(const struct scene *scene, const char *bdf, struct findings *out) {
    static const int codes[] = {XID_DOUBLE_BIT,  XID_DOUBLE_BIT_MEMORY, XID_CONTAINED,
                                XID_UNCONTAINED, XID_ROW_REMAP,         XID_REMAP_FAILED};
    const js *rows = remapped_rows(scene, bdf);
    size_t errors = count(scene, bdf, XID_DOUBLE_BIT) + count(scene, bdf, XID_DOUBLE_BIT_MEMORY) +
                    count(scene, bdf, XID_CONTAINED) + count(scene, bdf, XID_UNCONTAINED);
    size_t all = errors + count(scene, bdf, XID_ROW_REMAP) + count(scene, bdf, XID_REMAP_FAILED);
    int64_t remapped = js_get_int(rows, "uncorrectable", 0);
    bool worn =
        count(scene, bdf, XID_REMAP_FAILED) > 0 || js_get_bool(rows, "failure", false) || errors >= MANY;
    if (all == 0)
        return;
    struct finding *f =
        worn ? finding_add(out, "xid.memory", SEVERITY_FAIL,
                           "GPU %s: its memory fails again and again; the GPU is to be replaced", bdf)
             : finding_add(out, "xid.memory", SEVERITY_WARN,
                           "GPU %s: an error in its memory, which a reset takes out of use", bdf);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const struct kernel_event *event = last_xid(scene, bdf, codes[i]);
        if (event != NULL)
            finding_evidence(f, "kernel log", "%zu x Xid %d, the last: %s", count(scene, bdf, codes[i]),
                             codes[i], event->text);
    }
    if (rows != NULL)
        finding_evidence(f, "rows remapped", "%lld after uncorrectable errors%s%s", (long long)remapped,
                         js_get_bool(rows, "pending", false) ? ", one pending" : "",
                         js_get_bool(rows, "failure", false) ? ", one could not be" : "");
    if (worn) {
        finding_remedy(
            f,
            "hardware: return it (RMA) with the output of nvidia-bug-report.sh and of nvidia-smi -q -d ECC,ROW_REMAPPER; a reset does not cure it");
        finding_remedy(f,
                       "until then leave it out: CUDA_VISIBLE_DEVICES without it, its node in no container");
    } else {
        finding_remedy(
            f,
            "stop what uses it, then: nvidia-smi --gpu-reset -i %s   (or reboot): the row is remapped then",
            bdf);
        finding_remedy(
            f, "watch: more of these on the same GPU, or a growing number of remapped rows, mean hardware");
    }
}

static void check_memory(const struct scene *scene, struct findings *out) {
    each_gpu(scene, out, memory);
}

/* ---- the GPU's own processor ---- */

static void gsp(const struct scene *scene, const char *bdf, struct findings *out) {
    const struct kernel_event *event = last_xid(scene, bdf, XID_GSP_TIMEOUT);
    const struct pci_facts *gpu = device(scene, bdf);
    const char *loaded = versions_loaded(scene);
    event = event != NULL ? event : last_xid(scene, bdf, XID_GSP_ERROR);
    if (event == NULL)
        return;
    const struct kernel_event *asked = recovery(scene, bdf);
    const struct kernel_event *init = kernel_log_last(&scene->log, EVENT_INIT_FAILED, bdf);
    struct finding *f =
        finding_add(out, "xid.gsp", asked != NULL || init != NULL ? SEVERITY_FAIL : now(scene, bdf),
                    "GPU %s: its GSP does not answer (Xid %d, %zu times)", bdf, event->code,
                    count(scene, bdf, event->code));
    finding_evidence(f, "kernel log", "%s", event->text);
    if (asked != NULL)
        finding_evidence(f, "kernel log, then", "%s", asked->text);
    if (init != NULL)
        finding_evidence(f, "kernel log, then", "%s", init->text);
    if (asked != NULL || init != NULL)
        finding_remedy(f, "power the machine off fully, for 30 s: a warm reboot leaves the GSP as it is");
    finding_remedy(f, "another driver than %s: release notes name such timeouts as fixed in several versions",
                   loaded != NULL ? loaded : "this one");
    if (versions_is_open(scene) == 0 && gpu != NULL && !versions_wants_open(gpu->device))
        finding_remedy(
            f,
            "or without GSP: options nvidia NVreg_EnableGpuFirmware=0 (proprietary flavour only; it did not cure every case)");
    finding_remedy(f, "on one GPU of several alike, again and again: hardware");
}

static void check_gsp(const struct scene *scene, struct findings *out) {
    each_gpu(scene, out, gsp);
}

/* ---- the IOMMU ---- */

static void check_iommu(const struct scene *scene, struct findings *out) {
    const struct pci_facts *gpu;
    const char *mode = scene->facts->kernel.iommu_mode.value;
    for (size_t i = 0; (gpu = versions_gpu(scene, i)) != NULL; i++) {
        const struct kernel_event *event = kernel_log_last(&scene->log, EVENT_IO_PAGE_FAULT, gpu->bdf);
        if (event == NULL)
            continue;
        struct finding *f = finding_add(out, "xid.iommu-fault", SEVERITY_FAIL,
                                        "the IOMMU refuses accesses of GPU %s", gpu->bdf);
        finding_evidence(f, "kernel log", "%zu faults, the last: %s",
                         kernel_log_count(&scene->log, EVENT_IO_PAGE_FAULT, gpu->bdf, -1), event->text);
        const struct kernel_event *asked = recovery(scene, gpu->bdf);
        if (asked != NULL)
            finding_evidence(f, "kernel log, then", "%s", asked->text);
        if (mode != NULL)
            finding_evidence(f, "IOMMU", "%s", mode);
        const char *where = scene->container ? "on the host: " : "";
        if (mode != NULL && (strcmp(mode, "identity") == 0 || strcmp(mode, "passthrough") == 0))
            finding_remedy(
                f,
                "%sit passes through already: another driver or kernel version, and the firmware's own IOMMU settings",
                where);
        else
            finding_remedy(
                f,
                "%sboot with iommu=pt on the kernel's command line   (devices of virtual machines stay protected; those of the host no more)",
                where);
    }
}

/* ---- a recovery that nothing above explains ---- */

static void check_recovery(const struct scene *scene, struct findings *out) {
    const struct kernel_event *event = last_xid(scene, NULL, XID_RECOVERY);
    if (event == NULL || strstr(event->text, "None") != NULL)
        return;
    const char *bdf = event->bdf;
    bool again = bdf[0] != '\0' && versions_nvml_has(scene, bdf) && versions_cuda_works(scene);
    struct finding *f = finding_add(out, "xid.recovery", again ? SEVERITY_WARN : SEVERITY_FAIL,
                                    "the driver asks for a recovery of GPU %s (Xid 154)",
                                    bdf[0] != '\0' ? bdf : "(not named)");
    finding_evidence(f, "kernel log", "%s", event->text);
    static const char *const causes[] = {"xid.off-bus", "xid.iommu-fault", "xid.memory", "xid.gsp"};
    for (size_t i = 0; i < sizeof causes / sizeof *causes && f->consequence_of == NULL; i++)
        if (findings_has(out, causes[i], SEVERITY_WARN))
            finding_follows(f, causes[i]);
    finding_remedy(f,
                   "do what it names: reset (nvidia-smi --gpu-reset), drain and reset, or reboot the node");
}

static const struct rule rules[] = {
    {.id = "xid.iommu-fault",
     .area = AREA_HARDWARE,
     .severity = SEVERITY_FAIL,
     .title = "the IOMMU refuses accesses of a GPU",
     .needs = "kernel log, /sys/bus/pci/devices",
     .cause =
         "with translation on, an access of the GPU to memory that is not mapped for it is refused: data are lost, programs crash, the GPU is given up",
     .remedy = "iommu=pt",
     .source = "public threads: IO_PAGE_FAULT and Xid 154, clean after iommu=pt",
     .check = check_iommu},
    {.id = "xid.off-bus",
     .area = AREA_HARDWARE,
     .severity = SEVERITY_FAIL,
     .title = "a GPU has fallen off the bus",
     .needs = "kernel log, /sys/bus/pci/devices",
     .cause =
         "the GPU answers no more on PCIe: with link errors before, its signal path; without, power, heat, or the driver",
     .remedy = "riser, cable, slot, a lower generation; or power and cooling; then a full power cycle",
     .source = "public threads: with AER receiver errors before, and without any sign",
     .check = check_off_bus},
    {.id = "xid.memory",
     .area = AREA_HARDWARE,
     .severity = SEVERITY_FAIL,
     .title = "errors in a GPU's memory",
     .needs = "kernel log, probes.json: gpus.remapped_rows",
     .cause =
         "an uncorrectable error takes a row out of use at the next reset; errors that go on are a memory that dies, whatever the software that hangs on it",
     .remedy = "one: reset; again and again: replace the GPU",
     .source = "public thread: hangs that followed one GPU; NVIDIA's Xid catalogue",
     .check = check_memory},
    {.id = "xid.gsp",
     .area = AREA_HARDWARE,
     .severity = SEVERITY_FAIL,
     .title = "a GPU's own processor (GSP) does not answer",
     .needs = "kernel log",
     .cause =
         "the driver waits for the GPU's processor in vain: faults of the driver, a state that a warm reboot does not clear, or hardware",
     .remedy = "another driver version; a full power cycle",
     .source = "public threads: Xid 119, and 119 followed by 154",
     .check = check_gsp},
    {.id = "xid.recovery",
     .area = AREA_HARDWARE,
     .severity = SEVERITY_FAIL,
     .title = "the driver asks for a recovery",
     .needs = "kernel log",
     .cause = "Xid 154 names what the driver needs to use the GPU again",
     .remedy = "what it names",
     .source = "NVIDIA's Xid catalogue",
     .check = check_recovery},
    {0},
};

const struct rule_family family_xid = {"xid", rules};
