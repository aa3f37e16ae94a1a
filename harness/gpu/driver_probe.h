/* SPDX-License-Identifier: Apache-2.0 */
/* The driver asked whether it works: NVML, then cuInit, by dlopen and with our own declarations, so that this
 * builds without a toolkit. Each in a child of its own, since a sick driver hangs or crashes whoever asks,
 * and a failed cuInit stays failed. */
#ifndef GPUVET_GPU_DRIVER_PROBE_H
#define GPUVET_GPU_DRIVER_PROBE_H

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* Sets in `probes`: "nvmlInit" {"code","count"}, "gpus", "p2p", "nvlink"; "cuInit" {"code"}, "cuda_devices",
 * "made_by_probe" [paths], and where a GPU is in an exclusive mode its "processes" and "cuCtxCreate":
 * {"code":46 or 0,"gpus":{BDF: code}}. A context is made only where it may say something: somebody is seen on
 * that GPU, or could be there unseen, as in a `container`; elsewhere it would take the GPU from whoever
 * starts just then. A hang is {"code":null,"timeout":true}, a death {"code":null,"signal":N}, a library that
 * is not there {"code":null,"absent":true,"reason":…}. All within `limit_ns`. Without `cuda` only NVML is
 * asked.
 *
 * Asking changes nothing: the children have no_new_privs and cannot load modules; root's also have a /dev of
 * their own with the same nodes bound in, since root's libcuda makes the nodes that it misses. What it made
 * there is "made_by_probe". Where no such /dev can be made (a container's root), they cannot make nodes at
 * all. */
void driver_probe(js *probes, bool cuda, bool container, int64_t limit_ns);

#endif
