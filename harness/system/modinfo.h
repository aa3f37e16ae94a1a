/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel module's file says of itself (the .modinfo section) and by whom it is signed. */
#ifndef GPUVET_SYSTEM_MODINFO_H
#define GPUVET_SYSTEM_MODINFO_H

#include "base/json.h"

/* {"version","license","vermagic","signer"} of an uncompressed 64-bit module, as in a capture's probes.json:
 * what is absent in the file is absent; signer "" is a module without a signature, "?" one whose signer
 * cannot be told. NULL: no module, compressed, or unreadable. Owned. Hostile files are bounded. */
js *modinfo_read(const char *path);

/* The same of bytes: `data` is the whole file. For modinfo_read's tests and fuzzing. */
js *modinfo_of(const unsigned char *data, size_t length);

#endif
