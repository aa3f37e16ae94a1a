/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between GPUs: what the driver offers and why not, what stands in their way, what a run proved. */
#include "doctor/p2p_checks.h"
#include "doctor/p2p_facts.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

enum { ACS_REQUEST_REDIRECT = 1 << 2, ACS_COMPLETION_REDIRECT = 1 << 3 };

/* ---- what the driver says ---- */

/* Pairs with this word; the first one's GPUs. */
static int count_word(const struct p2p_facts *p, const char *word, int pair[2]) {
    int n = 0;
    for (size_t i = 0; i < p->gpus.count; i++)
        for (size_t k = 0; k < p->gpus.count; k++)
            if (i != k && strcmp(gpu_list_p2p(&p->gpus, (int)i, (int)k), word) == 0 && n++ == 0) {
                pair[0] = (int)i;
                pair[1] = (int)k;
            }
    return n;
}

/* A user who changed the module wants P2P: then "not supported" is news. */
static bool is_wanted(const struct scene *scene, const struct p2p_facts *p) {
    const char *version = versions_loaded(scene);
    return (version != NULL && strstr(version, "p2p") != NULL) || (p->dwords != NULL && p->dwords[0] != '\0');
}

static void add_module_evidence(const struct scene *scene, const struct p2p_facts *p, struct finding *f) {
    const char *version = versions_loaded(scene);
    for (size_t i = 0; i < p->gpus.count && i < 2; i++)
        if (p->gpus.items[i].bar1_mib > 0)
            finding_evidence(f, p->gpus.items[i].bdf, "BAR1 of %lld MiB",
                             (long long)p->gpus.items[i].bar1_mib);
    if (p->dwords != NULL)
        finding_evidence(f, "/proc/driver/nvidia/params", "RegistryDwords: \"%s\"", p->dwords);
    if (version != NULL)
        finding_evidence(f, "module nvidia", "%s", version);
    if (scene->facts->kernel.iommu_mode.value != NULL)
        finding_evidence(f, "iommu.mode", "%s", scene->facts->kernel.iommu_mode.value);
}

static void add_host_bridge(const struct scene *scene, struct finding *f) {
    static const char folder[] = "/sys/bus/pci/devices/0000:00:00.0";
    struct fact vendor = look_fact(scene->source, "%s/vendor", folder);
    struct fact device = look_fact(scene->source, "%s/device", folder);
    if (vendor.value != NULL && device.value != NULL)
        finding_evidence(f, folder, "host bridge %s:%s", vendor.value, device.value);
    free(vendor.value);
    free(device.value);
}

static void check_emulated(const struct scene *scene, struct findings *out) {
    struct p2p_facts p;
    int pair[2] = {0, 0};
    p2p_facts_read(scene, &p);
    int pairs = p.known && p.guest ? count_word(&p, "CNS", pair) : 0;
    if (pairs > 0) {
        struct finding *f =
            finding_add(out, "p2p.chipset-emulated", SEVERITY_WARN,
                        "the driver offers no P2P in this virtual machine: it does not know the "
                        "emulated chipset (CNS, %d pair%s)",
                        pairs, pairs == 1 ? "" : "s");
        finding_evidence(f, "nvmlDeviceGetP2PStatus", "%s to %s: CNS (chipset not supported)",
                         p.gpus.items[pair[0]].bdf, p.gpus.items[pair[1]].bdf);
        finding_evidence(f, "hypervisor", "%s", scene->facts->kernel.hypervisor.value);
        add_host_bridge(scene, f);
        add_module_evidence(scene, &p, f);
        finding_remedy(f,
                       "run the work in a container (LXC, Docker) on the host, or on bare metal: there the "
                       "driver sees the real chipset");
        finding_remedy(f,
                       "inside this machine neither BAR sizes nor IOMMU, ACS or module parameters change it");
    }
    p2p_facts_free(&p);
}

