/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/corrupt.h"

#include <string.h>

void corrupt_word_host(void *buffer, uint64_t offset) {
    unsigned char *at = (unsigned char *)buffer + offset;
    for (int i = 0; i < CORRUPT_WORD_BYTES; i++)
        at[i] = (unsigned char)~at[i];
}

void corrupt_shift_host(void *buffer, uint64_t offset) {
    unsigned char *at = (unsigned char *)buffer + offset;
    unsigned char last[16];
    memcpy(last, at + CORRUPT_SHIFT_BYTES - sizeof last, sizeof last);
    memmove(at + sizeof last, at, CORRUPT_SHIFT_BYTES - sizeof last);
    memcpy(at, last, sizeof last);
}

void corrupt_swap_host(void *a, void *b, size_t bytes) {
    unsigned char *left = a, *right = b;
    unsigned char part[4096];
    for (size_t done = 0; done < bytes; done += sizeof part) {
        size_t n = bytes - done < sizeof part ? bytes - done : sizeof part;
        memcpy(part, left + done, n);
        memcpy(left + done, right + done, n);
        memcpy(right + done, part, n);
    }
}
