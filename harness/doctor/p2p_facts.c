/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/p2p_facts.h"

#include "doctor/versions.h"
#include "system/look.h"

#include <stdlib.h>
#include <string.h>

/* "RegistryDwords: "RMForceStaticBar1=1;…"" of /proc/driver/nvidia/params. The file of the same name below
 * /sys/module is empty even when it is set. */
static char *registry_dwords(const struct scene *scene) {
    struct text params = {0};
    char *value = NULL;
    if (look_bytes(scene->source, "/proc/driver/nvidia/params", LOOK_LARGE, &params))
        value = look_field(text_string(&params), "RegistryDwords");
    text_free(&params);
    if (value == NULL)
        return NULL;
    size_t length = strlen(value);
    if (length >= 2 && value[0] == '"' && value[length - 1] == '"') {
        memmove(value, value + 1, length - 2);
        value[length - 2] = '\0';
    }
    return value;
}

static bool any_over_pcie(const struct gpu_list *gpus) {
    for (size_t i = 0; i < gpus->count; i++)
        for (size_t k = 0; k < gpus->count; k++)
            if (i != k && gpu_list_nvlinks(gpus, (int)i, (int)k) <= 0)
                return true;
    return gpus->count < 2;
}

void p2p_facts_read(const struct scene *scene, struct p2p_facts *out) {
    const char *hypervisor = scene->facts->kernel.hypervisor.value;
    *out = (struct p2p_facts){.guest = hypervisor != NULL && strcmp(hypervisor, "none") != 0};
    gpu_list_from_json(js_get(scene->probes, "gpus"), &out->gpus);
    gpu_list_set_pairs(&out->gpus, js_get(scene->probes, "p2p"), js_get(scene->probes, "nvlink"));
    out->known = out->gpus.count >= 2 && out->gpus.p2p != NULL;
    out->over_pcie = any_over_pcie(&out->gpus);
    out->dwords = registry_dwords(scene);
    const js *proof = js_get(scene->probes, "p2p_proof");
    out->proof = js_is_array(proof) ? proof : NULL;
}

void p2p_facts_free(struct p2p_facts *facts) {
    gpu_list_free(&facts->gpus);
    free(facts->dwords);
}

int p2p_bound_gpus(const struct scene *scene) {
    int bound = 0;
    const struct pci_facts *gpu = NULL;
    for (size_t i = 0; (gpu = versions_gpu(scene, i)) != NULL; i++)
        bound += gpu->driver.value != NULL && strcmp(gpu->driver.value, "nvidia") == 0;
    return bound;
}

bool p2p_proved_broken(const struct p2p_facts *facts, struct finding *finding) {
    static const char *const broken[] = {"p2p.copy", "p2p.exchange", "p2p.hang"};
    bool any = false;
    for (size_t i = 0; i < js_length(facts->proof); i++) {
        const js *one = js_at(facts->proof, i);
        const char *what = js_get_string(one, "finding", "");
        /* A collective that ends without P2P, and only then, proves it too. */
        bool without = strcmp(what, "nccl.hang") == 0 && strcmp(js_get_string(one, "control", ""), "ok") == 0;
        for (size_t k = 0; k < sizeof broken / sizeof *broken; k++)
            if (strcmp(what, broken[k]) == 0 || (without && k == 0)) {
                any = true;
                if (finding != NULL)
                    finding_evidence(finding, what, "%s to %s: %s", js_get_string(one, "from", "?"),
                                     js_get_string(one, "to", "?"), js_get_string(one, "why", "failed"));
            }
    }
    return any;
}
