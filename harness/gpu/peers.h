/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU's memory mapped for another. A mapping that the driver refuses is an answer like any other: the
 * context stays usable, and nothing is left to blame the next call for. */
#ifndef GPUVET_GPU_PEERS_H
#define GPUVET_GPU_PEERS_H

#include "gpu/gpu.h"

enum gpu_peer {
    GPU_PEER_ON,      /* `from` reaches the memory of `to` */
    GPU_PEER_REFUSED, /* the driver says that it cannot, or did not map it: `err` has its words */
    GPU_PEER_FAILED,  /* the question itself went wrong: `err` */
};

/* Maps the memory of `to` for `from`, all that is there and what will be. Once is enough; again is no error.
 * Makes `from` current. */
enum gpu_peer gpu_peer_enable(const struct gpu_device *from, const struct gpu_device *to, struct error *err);
/* Takes the mapping back; where there was none, that is fine. Makes `from` current. */
bool gpu_peer_disable(const struct gpu_device *from, const struct gpu_device *to, struct error *err);

#endif
