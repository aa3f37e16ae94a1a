/* SPDX-License-Identifier: Apache-2.0 */
/* Which fabric manager is installed, read and never run. */
#ifndef GPUVET_DOCTOR_FABRIC_MANAGER_H
#define GPUVET_DOCTOR_FABRIC_MANAGER_H

#include "base/json.h"
#include "system/device_nodes.h"

/* {"version","from"}; NULL: no NVSwitch node is here, or nothing says it. `root` is "" or a folder to look
 * below. */
js *fabric_manager_installed(const struct device_nodes *nodes, const char *root);

#endif