static void explain_word(const struct scene *scene, const struct p2p_facts *p, struct finding *f,
                         const char *word) {
    if (strcmp(word, "DR") == 0) {
        finding_remedy(
            f, "take the key that disables P2P out of NVreg_RegistryDwords in /etc/modprobe.d, rebuild "
               "the initrd, reboot");
        return;
    }
    if (strcmp(word, "TNS") == 0)
        finding_remedy(
            f, "GPUs on different sockets or root complexes: move a card, or leave P2P off between them "
               "(NCCL_P2P_LEVEL)");
    if (versions_is_consumer(scene))
        finding_remedy(f, "GeForce cards have no P2P with NVIDIA's own module: copies go through the host");
    if (is_wanted(scene, p) || strcmp(word, "CNS") == 0)
        finding_remedy(f, "check that the module which is loaded is the one meant (modinfo nvidia; "
                          "/proc/driver/nvidia/version): a kernel update may have built the stock one");
    finding_remedy(f, "nvidia-smi topo -p2p r shows it pair by pair");
}

static void check_status(const struct scene *scene, struct findings *out) {
    static const char *const words[] = {"CNS", "GNS", "TNS", "DR", "NS"};
    struct p2p_facts p;
    p2p_facts_read(scene, &p);
    for (size_t i = 0; p.known && i < sizeof words / sizeof *words; i++) {
        int pair[2] = {0, 0};
        int pairs = count_word(&p, words[i], pair);
        if (pairs == 0 || (p.guest && i == 0))
            continue;
        bool expected = versions_is_consumer(scene) && !is_wanted(scene, &p);
        struct finding *f = finding_add(out, "p2p.status", expected ? SEVERITY_INFO : SEVERITY_WARN,
                                        "the driver offers no P2P between %d pair%s of GPUs: %s (%s)", pairs,
                                        pairs == 1 ? "" : "s", words[i], gpu_p2p_meaning(words[i]));
        finding_evidence(f, "nvmlDeviceGetP2PStatus", "%s to %s: %s", p.gpus.items[pair[0]].bdf,
                         p.gpus.items[pair[1]].bdf, words[i]);
        add_module_evidence(scene, &p, f);
        explain_word(scene, &p, f, words[i]);
    }
    p2p_facts_free(&p);
}

/* ---- against the baseline ---- */

static const char *baseline_text(const struct scene *scene, const char *key) {
    return js_get_string(scene->baseline, key, NULL);
}

static void tell_change(struct finding *f, const char *what, const char *before, const char *now) {
    if (before != NULL && now != NULL && strcmp(before, now) != 0)
        finding_evidence(f, what, "%s before, %s now", before, now);
}

static void check_changed(const struct scene *scene, struct findings *out) {
    struct p2p_facts p;
    js *now = js_new_object(), *moving = js_new_object();
    struct finding *f = NULL;
    p2p_facts_read(scene, &p);
    if (p.known && scene->baseline != NULL)
        gpu_list_environment(&p.gpus, now, moving);
    for (struct js_member m = js_first(now); m.key != NULL; m = js_next(now, m)) {
        const char *before = baseline_text(scene, m.key);
        const char *here = js_string(m.value, "");
        if (strncmp(m.key, "p2p.", 4) != 0 || before == NULL || strcmp(before, "OK") != 0 ||
            strcmp(here, "OK") == 0 || strstr(here, FACT_UNKNOWN) != NULL)
            continue;
        const char *old_kernel = baseline_text(scene, "kernel.release");
        const char *kernel = scene->facts->kernel.release.value;
        bool other = old_kernel != NULL && kernel != NULL && strcmp(old_kernel, kernel) != 0;
        if (f == NULL) {
            f = finding_add(out, "p2p.changed", SEVERITY_WARN,
                            other ? "P2P was OK with kernel %s, and is %s with %s"
                                  : "P2P was OK in the baseline (kernel %s), and is %s now (%s)",
                            old_kernel != NULL ? old_kernel : "unknown", here,
                            kernel != NULL ? kernel : "unknown");
            tell_change(f, "kernel.release", old_kernel, kernel);
            tell_change(f, "module.nvidia.version", baseline_text(scene, "module.nvidia.version"),
                        versions_loaded(scene));
            tell_change(f, "iommu.mode", baseline_text(scene, "iommu.mode"),
                        scene->facts->kernel.iommu_mode.value);
            if (other)
                finding_remedy(f, "boot the kernel before, %s, to have P2P back", old_kernel);
            finding_remedy(
                f, "check that the module for this kernel is the same build as before (modinfo nvidia: "
                   "version, srcversion): DKMS may have built the stock one");
        }
        finding_evidence(f, m.key, "%s before, %s now", before, here);
    }
    js_free(now);
    js_free(moving);
    p2p_facts_free(&p);
}

