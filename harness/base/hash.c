/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <sha2.h>
#include <stdint.h>
#include <stdio.h>

void sha256_hex(const void *data, size_t length, char out[SHA256_HEX_SIZE]) {
    SHA2_CTX context;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Init(&context);
    SHA256Update(&context, data, length);
    SHA256Final(digest, &context);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}
