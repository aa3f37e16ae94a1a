/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of baselines, libraries and names (libmd inside). */
#ifndef GPUVET_BASE_HASH_H
#define GPUVET_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>

enum { SHA256_HEX_SIZE = 65 };
/* SHA-256 in lower-case hexadecimal, terminated. */
void sha256_hex(const void *data, size_t length, char out[SHA256_HEX_SIZE]);

/* Of a whole file, by mmap: libraries have half a gigabyte. False: no regular file that can be read, or an
 * empty one. */
bool sha256_file_hex(const char *path, char out[SHA256_HEX_SIZE]);

#endif
