/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of each GPU, as plain data: read by NVML in gpu/ (live) or from a capture's probes.json. The
 * JSON form is the "gpus" array of gpuvet.capture/1 (docs/capture.md). */
#ifndef GPUVET_SYSTEM_GPUS_H
#define GPUVET_SYSTEM_GPUS_H

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers that are not known are -1, text is "". */
struct gpu_info {
    int index;     /* PCI order, as nvidia-smi counts */
    char uuid[80]; /* "GPU-…" */
    char bdf[16];  /* "0000:41:00.0", lower case */
    char name[96];
    char driver[32]; /* "580.159.04" */
    int cc_major, cc_minor;
    int64_t memory_mib;
    int64_t bar1_mib;
    int memory_bus_bits;
    int mem_clock_max_mhz, sm_clock_max_mhz;
    int pcie_gen_max, pcie_width_max;
    bool mig;           /* MIG is on: a skip with that reason */
    char unusable[160]; /* why CUDA cannot use it; "": usable as far as is known */
};

struct gpu_list {
    struct gpu_info *items;
    size_t count;
    char reason[256]; /* why there is no GPU (or no NVML): for skips; "" when count > 0 */
    js *raw;          /* the JSON array as it came, owned; NULL: none */
    js *p2p, *nvlink; /* of pairs, as they came, owned; NULL: not known */
};

/* `array` (borrowed) may be hostile: what does not fit is left unknown; at most 64 GPUs. */
void gpu_list_from_json(const js *array, struct gpu_list *out);
void gpu_list_free(struct gpu_list *list);

/* An address as the kernel writes it, "0000:41:00.0", from that or from the driver's "00000000:41:00.0" in
 * either case of letters. False, and "": it is none. */
bool gpu_bdf(const char *said, char out[16]);

/* The "p2p" and "nvlink" of gpuvet.capture/1 (borrowed, hostile; NULL: not known). */
void gpu_list_set_pairs(struct gpu_list *list, const js *p2p, const js *nvlink);
/* By the GPUs' `index`: the driver's word for reads and writes between two of them ("OK", "CNS", "GNS",
 * "TNS", "DR", "NS"); "" where it is not known. */
const char *gpu_list_p2p(const struct gpu_list *list, int from, int to);
/* What such a word means, "chipset not supported"; "" for any other. Static text. */
const char *gpu_p2p_meaning(const char *word);
/* NVLinks from one to the other, through switches or not; 0: none, -1: not known. */
int gpu_list_nvlinks(const struct gpu_list *list, int from, int to);

/* Whether an entry with "utilization_percent" and "processes" (hostile) says: busy, and nobody there. */
bool gpu_is_busy_alone(const js *gpu);

/* Flat environment keys gpu.UUID.{name,driver,vbios,power_limit_w,ecc,persistence,bar1_mib},
 * p2p.UUID (to the other GPUs: "OK", or counted where they differ) and nvlinks.UUID go to `stable`;
 * gpu.UUID.{temperature_c,pstate,…} and what else moves by itself go to `moving`. */
void gpu_list_environment(const struct gpu_list *list, js *stable, js *moving);

#endif
