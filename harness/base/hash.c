/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <fcntl.h>
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void sha256_hex(const void *data, size_t length, char out[SHA256_HEX_SIZE]) {
    SHA2_CTX context;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Init(&context);
    SHA256Update(&context, data, length);
    SHA256Final(digest, &context);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

bool sha256_file_hex(const char *path, char out[SHA256_HEX_SIZE]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *map = MAP_FAILED;
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map != MAP_FAILED) {
        madvise(map, (size_t)st.st_size, MADV_SEQUENTIAL);
        sha256_hex(map, (size_t)st.st_size, out);
        munmap(map, (size_t)st.st_size);
    }
    close(fd);
    return map != MAP_FAILED;
}
