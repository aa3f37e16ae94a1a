/* SPDX-License-Identifier: Apache-2.0 */
#include "system/pin.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES_ASKED = 256 };

/* The set a process was started with, kept from before the first pin: read from the process's first thread
 * would be too late. */
static cpu_set_t *started_with(void) {
    static cpu_set_t set;
    static bool known;
    if (!known)
        known = sched_getaffinity(0, sizeof set, &set) == 0;
    return known ? &set : NULL;
}

bool pin_thread(int os_cpu, struct error *err) {
    cpu_set_t one;
    started_with();
    if (os_cpu < 0 || os_cpu >= CPU_SETSIZE)
        return FAIL(err, ERROR_SYSTEM, "CPU %d is out of range", os_cpu);
    CPU_ZERO(&one);
    CPU_SET((size_t)os_cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot pin to CPU %d: %s", os_cpu, strerror(errno));
    int bound = pin_bound_cpu();
    if (bound != os_cpu)
        return FAIL(err, ERROR_SYSTEM, "pinned to CPU %d, but bound to %d", os_cpu, bound);
    return true;
}

int pin_bound_cpu(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) != 1)
        return -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &set))
            return sched_getcpu() == cpu ? cpu : -1;
    return -1;
}

bool pin_release(struct error *err) {
    cpu_set_t *set = started_with();
    if (set == NULL || sched_setaffinity(0, sizeof *set, set) != 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot undo pinning: %s", strerror(errno));
    return true;
}

/* Nodes of a sample of the pages. A kernel or seccomp filter that does not tell leaves found_node at -1. */
void host_buffer_read_back(struct host_buffer *buffer) {
    void *pages[PAGES_ASKED];
    int status[PAGES_ASKED];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t total = (buffer->bytes + page - 1) / page;
    size_t n = total < PAGES_ASKED ? total : PAGES_ASKED;
    buffer->found_node = -1;
    buffer->on_node = 1;
    for (size_t i = 0; i < n; i++)
        pages[i] = (char *)buffer->data + (n > 0 ? i * (total / n) : 0) * page;
    if (n == 0 || move_pages(0, n, pages, NULL, status, 0) != 0)
        return;
    size_t as_asked = 0;
    for (size_t i = 0; i < n; i++) {
        as_asked += status[i] == buffer->os_node ? 1 : 0;
        if (i == 0)
            buffer->found_node = status[i];
        else if (status[i] != buffer->found_node)
            buffer->found_node = -2;
    }
    if (buffer->os_node >= 0)
        buffer->on_node = (double)as_asked / (double)n;
}

/* True when the policy was set, or cannot be set here at all (no NUMA, or forbidden): the page check tells.
 */
static bool bind_to_node(struct host_buffer *buffer, struct error *err) {
    enum { BITS = 8 * sizeof(unsigned long), WORDS = 16 };
    unsigned long mask[WORDS] = {0};
    if (buffer->os_node < 0 || numa_available() < 0)
        return true;
    if (buffer->os_node >= WORDS * (int)BITS)
        return FAIL(err, ERROR_SYSTEM, "NUMA node %d is out of range", buffer->os_node);
    mask[(size_t)buffer->os_node / BITS] = 1UL << ((size_t)buffer->os_node % BITS);
    buffer->bound = mbind(buffer->data, buffer->bytes, MPOL_BIND, mask, WORDS * BITS, 0) == 0;
    if (buffer->bound || errno == EPERM || errno == ENOSYS)
        return true;
    return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot bind memory to NUMA node %d: %s", buffer->os_node,
                       strerror(errno));
}

bool host_buffer_reserve(size_t bytes, int os_node, struct host_buffer *out, struct error *err) {
    *out = (struct host_buffer){.bytes = bytes, .os_node = os_node, .found_node = -1, .on_node = 1};
    out->data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out->data == MAP_FAILED) {
        out->data = NULL;
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot get %zu MiB of memory: %s", bytes >> 20,
                           strerror(errno));
    }
    madvise(out->data, bytes, MADV_HUGEPAGE); /* fewer faults while touching; no matter if refused */
    if (bind_to_node(out, err))
        return true;
    host_buffer_free(out);
    return false;
}

bool host_buffer_make(size_t bytes, int os_node, struct host_buffer *out, struct error *err) {
    if (!host_buffer_reserve(bytes, os_node, out, err))
        return false;
    for (size_t at = 0; at < bytes; at += 4096) /* the kernel clears each page as it is touched */
        ((volatile unsigned char *)out->data)[at] = 1;
    host_buffer_read_back(out);
    return true;
}

void host_buffer_free(struct host_buffer *buffer) {
    if (buffer->data != NULL)
        munmap(buffer->data, buffer->bytes);
    buffer->data = NULL;
}