/* ---- ACS ---- */

static bool redirects(const struct pci_facts *d) {
    return !d->gpu && d->acs_control.known &&
           (d->acs_control.value & (ACS_REQUEST_REDIRECT | ACS_COMPLETION_REDIRECT)) != 0;
}

static bool validates_only(const struct pci_facts *d) {
    return !d->gpu && d->acs_control.known && d->acs_control.value == 1;
}

static void add_bridges(const struct scene *scene, struct finding *f,
                        bool (*which)(const struct pci_facts *)) {
    for (size_t i = 0; i < scene->facts->n_pci; i++) {
        const struct pci_facts *d = &scene->facts->pci[i];
        if (which(d))
            finding_evidence(f, d->bdf, "%s: ACSCtl 0x%04x, %s",
                             d->parent[0] == '\0' ? "root port" : "switch port",
                             (unsigned)d->acs_control.value, d->acs.value != NULL ? d->acs.value : "");
    }
}

/* Facts hold the bridges above GPUs only. A guest's are its hypervisor's inventions, and where every pair has
 * NVLinks, P2P does not pass them. */
static void check_acs(const struct scene *scene, struct findings *out) {
    struct p2p_facts p;
    int roots = 0, ports = 0;
    p2p_facts_read(scene, &p);
    for (size_t i = 0; i < scene->facts->n_pci; i++)
        if (redirects(&scene->facts->pci[i]))
            *(scene->facts->pci[i].parent[0] == '\0' ? &roots : &ports) += 1;
    if (p2p_bound_gpus(scene) >= 2 && !p.guest && p.over_pcie && roots + ports > 0) {
        bool broken = p2p_proved_broken(&p, NULL);
        struct finding *f = finding_add(
            out, "p2p.acs", broken ? SEVERITY_FAIL : SEVERITY_WARN,
            "ACS sends copies between GPUs up to the root: %d root port%s and %d switch port%s redirect",
            roots, roots == 1 ? "" : "s", ports, ports == 1 ? "" : "s");
        add_bridges(scene, f, redirects);
        p2p_proved_broken(&p, f);
        for (size_t i = 0; i < scene->facts->n_pci; i++)
            if (redirects(&scene->facts->pci[i]))
                finding_remedy(f, "setpci -s %s ECAP_ACS+6.w=0000", scene->facts->pci[i].bdf);
        finding_remedy(
            f, "on every level: clearing the root ports alone is not enough below a switch; it is lost at "
               "the next boot, so make it a service, or turn ACS off in the BIOS and look again (its word "
               "for it may be untrue)");
        finding_remedy(
            f, "the price: devices are no longer isolated from each other; do not do it where virtual "
               "machines of different owners have devices below these bridges");
    }
    p2p_facts_free(&p);
}

static void check_srcvalid(const struct scene *scene, struct findings *out) {
    int n = 0, redirecting = 0;
    for (size_t i = 0; i < scene->facts->n_pci; i++) {
        n += validates_only(&scene->facts->pci[i]);
        redirecting += redirects(&scene->facts->pci[i]);
    }
    if (n == 0 || redirecting > 0)
        return;
    struct finding *f = finding_add(out, "p2p.acs-source-only", SEVERITY_INFO,
                                    "ACS checks who sends, and redirects nothing: it does not hinder P2P");
    add_bridges(scene, f, validates_only);
}

static const char *kernel_parameter(const struct scene *scene, const char *name) {
    const struct settings *cmdline = &scene->facts->kernel.cmdline;
    for (size_t i = 0; i < cmdline->count; i++)
        if (strcmp(cmdline->items[i].key, name) == 0)
            return cmdline->items[i].value.value != NULL ? cmdline->items[i].value.value : "";
    return NULL;
}

