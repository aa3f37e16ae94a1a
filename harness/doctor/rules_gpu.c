/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs that were asked for and are lost; GPUs that the driver has, but cannot use; which node is which GPU.
 */
#include "doctor/access.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <string.h>

/* The finding, already made, that explains why this GPU is not there; NULL: none. */
static const char *explained(const struct findings *out, const struct access_gpu *gpu) {
    for (size_t i = 0; i < out->count; i++) {
        const struct finding *f = &out->items[i];
        if (f->severity != SEVERITY_FAIL)
            continue;
        if (strstr(f->title, gpu->bdf) != NULL)
            return f->rule->id;
        for (size_t e = 0; e < f->n_evidence; e++)
            if (strstr(f->evidence[e].value, gpu->bdf) != NULL || strcmp(f->evidence[e].path, gpu->bdf) == 0)
                return f->rule->id;
    }
    return NULL;
}

/* ---- bound to the driver, and not usable ---- */

/* How many GPUs NVML says that there are, which may be more than it lists; -1: not asked, or it failed. */
static int nvml_count(const struct scene *scene) {
    if (!versions_nvml_works(scene))
        return -1;
    return (int)js_get_int(js_get(scene->probes, "nvmlInit"), "count", -1);
}

static bool in_proc_known(const struct access *access) {
    for (size_t i = 0; i < access->n_gpus; i++)
        if (access->gpus[i].in_proc)
            return true;
    return false;
}

static const char *unusable_reason(const struct scene *scene, const char *bdf) {
    const js *gpus = js_get(scene->probes, "gpus");
    for (size_t i = 0; i < js_length(gpus); i++)
        if (strcmp(js_get_string(js_at(gpus, i), "bdf", ""), bdf) == 0)
            return js_get_string(js_at(gpus, i), "unusable", NULL);
    return NULL;
}

static void tell_counts(const struct scene *scene, const struct access_gpu *gpu, int count,
                        struct finding *f) {
    const char *reason = unusable_reason(scene, gpu->bdf);
    if (gpu->bound)
        finding_evidence(f, "/sys/bus/pci/devices", "%s is bound to nvidia", gpu->bdf);
    finding_evidence(f, "/proc/driver/nvidia/gpus", gpu->in_proc ? "%s is there" : "%s is not there",
                     gpu->bdf);
    if (count >= 0)
        finding_evidence(f, "nvmlDeviceGetCount", "%d%s%s", count, reason != NULL ? "; " : "",
                         reason != NULL ? reason : "");
}

/* A node of the driver's that no GPU of its list owns: of one that it could not start. */
static bool is_left_over(const struct access_subject *s) {
    return s->role == ROLE_GPU && s->node != NULL && s->gpu == NULL &&
           (s->trouble == TROUBLE_NONE || s->trouble == TROUBLE_UNKNOWN || s->trouble == TROUBLE_ERROR);
}

/* Names of nodes in one text: those left over, or those of the GPUs that NVML lists. */
static void name_nodes(const struct access *access, bool good, struct text *out) {
    for (size_t i = 0; i < access->n_subjects; i++) {
        const struct access_subject *s = &access->subjects[i];
        bool takes = good ? s->role == ROLE_GPU && s->gpu != NULL && s->gpu->in_nvml && s->node != NULL
                          : is_left_over(s);
        if (takes)
            text_addf(out, "%s%s%s", out->length > 0 ? " " : "", good ? "--device " : "", s->path);
    }
}

static void remedy_container(const struct access *access, const char *nodes, struct finding *f) {
    struct text good = {0};
    name_nodes(access, true, &good);
    finding_remedy(
        f,
        "recreate this container without %s: no --privileged and no \"all\", but the good GPUs by name: "
        "--device /dev/nvidiactl --device /dev/nvidia-uvm %s (or --gpus '\"device=UUID,UUID\"'; LXC: take its dev or "
        "lxc.mount.entry line out)",
        nodes, text_string(&good));
    text_free(&good);
}

