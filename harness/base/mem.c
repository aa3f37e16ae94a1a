/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *checked(void *p) {
    if (p == NULL) {
        fputs("gpuvet: out of memory (see ulimit -v, and the memory limit of the cgroup)\n", stderr);
        _exit(2); /* as for what is refused; nothing that still wants to run could be trusted to */
    }
    return p;
}

void *mem_zeroed(size_t count, size_t size) {
    return checked(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *mem_resize(void *old, size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size)
        return checked(NULL);
    size_t bytes = count * size;
    return checked(realloc(old, bytes > 0 ? bytes : 1));
}

char *mem_copy_string(const char *s) {
    return s == NULL ? NULL : mem_copy_bytes(s, strlen(s));
}

char *mem_copy_bytes(const char *s, size_t n) {
    char *copy = mem_zeroed(n + 1, 1);
    if (n > 0)
        memcpy(copy, s, n);
    return copy;
}

void *mem_grow(void *array, size_t used, size_t *capacity, size_t size) {
    if (used < *capacity)
        return array;
    *capacity = *capacity < 8 ? 8 : *capacity * 2;
    return mem_resize(array, *capacity, size);
}
