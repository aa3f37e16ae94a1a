/* SPDX-License-Identifier: Apache-2.0 */
/* A /dev that a driver's library may change without anybody seeing it. For a child that ends soon. */
#ifndef GPUVET_GPU_OWN_DEV_H
#define GPUVET_GPU_OWN_DEV_H

#include "base/json.h"
#include "base/text.h"

/* Gives this process no_new_privs and takes from it what loads modules; root gets a mount namespace whose
 * /dev is a tmpfs with the same nodes bound in. Where that is refused, it cannot make
 * nodes at all. `before` gets the driver's nodes that are there. */
void own_dev_enter(struct strings *before);

/* Paths of the driver's nodes that were not there before. Owned. */
js *own_dev_new(const struct strings *before);

#endif
