/* SPDX-License-Identifier: Apache-2.0 */
/* One YAML document as a JSON value (libyaml inside). Aliases and anchors are refused: no file that is read
 * here needs them, and they can make a small file large. */
#ifndef GPUVET_BASE_YAML_H
#define GPUVET_BASE_YAML_H

#include "base/error.h"
#include "base/json.h"

#include <stddef.h>

/* Plain scalars that are decimal or 0x numbers become integers, true and false booleans, everything else
 * text. Owned; NULL with `err` (kind ERROR_DATA, the line in its text) for what is no YAML, deeper than 64,
 * or has over 100,000 values. An empty document is JSON null. */
js *yaml_parse(const char *data, size_t length, struct error *err);

#endif