static void check_override(const struct scene *scene, struct findings *out) {
    const char *value = kernel_parameter(scene, "pcie_acs_override");
    const char *release = scene->facts->kernel.release.value;
    if (value == NULL || release == NULL || strstr(release, "pve") != NULL || strstr(release, "acs") != NULL)
        return;
    struct finding *f = finding_add(out, "p2p.acs-override-ignored", SEVERITY_INFO,
                                    "the kernel %s most likely ignores pcie_acs_override", release);
    finding_evidence(f, "/proc/cmdline", "pcie_acs_override=%s", value);
    finding_remedy(
        f, "take it out: it needs a patched kernel (Proxmox kernels carry the patch), and it splits IOMMU "
           "groups, it does not clear ACS");
}

/* ---- IOMMU ---- */

static const struct kernel_event *page_fault(const struct scene *scene) {
    const struct pci_facts *gpu = NULL;
    for (size_t i = 0; (gpu = versions_gpu(scene, i)) != NULL; i++) {
        const struct kernel_event *e = kernel_log_last(&scene->log, EVENT_IO_PAGE_FAULT, gpu->bdf);
        if (e != NULL)
            return e;
    }
    return NULL;
}

static void check_iommu(const struct scene *scene, struct findings *out) {
    const char *mode = scene->facts->kernel.iommu_mode.value;
    struct p2p_facts p;
    p2p_facts_read(scene, &p);
    if (p2p_bound_gpus(scene) >= 2 && !p.guest && p.over_pcie && mode != NULL &&
        strstr(mode, "DMA") != NULL) {
        const struct kernel_event *fault = page_fault(scene);
        const char *iommu = kernel_parameter(scene, "iommu");
        bool broken = p2p_proved_broken(&p, NULL);
        struct finding *f = finding_add(
            out, "p2p.iommu", broken ? SEVERITY_FAIL : SEVERITY_WARN,
            "the IOMMU translates what the GPUs send (%s): P2P that hangs or copies wrongly is reported",
            mode);
        finding_evidence(f, "iommu_group/type", "%s", mode);
        finding_evidence(f, "/proc/cmdline", iommu != NULL ? "iommu=%s" : "no iommu=pt%s",
                         iommu != NULL ? iommu : "");
        if (fault != NULL)
            finding_evidence(f, "klog", "%s", fault->text);
        p2p_proved_broken(&p, f);
        finding_remedy(
            f, "iommu=pt on the kernel's command line: host devices pass untranslated, virtual machines "
               "keep their isolation");
        finding_remedy(
            f, "or, where no virtual machine gets a device, iommu=off amd_iommu=off (AMD), intel_iommu=off "
               "(Intel): some owners report that pt was not enough; not possible with more than 255 CPUs");
        finding_remedy(f, "or keep it, and leave P2P off: NCCL_P2P_DISABLE=1 costs bandwidth only");
    }
    p2p_facts_free(&p);
}

/* ---- virtual machines ---- */

static void check_unproven(const struct scene *scene, struct findings *out) {
    struct p2p_facts p;
    int pair[2] = {0, 0};
    p2p_facts_read(scene, &p);
    int pairs = p.known && p.guest && p.over_pcie ? count_word(&p, "OK", pair) : 0;
    if (pairs > 0) {
        bool broken = p2p_proved_broken(&p, NULL);
        struct finding *f = finding_add(
            out, "p2p.guest-unproven", broken ? SEVERITY_FAIL : SEVERITY_WARN,
            broken ? "P2P that the hypervisor granted to this virtual machine does not reach the other GPU"
                   : "P2P in this virtual machine rests on the hypervisor's word, and is unproven");
        finding_evidence(f, "nvmlDeviceGetP2PStatus", "%s to %s: OK", p.gpus.items[pair[0]].bdf,
                         p.gpus.items[pair[1]].bdf);
        finding_evidence(f, "hypervisor", "%s", scene->facts->kernel.hypervisor.value);
        p2p_proved_broken(&p, f);
        if (broken)
            finding_remedy(
                f, "take x-nv-gpudirect-clique off the GPUs of this machine, or set NCCL_P2P_DISABLE=1");
        else
            finding_remedy(
                f, "prove it: gpuvet run --case p2p.ladder (a bandwidth test passes even where nothing "
                   "arrives; each copy is read where it must be)");
    }
    p2p_facts_free(&p);
}

