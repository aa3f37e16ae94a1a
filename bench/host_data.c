/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/host_data.h"

#include "base/mem.h"
#include "system/pin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { PART = 16 << 20, MAX_HELPERS = 15, PAGE = 4096 };

enum task { FILL, CHECK, TOUCH };

struct job {
    enum task task;
    char *buffer;
    size_t bytes;
    uint32_t seed;
    size_t parts;
    atomic_size_t next;
    struct pattern_fault *faults; /* one a part */
};

static void do_part(struct job *job, size_t part) {
    size_t at = part * PART;
    size_t bytes = job->bytes - at < PART ? job->bytes - at : PART;
    if (job->task == FILL)
        pattern_fill_host_part(job->buffer + at, bytes, at / 4, job->seed);
    else if (job->task == CHECK)
        pattern_check_host_part(job->buffer + at, bytes, at / 4, job->seed, &job->faults[part]);
    else
        for (size_t i = 0; i < bytes; i += PAGE)
            ((volatile char *)job->buffer)[at + i] = 1;
}

static void do_parts(struct job *job) {
    for (size_t part; (part = atomic_fetch_add(&job->next, 1)) < job->parts;)
        do_part(job, part);
}

static void *help(void *job) {
    do_parts(job);
    return NULL;
}

static size_t helpers_wanted(size_t parts) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = cpus > 1 ? (size_t)cpus / 2 : 0; /* a core each, where a core is two CPUs */
    most = most < MAX_HELPERS ? most : MAX_HELPERS;
    return parts - 1 < most ? parts - 1 : most;
}

static void run(struct job *job) {
    pthread_t helpers[MAX_HELPERS];
    size_t n = 0;
    struct error ignored = {0};
    if (job->bytes == 0)
        return;
    job->parts = (job->bytes + PART - 1) / PART;
    size_t wanted = helpers_wanted(job->parts);
    /* A new thread has its maker's CPUs: with the one that this thread is pinned to they would wait for each
     * other. */
    int cpu = wanted > 0 ? pin_bound_cpu() : -1;
    if (cpu >= 0)
        pin_release(&ignored);
    while (n < wanted && pthread_create(&helpers[n], NULL, help, job) == 0)
        n++;
    if (cpu >= 0)
        pin_thread(cpu, &ignored);
    do_parts(job); /* all of it where no thread could be made */
    for (size_t i = 0; i < n; i++)
        pthread_join(helpers[i], NULL);
}

void host_data_fill(void *buffer, size_t bytes, uint32_t seed) {
    run(&(struct job){.task = FILL, .buffer = buffer, .bytes = bytes, .seed = seed});
}

void host_data_touch(void *buffer, size_t bytes) {
    run(&(struct job){.task = TOUCH, .buffer = buffer, .bytes = bytes});
}

void host_data_check(const void *buffer, size_t bytes, uint32_t seed, struct pattern_fault *out) {
    struct job job = {.task = CHECK, .buffer = (char *)(uintptr_t)buffer, .bytes = bytes, .seed = seed};
    job.faults = mem_zeroed(bytes / PART + 1, sizeof *job.faults);
    run(&job);
    *out = (struct pattern_fault){0};
    for (size_t i = 0; i < job.parts; i++) {
        const struct pattern_fault *its = &job.faults[i];
        if (its->bad > 0 && out->bad == 0)
            *out = *its;
        else
            out->bad += its->bad;
    }
    free(job.faults);
}
