/* SPDX-License-Identifier: Apache-2.0 */
/* What sysfs tells of a PCI device and the bridges above it at this moment: error counters and the link.
 * Cheap (a few small files, no driver's lock), so that it can be asked around every item. */
#ifndef GPUVET_SYSTEM_PCI_STATE_H
#define GPUVET_SYSTEM_PCI_STATE_H

#include "base/json.h"
#include "system/facts.h"

struct pci_link {
    int gen, width; /* 0: not known */
};

/* The link as it runs now; `bdf` in lower case. One read of the device's own configuration space each. */
struct pci_link pci_link_now(const struct source *source, const char *bdf);

/* Advanced Error Reporting totals since boot of the device and each bridge up to the root port:
 * {"0000:01:00.0":{"correctable":0,"nonfatal":0,"fatal":0},…}. Only devices that have the counters; an empty
 * object when none has (a guest, a kernel without AER). Owned. */
js *pci_errors(const struct source *source, const char *bdf);

#endif
