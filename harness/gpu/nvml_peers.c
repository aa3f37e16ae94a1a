/* SPDX-License-Identifier: Apache-2.0 */
/* "p2p" and "nvlink" of gpuvet.capture/1: what the driver says of each pair of GPUs. */
#include "gpu/nvml.h"

#include "gpu/nvml_library.h"

#include <string.h>

enum { P2P_READ = 0, P2P_WRITE = 1, P2P_NVLINK = 2 };    /* nvmlGpuP2PCapsIndex_t */
enum { P2P_OK = 0, P2P_UNKNOWN = 6 };                    /* nvmlGpuP2PStatus_t */
enum { FAR_GPU = 0, FAR_SWITCH = 2, FAR_UNKNOWN = 255 }; /* nvmlIntNvLinkDeviceType_t */
enum { MAX_LINKS = 36, MAX_GPUS = 64, NO_LINKS = 0, LINKS_UNKNOWN = -1 };

/* The words of nvidia-smi topo -p2p. */
static const char *p2p_word(int status) {
    static const char *const words[] = {"OK", "CNS", "GNS", "TNS", "DR", "NS", "U"};
    return status >= 0 && status < (int)(sizeof words / sizeof *words) ? words[status] : "U";
}

static int status_of(const struct nvml *nvml, nvml_device from, nvml_device to, int capability) {
    int status = P2P_UNKNOWN;
    bool known = from != NULL && to != NULL && nvml->p2p_status != NULL &&
                 nvml->p2p_status(from, to, capability, &status) == NVML_OK;
    return known ? status : P2P_UNKNOWN;
}

/* The worse one of read and write. */
static const char *pair_word(const struct nvml *nvml, nvml_device from, nvml_device to) {
    int reads = status_of(nvml, from, to, P2P_READ);
    return p2p_word(reads != P2P_OK ? reads : status_of(nvml, from, to, P2P_WRITE));
}

/* ---- NVLinks ---- */

/* What the active links of one GPU lead to. */
struct links {
    int total; /* LINKS_UNKNOWN: NVML does not say */
    int to_switch;
    int to_gpu[MAX_GPUS];
    int elsewhere; /* to what is none of these, or is not told */
};

/* The index of the GPU with this address; -1: none of them. */
static int gpu_at(const struct nvml_pci *places, size_t count, const struct nvml_pci *far) {
    for (size_t i = 0; i < count; i++)
        if (places[i].domain == far->domain && places[i].bus == far->bus && places[i].device == far->device)
            return (int)i;
    return -1;
}

static void look_at_link(const struct nvml *nvml, nvml_device gpu, unsigned link,
                         const struct nvml_pci *places, size_t count, struct links *out) {
    struct nvml_pci far;
    int type = FAR_UNKNOWN;
    memset(&far, 0, sizeof far);
    if (nvml->nvlink_remote_type == NULL || nvml->nvlink_remote_type(gpu, link, &type) != NVML_OK)
        type = FAR_UNKNOWN;
    bool placed = nvml->nvlink_remote != NULL && nvml->nvlink_remote(gpu, link, &far) == NVML_OK;
    int which = placed ? gpu_at(places, count, &far) : -1;
    out->total++;
    if (type == FAR_SWITCH)
        out->to_switch++;
    else if (which >= 0)
        out->to_gpu[which]++;
    else if (type == FAR_UNKNOWN)
        out->elsewhere++;
    /* What is left leads to a GPU that is not ours to see. */
}

static void read_links(const struct nvml *nvml, nvml_device gpu, const struct nvml_pci *places, size_t count,
                       struct links *out) {
    *out = (struct links){.total = LINKS_UNKNOWN};
    if (gpu == NULL || nvml->nvlink_state == NULL)
        return;
    for (unsigned link = 0; link < MAX_LINKS; link++) {
        unsigned up = 0;
        int status = nvml->nvlink_state(gpu, link, &up);
        /* A GPU without NVLink says "not supported", one with fewer links "invalid argument". */
        if (status != NVML_OK && status != NVML_NOT_SUPPORTED && status != NVML_INVALID) {
            out->total = LINKS_UNKNOWN;
            return;
        }
        out->total = link == 0 ? NO_LINKS : out->total;
        if (status == NVML_OK && up != 0)
            look_at_link(nvml, gpu, link, places, count, out);
    }
}

