/* SPDX-License-Identifier: Apache-2.0 */
/* NVML by dlopen, with what is used of it declared by us, so that it works (and doctor builds) without a
 * toolkit. Calls can take milliseconds and can hang in a sick driver: only short-lived children use this. */
#ifndef GPUVET_GPU_NVML_H
#define GPUVET_GPU_NVML_H

#include "base/error.h"
#include "base/json.h"

struct nvml;

/* NULL with `err` saying whether the library is absent, the driver is not loaded, the versions differ … */
struct nvml *nvml_open(struct error *err);
void nvml_close(struct nvml *nvml);

/* The "gpus" array of gpuvet.capture/1 (docs/capture.md), GPUs in PCI order; what NVML does not give is null.
 * Owned; NULL with `err` where the GPUs cannot be counted, as for the next two. */
js *nvml_gpus(struct nvml *nvml, struct error *err);

/* {"gpus","p2p","nvlink"}: that array, and of each pair of its GPUs (at least two), in its order, where they
 * are known. p2p: rows of "X", "OK", "CNS", "GNS", "TNS", "DR", "NS", "U", the worse one of reading and
 * writing. nvlink: [{"from","to","links"}], pairs without links left out, "links" null where NVML does not
 * say. Owned. */
js *nvml_node_gpus(struct nvml *nvml, struct error *err);

/* What is on each GPU right now, for the quiet gate: [{"uuid","utilization_percent","memory_used_mib",
 * "processes":[{"pid","used_mib"}]}]. Owned. */
js *nvml_activity(struct nvml *nvml, struct error *err);

/* Of one GPU, null where unknown: {"replays","throttled_us":{…}}, counters that are taken as differences
 * around an item, in one call where the driver is not too old; with NVML_STATE "temperature_c", "power_w" and
 * "pstate", with NVML_LINK "pcie_gen" and "pcie_width": a call each. Owned, never NULL: of a GPU that NVML
 * does not find all is null. */
enum { NVML_STATE = 1, NVML_LINK = 2 };
js *nvml_counters(struct nvml *nvml, const char *uuid, unsigned parts);

#endif
