/* SPDX-License-Identifier: Apache-2.0 */
/* What hwloc crashes on, found before it is given to it: an XML from outside may be anything. */
#ifndef GPUVET_SYSTEM_TOPOLOGY_CHECK_H
#define GPUVET_SYSTEM_TOPOLOGY_CHECK_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Refused: elements nested deeper than any machine's (hwloc recurses), objects with a cpuset or nodeset
 * without the complete_ one beside it, which hwloc always writes and takes for granted, sets that are not
 * written as its own (it asserts), and PUs and NUMA nodes without a number below a million (it makes sets
 * with that bit: half a GiB each for -1). Other faults are hwloc's to find. False: ERROR_DATA. */
bool topology_check(const char *xml, size_t length, struct error *err);

#endif