/* ---- the rows ---- */

static const struct rule rules[] = {
    {.id = "p2p.wedged",
     .area = AREA_P2P,
     .severity = SEVERITY_FAIL,
     .title = "a GPU is busy, and no process uses it",
     .needs = "probes.json: gpus (utilization_percent, processes)",
     .cause =
         "a kernel that waits for a peer for ever stays on the GPU after its process; only a reset ends it",
     .remedy = "reset the GPU, or reboot",
     .source = "rtx6kpro issue 15",
     .check = p2p_check_wedged},
    {.id = "p2p.bar-no-space",
     .area = AREA_P2P,
     .severity = SEVERITY_FAIL,
     .title = "a GPU's BAR found no room in the machine's address space",
     .needs = "the kernel log",
     .cause = "with a small BAR1, or none, the GPU's memory is not reachable from the bus: P2P through it is "
              "impossible or slow",
     .remedy = "Above 4G Decoding, a larger MMIOH window, pci=realloc",
     .source = "open-gpu-kernel-modules (aikitoria) issue 9",
     .check = p2p_check_no_space},
    {.id = "p2p.display",
     .area = AREA_P2P,
     .severity = SEVERITY_WARN,
     .title = "a monitor on a GPU of a module patched for P2P",
     .needs = "/sys/class/drm, the loaded module's version",
     .cause =
         "with the patched module a GPU that drives a display was reported to copy wrongly between peers",
     .remedy = "the monitor on another card",
     .source = "open-gpu-kernel-modules (aikitoria) issue 11, pull request 34",
     .check = p2p_check_display},
    {.id = "p2p.acs",
     .area = AREA_P2P,
     .severity = SEVERITY_FAIL,
     .title = "ACS redirects copies between GPUs",
     .needs = "PCI configuration space of the bridges above GPUs (root)",
     .cause =
         "with request or completion redirection on, a bridge sends what is meant for the port beside it up to "
         "the root complex: half the bandwidth at best, a hang or wrong data at worst",
     .remedy = "setpci -s BRIDGE ECAP_ACS+6.w=0000 on every bridge between the GPUs",
     .source = "nccl issue 2079; rtx6kpro, ASUS ESC8000A: 50 GB/s both ways with, 103 without",
     .check = check_acs},
    {.id = "p2p.iommu",
     .area = AREA_P2P,
     .severity = SEVERITY_FAIL,
     .title = "the IOMMU translates between GPUs",
     .needs = "/sys/bus/pci/devices/*/iommu_group/type",
     .cause =
         "each access to the other GPU's memory needs a mapping in the IOMMU; hangs and wrong copies are reported",
     .remedy = "iommu=pt, or off where no virtual machine gets a device",
     .source = "nccl issue 1999; vllm issue 33041; open-gpu-kernel-modules issue 1257",
     .check = check_iommu},
    {.id = "p2p.guest-unproven",
     .area = AREA_P2P,
     .severity = SEVERITY_FAIL,
     .title = "P2P in a virtual machine is granted, not proved",
     .needs = "hypervisor, probes.json: p2p",
     .cause =
         "with x-nv-gpudirect-clique the driver believes the hypervisor; where it errs, writes land in a mirror: "
         "the writer reads them back, and the other GPU never sees them",
     .remedy = "gpuvet run --case p2p.ladder",
     .source = "nccl issue 2335",
     .check = check_unproven},
    {.id = "p2p.chipset-emulated",
     .area = AREA_P2P,
     .severity = SEVERITY_WARN,
     .title = "the driver does not know the chipset of a virtual machine",
     .needs = "hypervisor, probes.json: p2p",
     .cause =
         "the driver decides by the PCI id of the first host bridge, and the emulated one is not on its list",
     .remedy = "a container on the host, or bare metal",
     .source = "club-3090 pull request 886: 8086:29c0 in the guest, 1022:1480 on the same machine's metal",
     .check = check_emulated},
    {.id = "p2p.changed",
     .area = AREA_P2P,
     .severity = SEVERITY_WARN,
     .title = "P2P was OK in the baseline",
     .needs = "a saved baseline, probes.json: p2p",
     .cause = "a kernel or module update changed what the driver offers",
     .remedy = "the kernel before, or the same module build for this one",
     .source = "open-gpu-kernel-modules (aikitoria) issue 24: OK with 6.17.13-6-pve, CNS with 7.0.0-3-pve",
     .check = check_changed},
    {.id = "p2p.status",
     .area = AREA_P2P,
     .severity = SEVERITY_WARN,
     .title = "the driver offers no P2P",
     .needs = "probes.json: p2p",
     .cause =
         "the driver's own decision by chipset (CNS), GPU model (GNS), topology (TNS) or a registry key (DR): "
         "copies go through the host",
     .remedy = "by the word",
     .source = "nvidia-smi topo -p2p r",
     .check = check_status},
    {.id = "p2p.acs-source-only",
     .area = AREA_P2P,
     .severity = SEVERITY_INFO,
     .title = "ACS with source validation only",
     .needs = "PCI configuration space of the bridges above GPUs (root)",
     .cause = "source validation refuses forged senders; it redirects nothing",
     .remedy = "none needed",
     .source = "nccl issue 606",
     .check = check_srcvalid},
    {.id = "p2p.acs-override-ignored",
     .area = AREA_P2P,
     .severity = SEVERITY_INFO,
     .title = "pcie_acs_override on a kernel without that patch",
     .needs = "/proc/cmdline",
     .cause = "the parameter exists in patched kernels only",
     .remedy = "take it out",
     .source = "rtx6kpro, ASUS ESC8000A",
     .check = check_override},
    {.id = "p2p.access",
     .area = AREA_P2P,
     .severity = SEVERITY_WARN,
     .title = "a peer mapping was refused",
     .needs = "probes.json: p2p_proof, which gpuvet run makes",
     .cause = "NVML says that P2P is there, and CUDA does not get it",
     .remedy = "NCCL_P2P_DISABLE=1 until it is mended",
     .source = "the ladder of a run",
     .check = p2p_check_proof},
    {.id = "p2p.copy",
     .area = AREA_P2P,
     .severity = SEVERITY_FAIL,
     .title = "a copy between GPUs is wrong at its destination",
     .needs = "probes.json: p2p_proof, which gpuvet run makes",
     .cause = "every call returned success, and the other GPU's memory holds something else",
     .remedy = "see the finding that it follows from; NCCL_P2P_DISABLE=1 until then",
     .source = "open-gpu-kernel-modules issue 1257; nccl issue 2335"},
    {.id = "p2p.exchange",
     .area = AREA_P2P,
     .severity = SEVERITY_FAIL,
     .title = "flags between resident kernels are lost",
     .needs = "probes.json: p2p_proof, which gpuvet run makes",
     .cause = "a kernel that waits for a peer's flag waits for ever: the first collective hangs",
     .remedy = "see the finding that it follows from; NCCL_P2P_DISABLE=1 until then",
     .source = "nccl issues 2079, 2335"},
    {.id = "p2p.hang",
     .area = AREA_P2P,
     .severity = SEVERITY_FAIL,
     .title = "a P2P item of a run hung",
     .needs = "probes.json: p2p_proof, which gpuvet run makes",
     .cause = "the copy or the kernel never ended within its deadline",
     .remedy = "see the finding that it follows from; NCCL_P2P_DISABLE=1 until then",
     .source = "nccl issue 1999"},
    {.id = "p2p.write-collapse",
     .area = AREA_TUNING,
     .severity = SEVERITY_WARN,
     .title = "posted writes collapse",
     .needs = "probes.json: p2p_proof, which gpuvet run makes",
     .cause =
         "several GPUs below one switch that write at once to GPUs behind two or more root complexes come down to "
         "a tenth of one link; reads do not",
     .remedy = "read instead of writing, or one root complex at a time",
     .source = "rtx6kpro: 37 to 2.7 GB/s on two switches, 52 to 7 a pair on four"},
    {0},
};

const struct rule_family family_p2p = {"p2p", rules};