/* The node of this GPU, where it is here and nothing is wrong with it. */
static const char *sound_node(const struct access *access, const struct access_gpu *gpu) {
    for (size_t i = 0; gpu->minor >= 0 && i < access->n_subjects; i++) {
        const struct access_subject *s = &access->subjects[i];
        if (s->gpu == gpu && s->node != NULL && (s->trouble == TROUBLE_NONE || s->trouble == TROUBLE_UNKNOWN))
            return s->path;
    }
    return NULL;
}

/* Inside of a container a GPU that is left out does harm by its node: cuInit fails as a whole. */
static void check_container(const struct scene *scene, const struct access *access, int count,
                            struct findings *out) {
    struct text orphans = {0};
    bool told = false;
    name_nodes(access, false, &orphans);
    for (size_t i = 0; i < access->n_gpus; i++) {
        const struct access_gpu *gpu = &access->gpus[i];
        if (gpu->in_nvml || gpu->of_vm || (!gpu->bound && !gpu->in_proc) || explained(out, gpu) != NULL)
            continue;
        const char *own = sound_node(access, gpu);
        bool by_rest = gpu->minor < 0 && orphans.length > 0;
        if (own == NULL && !by_rest)
            continue;
        const char *nodes = own != NULL ? own : text_string(&orphans);
        struct finding *f = finding_add(
            out, "gpu.unusable", SEVERITY_FAIL,
            "the driver cannot use GPU %s, and %s%s in this container: CUDA does not start, not even on the others",
            gpu->bdf, nodes, strchr(nodes, ' ') != NULL ? " are (one is its node)" : ", its node, is");
        tell_counts(scene, gpu, count, f);
        finding_evidence(f, nodes, own != NULL ? "is here" : "no GPU below /proc/driver/nvidia/gpus has it");
        remedy_container(access, nodes, f);
        finding_remedy(f, "on the host, see what the driver said of it: dmesg | grep -E 'NVRM|Xid' (GPU %s)",
                       gpu->bdf);
        if (own == NULL && findings_has(out, "nodes.open-error", SEVERITY_FAIL))
            finding_follows(f, "nodes.open-error");
        told = told || by_rest;
    }
    if (orphans.length > 0 && !told && !findings_has(out, "nodes.open-error", SEVERITY_FAIL) &&
        in_proc_known(access)) {
        const char *nodes = text_string(&orphans);
        struct finding *f = finding_add(
            out, "gpu.unusable", SEVERITY_FAIL,
            "%s in this container, of no GPU that the driver can use: CUDA does not start", nodes);
        finding_evidence(f, nodes, "no GPU below /proc/driver/nvidia/gpus has it");
        remedy_container(access, nodes, f);
    }
    text_free(&orphans);
}

static void check_host(const struct scene *scene, const struct access *access, int count,
                       struct findings *out) {
    bool listed = js_is_array(js_get(scene->probes, "gpus")) &&
                  (size_t)count == js_length(js_get(scene->probes, "gpus"));
    for (size_t i = 0; i < access->n_gpus; i++) {
        const struct access_gpu *gpu = &access->gpus[i];
        bool left_out = (in_proc_known(access) && !gpu->in_proc) || (count > 0 && listed && !gpu->in_nvml);
        if (!gpu->bound || !left_out || explained(out, gpu) != NULL)
            continue;
        struct finding *f =
            finding_add(out, "gpu.unusable", SEVERITY_FAIL,
                        "GPU %s is bound to the nvidia driver, but the driver cannot use it", gpu->bdf);
        tell_counts(scene, gpu, count, f);
        finding_remedy(f, "see what the driver said of it: dmesg | grep -E 'NVRM|Xid' (GPU %s)", gpu->bdf);
        finding_remedy(
            f,
            "until it is mended, do not give its node to any container (no --privileged, no \"all\": name the good GPUs), and "
            "unbind it: echo %s > /sys/bus/pci/drivers/nvidia/unbind",
            gpu->bdf);
    }
}

