/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <fcntl.h>
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void finish(SHA2_CTX *context, char out[SHA256_HEX_SIZE]) {
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Final(digest, context);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

void sha256_hex(const void *data, size_t length, char out[SHA256_HEX_SIZE]) {
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, data, length);
    finish(&context, out);
}

bool sha256_file_hex(const char *path, char out[SHA256_HEX_SIZE]) {
    char block[1 << 16];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    SHA2_CTX context;
    off_t done = 0;
    ssize_t got = -1;
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= SHA256_FILE_LIMIT) {
        SHA256Init(&context);
        for (; (got = read(fd, block, sizeof block)) > 0 && done <= SHA256_FILE_LIMIT; done += got)
            SHA256Update(&context, (const uint8_t *)block, (size_t)got);
    }
    close(fd);
    if (got != 0 || done == 0)
        return false;
    finish(&context, out);
    return true;
}
