/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of baselines, libraries and names (libmd inside). */
#ifndef GPUVET_BASE_HASH_H
#define GPUVET_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_HEX_SIZE = 65 };
/* SHA-256 in lower-case hexadecimal, terminated. */
void sha256_hex(const void *data, size_t length, char out[SHA256_HEX_SIZE]);

/* Of a whole file, read in blocks: one that is cut short meanwhile (an upgrade) is no signal, as it would be
 * mapped. False: no regular file that can be read, an empty one, or one over the limit (the largest library
 * has 0.8 GB; a sparse file of terabytes would be read for hours). */
#define SHA256_FILE_LIMIT ((int64_t)4 << 30)
bool sha256_file_hex(const char *path, char out[SHA256_HEX_SIZE]);

#endif