static void check_unusable(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    int count = nvml_count(scene);
    if (access != NULL && access->driver && !scene->container)
        check_host(scene, access, count, out);
    else if (access != NULL && access->driver && count > 0 && versions_cuda_fails(scene) &&
             !findings_has(out, "limits.*", SEVERITY_FAIL) && /* NVML met it too, and left GPUs out for it */
             js_length(js_get(scene->probes, "gpus")) == (size_t)count)
        check_container(scene, access, count, out);
    access_free(access);
}

/* ---- lost ---- */

/* Asked for, its node fine, and neither NVML nor CUDA counts it. */
static void check_lost(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    int count = nvml_count(scene), code = versions_cuda_code(scene);
    bool listed = js_length(js_get(scene->probes, "gpus")) == (size_t)(count < 0 ? 0 : count);
    for (size_t i = 0; access != NULL && access->driver && count >= 0 && listed && i < access->n_gpus; i++) {
        const struct access_gpu *gpu = &access->gpus[i];
        if (gpu->asked_by == NULL || gpu->in_nvml)
            continue;
        const char *why = explained(out, gpu);
        const struct finding *cause = findings_cuda_cause(out);
        if (why == NULL && count == 0 && cause != NULL && strcmp(cause->rule->id, "gpu.lost") != 0)
            why = cause->rule->id; /* what stops all of them stops this one */
        if (why == NULL && findings_has(out, "limits.open-files", SEVERITY_FAIL))
            why = "limits.open-files"; /* some of the nodes could be opened before it was met */
        char left[48];
        if (count == 0 && code > 0)
            snprintf(left, sizeof left, "no GPU is left (cuInit %d)", code);
        else
            snprintf(left, sizeof left, "%d GPU%s left", count, count == 1 ? " is" : "s are");
        struct finding *f = finding_add(out, "gpu.lost", SEVERITY_FAIL,
                                        "GPU %s (/dev/nvidia%d) was asked for and is lost: %s%s", gpu->bdf,
                                        gpu->minor, left, code == 0 ? ", without an error" : "");
        if (why != NULL)
            finding_follows(f, why);
        finding_evidence(f, gpu->bdf, "asked for: %s", gpu->asked_by);
        finding_evidence(f, "nvmlDeviceGetCount", "%d", count);
        if (why != NULL)
            finding_remedy(f, "mend the finding that it follows from");
        else
            finding_remedy(f, "see what the driver said of it: dmesg | grep -E 'NVRM|Xid' (GPU %s)",
                           gpu->bdf);
    }
    access_free(access);
}

/* ---- information ---- */

static void check_not_asked(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    struct finding *f = NULL;
    for (size_t i = 0; access != NULL && access->driver && i < access->n_gpus; i++) {
        const struct access_gpu *gpu = &access->gpus[i];
        if (gpu->asked_by != NULL || (!gpu->bound && !gpu->of_vm))
            continue;
        if (f == NULL)
            f = finding_add(out, "gpu.not-asked", SEVERITY_INFO,
                            "this machine has GPUs that nothing here asks for");
        finding_evidence(f, gpu->bdf,
                         gpu->of_vm ? "bound to another driver (vfio-pci: for a virtual machine)"
                                    : "no node of it is here");
    }
    access_free(access);
}

static void tell_place(const struct access *access, const struct access_gpu *gpu, int index, int *here,
                       bool all, struct finding *f) {
    char path[32];
    snprintf(path, sizeof path, "/dev/nvidia%d", gpu->minor);
    bool given = device_nodes_find(access->scene->nodes, path) != NULL;
    if (all)
        finding_evidence(f, gpu->bdf, "GPU %d of nvidia-smi is %s", index, path);
    else if (given)
        finding_evidence(f, gpu->bdf, "GPU %d of the host's nvidia-smi is %s: GPU %d here", index, path,
                         *here);
    else
        finding_evidence(f, gpu->bdf, "GPU %d of the host's nvidia-smi is %s, which is not here", index,
                         path);
    *here += given;
}

