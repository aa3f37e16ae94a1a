/* SPDX-License-Identifier: Apache-2.0 */
/* Pin, then allocate, then touch, then read back: in another order memory may lie elsewhere. hwloc and
 * libnuma stay inside pin.c. */
#ifndef GPUVET_SYSTEM_PIN_H
#define GPUVET_SYSTEM_PIN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Binds the calling thread to one PU and reads the binding back. */
bool pin_thread(int os_cpu, struct error *err);

/* The PU the caller runs on and is bound to; -1: not bound to exactly one. */
int pin_bound_cpu(void);

/* Undoes pin_thread: all PUs that the process was started with. */
bool pin_release(struct error *err);

/* Memory of the process's own, page aligned, bound to the NUMA node with this OS index (-1: wherever the
 * kernel likes), touched, its pages' nodes read back with move_pages. */
struct host_buffer {
    void *data;
    size_t bytes;
    int os_node;    /* asked for; -1 none */
    bool bound;     /* to it, whoever touches the pages; else they are where the one runs who does */
    int found_node; /* where the pages are; -1 unknown (the kernel does not say), -2 on several nodes */
    double on_node; /* share of the sampled pages on os_node; 1 where os_node is -1 */
};
bool host_buffer_make(size_t bytes, int os_node, struct host_buffer *out, struct error *err);
/* The same in steps, for one that is so large that several threads touch it: reserved and bound; touched by
 * the caller; read back. */
bool host_buffer_reserve(size_t bytes, int os_node, struct host_buffer *out, struct error *err);
void host_buffer_read_back(struct host_buffer *buffer);
void host_buffer_free(struct host_buffer *buffer);

#endif
