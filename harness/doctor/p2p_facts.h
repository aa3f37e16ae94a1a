/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules about P2P ask of a scene: its pairs of GPUs, what the driver says of each, what lies between
 * them, and what a run has proved. */
#ifndef GPUVET_DOCTOR_P2P_FACTS_H
#define GPUVET_DOCTOR_P2P_FACTS_H

#include "doctor/doctor.h"
#include "system/gpus.h"

struct p2p_facts {
    struct gpu_list gpus; /* as NVML lists them; owned */
    bool known;           /* at least two, and what the driver says of them */
    bool guest;           /* a virtual machine */
    bool over_pcie;       /* at least one pair has no NVLink, as far as is known */
    char *dwords;         /* RegistryDwords of the loaded module, "" none; NULL unknown; owned */
    const js *proof;      /* the array "p2p_proof" of the probes; NULL: no run has told */
};

void p2p_facts_read(const struct scene *scene, struct p2p_facts *out);
void p2p_facts_free(struct p2p_facts *facts);

/* NVIDIA GPUs on the bus that are bound to the nvidia driver. */
int p2p_bound_gpus(const struct scene *scene);
/* A run found a P2P copy wrong, flags lost, or an item hung: evidence is added to `finding` where that is not
 * NULL. */
bool p2p_proved_broken(const struct p2p_facts *facts, struct finding *finding);

#endif