/* nvidia-smi counts in PCI order; the number of a node is another one. A container that has some of the GPUs
 * counts them from 0, which is no surprise where the host's numbers are the nodes'. */
static void check_order(const struct scene *scene, struct findings *out) {
    struct access *access = access_read(scene);
    int index = 0, here = 0;
    bool differs = false, known = access != NULL && access->driver;
    size_t asked = 0;
    for (size_t i = 0; known && i < access->n_gpus; i++) {
        const struct access_gpu *gpu = &access->gpus[i];
        if (gpu->of_vm)
            continue;
        known = gpu->minor >= 0;
        differs = gpu->minor != index++ || differs;
        asked += gpu->asked_by != NULL;
    }
    if (known && differs && asked > 0) {
        bool all = asked == (size_t)index;
        struct finding *f =
            all ? finding_add(
                      out, "gpu.index-is-not-minor", SEVERITY_INFO,
                      "the numbers of the GPUs' nodes are not those of nvidia-smi: /dev/nvidiaN is not GPU N here")
                : finding_add(
                      out, "gpu.index-is-not-minor", SEVERITY_INFO,
                      "%zu of %d GPUs are here, and the numbers of their nodes are not those of nvidia-smi: "
                      "/dev/nvidiaN is not GPU N",
                      asked, index);
        index = 0;
        for (size_t i = 0; i < access->n_gpus; i++)
            if (!access->gpus[i].of_vm)
                tell_place(access, &access->gpus[i], index++, &here, all, f);
        finding_remedy(f, "where a configuration names one node, take it from here");
    }
    access_free(access);
}

static const struct rule rules[] = {
    {.id = "gpu.unusable",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "the driver has a GPU that it cannot use",
     .needs =
         "/sys/bus/pci, /proc/driver/nvidia/gpus, probes.json: nvmlInit, gpus; in a container also cuInit, dev.tsv",
     .cause =
         "it failed to start or fell off the bus; a container that gets its node (--privileged) may not start CUDA at all, before "
         "CUDA_VISIBLE_DEVICES can leave it out",
     .remedy = "mend it, or keep its node from every container",
     .source = "velox-testing pull request 315",
     .check = check_unusable},
    {.id = "gpu.lost",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a GPU that was asked for is not there",
     .needs = "/sys/bus/pci or /proc/driver/nvidia/gpus, probes.json: nvmlInit, gpus",
     .cause =
         "CUDA and NVML leave out what they cannot open, and answer success with one GPU fewer; with none left cuInit "
         "answers 100",
     .remedy = "see the finding that it follows from, or the kernel log",
     .source = "measured: five ways to lose one GPU of two",
     .check = check_lost},
    {.id = "gpu.not-asked",
     .area = AREA_CUDA,
     .severity = SEVERITY_INFO,
     .title = "GPUs that nothing here asks for",
     .needs = "/sys/bus/pci",
     .cause =
         "asked for are, on a host, GPUs bound to nvidia; in a container, those whose node is there or that a variable names",
     .remedy = "none needed",
     .source = "definition",
     .check = check_not_asked},
    {.id = "gpu.index-is-not-minor",
     .area = AREA_CUDA,
     .severity = SEVERITY_INFO,
     .title = "a GPU's index is not the number of its node",
     .needs = "/proc/driver/nvidia/gpus",
     .cause = "indices follow PCI addresses, minors follow the order in which the driver found the GPUs",
     .remedy = "map by address or UUID",
     .source = "nvidia-docker wiki, GPU isolation",
     .check = check_order},
    {0},
};

const struct rule_family family_gpu = {"gpu", rules};
