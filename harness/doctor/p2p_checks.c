/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/p2p_checks.h"

#include "doctor/p2p_facts.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

/* ---- address space ---- */

void p2p_check_no_space(const struct scene *scene, struct findings *out) {
    struct p2p_facts p;
    const struct pci_facts *gpu = NULL;
    p2p_facts_read(scene, &p);
    for (size_t i = 0; (gpu = versions_gpu(scene, i)) != NULL; i++) {
        const struct kernel_event *e = kernel_log_last(&scene->log, EVENT_BAR_NO_SPACE, gpu->bdf);
        int64_t bar1 = -1;
        for (size_t k = 0; k < p.gpus.count; k++)
            if (strcmp(p.gpus.items[k].bdf, gpu->bdf) == 0 && p.gpus.items[k].memory_mib > 0 &&
                p.gpus.items[k].bar1_mib >= p.gpus.items[k].memory_mib)
                bar1 = p.gpus.items[k].bar1_mib; /* it found room in the end */
        if (e == NULL || bar1 > 0)
            continue;
        struct finding *f = finding_add(
            out, "p2p.bar-no-space", SEVERITY_FAIL,
            "BAR %d of GPU %s found no room: the machine's MMIO window is too small", e->code, gpu->bdf);
        finding_evidence(f, "klog", "%s", e->text);
        finding_remedy(
            f, "BIOS: Above 4G Decoding on, MMIOH size (or base and granularity) as large as it goes, "
               "Resizable BAR on");
        finding_remedy(f, "where the BIOS has no such setting: pci=realloc on the kernel's command line");
    }
    p2p_facts_free(&p);
}

/* ---- what a run proved ---- */

void p2p_check_proof(const struct scene *scene, struct findings *out) {
    static const struct {
        const char *id;
        enum severity severity;
        const char *title;
    } rows[] = {
        {"p2p.access", SEVERITY_WARN, "the driver refused to map GPU memory for a peer"},
        {"p2p.copy", SEVERITY_FAIL, "copies between GPUs arrive wrong"},
        {"p2p.exchange", SEVERITY_FAIL, "what a kernel writes into the other GPU's memory is not seen there"},
        {"p2p.hang", SEVERITY_FAIL, "copies between GPUs never end"},
        {"p2p.write-collapse", SEVERITY_WARN,
         "writes of several GPUs of one switch to several root complexes collapse"},
    };
    struct p2p_facts p;
    p2p_facts_read(scene, &p);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct finding *f = NULL;
        for (size_t i = 0; i < js_length(p.proof); i++) {
            const js *one = js_at(p.proof, i);
            if (strcmp(js_get_string(one, "finding", ""), rows[r].id) != 0)
                continue;
            if (f == NULL)
                f = finding_add(out, rows[r].id, rows[r].severity, "%s", rows[r].title);
            finding_evidence(f, js_get_string(one, "from", "?"), "to %s: %s", js_get_string(one, "to", "?"),
                             js_get_string(one, "why", "failed"));
        }
        if (f == NULL)
            continue;
        static const char *const causes[] = {"p2p.acs", "p2p.iommu", "p2p.guest-unproven"};
        for (size_t c = 0; c < 3 && r >= 1 && r <= 3 && f->consequence_of == NULL; c++)
            if (findings_has(out, causes[c], SEVERITY_FAIL))
                finding_follows(f, causes[c]);
        finding_remedy(
            f, r == 4 ? "let GPUs of one switch read instead of writing, or write to one root complex at a "
                        "time; NCCL: try NCCL_P2P_LEVEL=PXB"
                      : "until it is mended: NCCL_P2P_DISABLE=1, and no cudaMemcpyPeer between these GPUs");
    }
    p2p_facts_free(&p);
}

/* Two at least, since a collective hangs on all of its GPUs, and one that draws a desktop is busy without a
 * compute process too. A container sees no process of others. */
void p2p_check_wedged(const struct scene *scene, struct findings *out) {
    const js *gpus = js_get(scene->probes, "gpus");
    size_t busy = 0;
    for (size_t i = 0; i < js_length(gpus); i++)
        busy += gpu_is_busy_alone(js_at(gpus, i));
    if (scene->container || busy < 2)
        return;
    struct finding *f = finding_add(
        out, "p2p.wedged", SEVERITY_FAIL,
        "%zu GPUs are busy, and no process uses them: wedged after a hung collective or copy", busy);
    for (size_t i = 0; i < js_length(gpus); i++) {
        const js *gpu = js_at(gpus, i);
        if (!gpu_is_busy_alone(gpu))
            continue;
        finding_evidence(f, js_get_string(gpu, "bdf", "?"), "%lld %% busy, no process",
                         (long long)js_get_int(gpu, "utilization_percent", 0));
        finding_remedy(f, "nvidia-smi --gpu-reset -i %lld (as root, nothing using it), else reboot",
                       (long long)js_get_int(gpu, "index", (int64_t)i));
    }
}

/* ---- displays ---- */

/* "card1-DP-2" is an output of card1, whose device link ends in the GPU's address. */
static bool drives_display(const struct scene *scene, const char *output, const char *bdf) {
    struct text link = {0};
    const char *dash = strchr(output, '-');
    if (dash == NULL || !text_starts(output, "card"))
        return false;
    struct fact status = look_fact(scene->source, "/sys/class/drm/%.64s/status", output);
    bool connected = status.value != NULL && strcmp(status.value, "connected") == 0;
    free(status.value);
    text_addf(&link, "/sys/class/drm/%.*s/device", (int)(dash - output), output);
    char *device = connected ? look_link(scene->source, text_string(&link)) : NULL;
    text_free(&link);
    const char *slash = device == NULL ? NULL : strrchr(device, '/');
    bool ours = slash != NULL && strcmp(slash + 1, bdf) == 0;
    free(device);
    return ours;
}

void p2p_check_display(const struct scene *scene, struct findings *out) {
    const char *version = versions_loaded(scene);
    struct strings outputs = {0};
    const struct pci_facts *gpu = NULL;
    struct finding *f = NULL;
    bool patched = version != NULL && strstr(version, "p2p") != NULL;
    if (patched && p2p_bound_gpus(scene) >= 2)
        look_list(scene->source, "/sys/class/drm", &outputs);
    for (size_t o = 0; o < outputs.count; o++)
        for (size_t i = 0; (gpu = versions_gpu(scene, i)) != NULL; i++) {
            if (!drives_display(scene, outputs.items[o], gpu->bdf))
                continue;
            if (f == NULL) {
                f = finding_add(out, "p2p.display", SEVERITY_WARN,
                                "GPU %s drives a monitor, and the module is patched for P2P (%s)", gpu->bdf,
                                version);
                finding_remedy(
                    f, "the monitor on another card, or none: with this module such a GPU was reported to "
                       "copy wrongly; gpuvet run --case p2p.ladder tells");
            }
            finding_evidence(f, outputs.items[o], "connected, of %s", gpu->bdf);
        }
    strings_free(&outputs);
}
