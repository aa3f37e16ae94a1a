/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/host_common.h"

#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void host_mark(const struct node *node, struct instance *instance) {
    const char *hypervisor = node_text(node, "hypervisor");
    const char *clocksource = node_text(node, "kernel.clocksource");
    if (hypervisor != NULL && strcmp(hypervisor, "none") != 0)
        js_set_string(instance->attributes, "guest", hypervisor);
    if (clocksource != NULL && strcmp(clocksource, "tsc") != 0)
        js_set_string(instance->attributes, "clocksource", clocksource);
}

int host_gpu_nodes(const struct node *node, int *out, int capacity) {
    int n = 0;
    int nodes = topology_node_count(node->topology);
    for (int candidate = 0; candidate < nodes && n < capacity; candidate++)
        for (size_t i = 0; i < node->gpus.count; i++)
            if (topology_device_node(node->topology, node->gpus.items[i].bdf) == candidate) {
                out[n++] = candidate;
                break;
            }
    if (n == 0 && capacity > 0)
        out[n++] = 0;
    return n;
}

bool host_first_gpu_of_node(const struct node *node, size_t gpu) {
    int its = topology_device_node(node->topology, node->gpus.items[gpu].bdf);
    for (size_t i = 0; i < gpu; i++)
        if (topology_device_node(node->topology, node->gpus.items[i].bdf) == its)
            return false;
    return true;
}

/* "0000:01:00.0=8,0000:02:00.0=0-7,64": a name with '=' begins a device, and the first CPU of its list
 * counts (with one vector the kernel names exactly one). -1: that device is not in it. */
static int irq_cpu(const char *affinity, const char *bdf) {
    size_t length = strlen(bdf);
    if (length == 0) /* a GPU without an address: the empty name is found everywhere, the end included */
        return -1;
    for (const char *at = strstr(affinity, bdf); at != NULL; at = strstr(at + 1, bdf)) {
        if ((at != affinity && at[-1] != ',') || at[length] != '=')
            continue;
        char *end = NULL;
        long cpu = strtol(at + length + 1, &end, 10);
        return end != at + length + 1 && cpu >= 0 && cpu < 65536 ? (int)cpu : -1;
    }
    return -1;
}

int host_irq_cpu(const struct node *node, int cpu_node, char bdf[16]) {
    const char *affinity = js_get_string(node->moving, "irq.gpu.affinity", "");
    for (size_t i = 0; i < node->gpus.count; i++) {
        const struct gpu_info *gpu = &node->gpus.items[i];
        int near = topology_device_node(node->topology, gpu->bdf);
        int cpu = near == cpu_node || near < 0 ? irq_cpu(affinity, gpu->bdf) : -1;
        if (cpu < 0 || gpu->bdf[0] == '\0')
            continue;
        memcpy(bdf, gpu->bdf, 16);
        return cpu;
    }
    return -1;
}

void host_set_cpus(struct instance *instance, const int *cpus, int n) {
    js *list = js_new_array();
    for (int i = 0; i < n; i++)
        js_append(list, js_new_int(cpus[i]));
    js_set(instance->attributes, "cpus", list);
}

int host_cpus(const struct case_context *context, int *out, int capacity) {
    const js *list = js_get(context->attributes, "cpus");
    int n = 0;
    for (size_t i = 0; i < js_length(list) && n < capacity; i++)
        out[n++] = (int)js_int(js_at(list, i), -1);
    return n;
}

void host_tell_memory(struct case_context *context, const struct host_buffer *buffer, bool one_of_several) {
    static const char flag[] = "memory-not-on-node";
    if (one_of_several) {
        if (js_get(context->extra, "host_nodes") == NULL)
            js_set(context->extra, "host_nodes", js_new_array());
        js_append(js_get(context->extra, "host_nodes"), js_new_int(buffer->found_node));
    } else {
        js_set_int(context->extra, "host_node", buffer->found_node);
    }
    for (size_t i = 0; i < js_length(context->flags); i++)
        if (strcmp(js_string(js_at(context->flags, i), ""), flag) == 0)
            return;
    if (buffer->on_node < 1)
        js_append_string(context->flags, flag);
}

void host_skip(struct instance *instance, const char *format, ...) {
    if (instance->skip != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&instance->skip, format, arguments) < 0)
        instance->skip = strdup("cannot run here");
    va_end(arguments);
}

int64_t host_monotonic(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

void host_sleep_until(int64_t monotonic_ns) {
    struct timespec t = {.tv_sec = monotonic_ns / NS_PER_S, .tv_nsec = monotonic_ns % NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}
