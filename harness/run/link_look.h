/* SPDX-License-Identifier: Apache-2.0 */
/* The PCIe links while they work. An idle GPU may train its link down within milliseconds, so what is read
 * after an item says little; a read inside a timed sample would travel over the very link. So it is read in
 * the warm-up, while the operations that fill the link are on their way. */
#ifndef GPUVET_RUN_LINK_LOOK_H
#define GPUVET_RUN_LINK_LOOK_H

#include "run/case.h"

/* Between issuing a warm-up batch that fills the links and waiting for it: keeps generation and width of
 * every GPU of the item in context->links, the last look counts. What is read when `stream` has already run
 * dry was not under load and is not kept. From sysfs: some microseconds, no driver's lock. Does nothing for a
 * case without loads_link. */
void link_look(struct case_context *context, gpu_stream stream);

#endif