/* Through a switch every link of a GPU leads to each of the others. Where the driver does not tell what is at
 * the far end, and it is none of the GPUs here, it is a switch if NVLink reaches the other GPU. */
static int links_between(const struct links *from, const struct links *to, size_t to_index, bool reaches) {
    if (from->total < 0 || to->total < 0)
        return LINKS_UNKNOWN;
    if (from->to_gpu[to_index] > 0)
        return from->to_gpu[to_index];
    int its = from->to_switch + (reaches ? from->elsewhere : 0);
    int others = to->to_switch + (reaches ? to->elsewhere : 0);
    return its < others ? its : others;
}

/* ---- all pairs ---- */

static js *p2p_matrix(const struct nvml *nvml, const nvml_device *gpus, size_t count) {
    js *out = js_new_array();
    for (size_t i = 0; i < count; i++) {
        js *row = js_new_array();
        for (size_t k = 0; k < count; k++)
            js_append_string(row, i == k ? "X" : pair_word(nvml, gpus[i], gpus[k]));
        js_append(out, row);
    }
    return out;
}

static js *nvlink_list(const struct nvml *nvml, const nvml_device *gpus, size_t count) {
    struct links links[MAX_GPUS];
    struct nvml_pci places[MAX_GPUS];
    memset(places, 0, sizeof places);
    for (size_t i = 0; i < count; i++)
        if (gpus[i] == NULL || nvml->pci == NULL || nvml->pci(gpus[i], &places[i]) != NVML_OK)
            places[i].bus = ~0U; /* no link's far end */
    for (size_t i = 0; i < count; i++)
        read_links(nvml, gpus[i], places, count, &links[i]);
    js *out = js_new_array();
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            bool reaches = i != k && status_of(nvml, gpus[i], gpus[k], P2P_NVLINK) == P2P_OK;
            int n = i == k ? NO_LINKS : links_between(&links[i], &links[k], k, reaches);
            if (n == NO_LINKS)
                continue;
            js *one = js_new_object();
            js_set_int(one, "from", (int64_t)i);
            js_set_int(one, "to", (int64_t)k);
            js_set(one, "links", n < 0 ? js_new_null() : js_new_int(n));
            js_append(out, one);
        }
    return out;
}

/* Owned; NULL: not known. */
static void read_pairs(const struct nvml *nvml, const js *list, js **p2p, js **nvlink) {
    nvml_device gpus[MAX_GPUS] = {NULL};
    size_t count = js_length(list);
    *p2p = *nvlink = NULL;
    if (count < 2 || count > MAX_GPUS || nvml->by_uuid == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        const char *uuid = js_get_string(js_at(list, i), "uuid", NULL);
        if (uuid == NULL || nvml->by_uuid(uuid, &gpus[i]) != NVML_OK)
            gpus[i] = NULL;
    }
    if (nvml->p2p_status != NULL)
        *p2p = p2p_matrix(nvml, gpus, count);
    if (nvml->nvlink_state != NULL)
        *nvlink = nvlink_list(nvml, gpus, count);
}

js *nvml_node_gpus(struct nvml *nvml, struct error *err) {
    js *gpus = nvml_gpus(nvml, err);
    if (gpus == NULL) {
        RELAY(err);
        return NULL;
    }
    js *p2p = NULL, *nvlink = NULL;
    read_pairs(nvml, gpus, &p2p, &nvlink);
    js *out = js_new_object();
    js_set(out, "gpus", gpus);
    if (p2p != NULL)
        js_set(out, "p2p", p2p);
    if (nvlink != NULL)
        js_set(out, "nvlink", nvlink);
    return out;
}
