/* SPDX-License-Identifier: Apache-2.0 */
/* host.memory: what the cores of a NUMA node get from a node's memory. bandwidth: one thread a core reads,
 * each its own part of a buffer of four times the caches, for a fixed time, all at once. latency: one core
 * follows addresses through a buffer of four times its cache, one load after the other. Both in huge pages
 * where the kernel gives them; what was read is checked. */
#include "base/clock.h"
#include "base/files.h"
#include "base/mem.h"
#include "bench/cache_word.h"
#include "bench/host_chase.h"
#include "bench/host_common.h"
#include "bench/host_stream.h"
#include "bench/host_team.h"
#include "kernels/pattern.h"
#include "system/pin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MIN_BYTES = 256 << 20,
    MAX_BYTES = 1 << 30,
    SAMPLES = 12,
    WINDOW_US = 8000,
    STEPS = 25000, /* a sample of the chase: about 2.5 ms */
    TOUCHERS = 8,  /* cores that have a buffer's pages cleared: more would be in each other's way */
    CHUNK = 2 << 20,
    MAX_CORES = 1024,
    MAX_NODES = 64,
};
static const double enough_huge = 0.9; /* of the buffer: else the figures hold page walks, and are flagged */

static const struct metric metrics[] = {
    {"bandwidth", QUANTITY_BANDWIDTH, TIMING_HOST},
    {"latency", QUANTITY_LATENCY, TIMING_HOST},
    {0},
};
enum { BANDWIDTH, LATENCY };

static const struct series_row series[] = {
    {.metric = "bandwidth", .statistic = "", .delta_rel = 0.02, .between_rel = 0.005},
    {.metric = "latency", .statistic = "", .delta_rel = 0.05, .between_rel = 0.01},
    {0},
};

/* The power of two from four times the cache up, within bounds. */
static int64_t buffer_bytes(int64_t cache) {
    int64_t bytes = MIN_BYTES;
    while (bytes < MAX_BYTES && bytes < 4 * cache)
        bytes *= 2;
    return bytes;
}

/* Clearing pages takes a core 1 s for 5 GB, filling and checking 0.5 ns a byte, shared by the cores; linking
 * and flushing a line that is walked 40 ns, walking it 130. */
static double seconds_of(int which, int64_t bytes, int cores) {
    double clearing = (double)bytes / 5e9 / (cores > TOUCHERS ? TOUCHERS : cores > 0 ? cores : 1);
    if (which == BANDWIDTH)
        return clearing + (double)bytes * 0.5e-9 / (cores > 0 ? cores : 1) +
               (SAMPLES + 1) * WINDOW_US * 1e-6 + 0.01;
    return clearing + (SAMPLES + 1) * STEPS * (40e-9 + 130e-9) + 0.005;
}

/* Judged: a GPU's node with its own memory. */
static enum level level_of(const struct node *node, int cpu_node, int mem_node) {
    int nodes[MAX_NODES];
    int n = host_gpu_nodes(node, nodes, MAX_NODES);
    for (int i = 0; i < n; i++)
        if (cpu_node == mem_node && nodes[i] == cpu_node)
            return LEVEL_PRIMARY;
    return LEVEL_DESCRIPTIVE;
}

static void add(const struct node *node, int which, int cpu_node, int mem_node, const char *corrupt,
                struct instance_list *out) {
    enum level level = corrupt != NULL ? LEVEL_HIDDEN : level_of(node, cpu_node, mem_node);
    struct instance *instance = instance_add(out, &metrics[which], level);
    int cpus[MAX_CORES];
    int n = topology_node_cores(node->topology, cpu_node, cpus, MAX_CORES);
    instance->cpu = topology_pin_cpu(node->topology, cpu_node);
    int64_t cache = which == BANDWIDTH ? topology_node_cache(node->topology, cpu_node)
                                       : topology_cpu_cache(node->topology, instance->cpu);
    int64_t bytes = buffer_bytes(cache);
    js_set_int(instance->where, "cpu_node", cpu_node);
    js_set_int(instance->where, "mem_node", mem_node);
    js_set_int(instance->attributes, "os_node", topology_node_os_index(node->topology, mem_node));
    cache_set(instance, which == LATENCY ? "cold" /* each line is flushed, and walked once */
                        : cache > 0      ? cache_word((double)bytes, (double)cache, (double)cache)
                                         : "unknown");
    js_set_int(instance->params, "bytes", bytes);
    if (corrupt != NULL)
        js_set_string(instance->params, "corrupt", corrupt);
    host_set_cpus(instance, cpus, which == BANDWIDTH || n < TOUCHERS ? n : TOUCHERS);
    instance->samples = SAMPLES;
    instance->seconds = seconds_of(which, bytes, n);
    host_mark(node, instance);
    double needed_mib = 2 * (double)(bytes >> 20),
           free_mib = js_get_number(node->moving, "memory.available_mib", NAN);
    if (instance->cpu < 0)
        host_skip(instance, "no CPU of this node is allowed, or it has none");
    if (free_mib < needed_mib)
        host_skip(instance, "needs %.0f MiB of memory to spare, %.0f MiB are available", needed_mib,
                  free_mib);
}

static void instances(const struct node *node, struct instance_list *out) {
    int nodes = topology_node_count(node->topology);
    nodes = nodes < MAX_NODES ? nodes : MAX_NODES;
    for (int c = 0; c < nodes; c++)
        for (int m = 0; m < nodes; m++) {
            add(node, BANDWIDTH, c, m, NULL, out);
            add(node, LATENCY, c, m, NULL, out);
        }
    add(node, BANDWIDTH, 0, 0, "word", out); /* damaged on purpose, to prove the checks */
    add(node, LATENCY, 0, 0, "link", out);
}

/* ---- in the worker ---- */

struct state {
    struct host_buffer buffer;
    bool stream;
    bool corrupt;
    uint32_t seed;
    struct stream_part *parts; /* of the stream, one a core */
    int cpus[MAX_CORES];
    int n;
    double *rates; /* [sample][core] GB/s */
    int wanted;
};

/* Share of the buffer in huge pages, by smaps; NAN unknown. */
static double huge_share(const struct host_buffer *buffer) {
    enum { LIMIT = 4 << 20 };
    struct text maps = {0};
    struct error err = {0};
    double share = NAN;
    if (file_read("/proc/self/smaps", LIMIT, &maps, &err))
        share = stream_huge_share(maps.data, (uintptr_t)buffer->data, buffer->bytes);
    text_free(&maps);
    return share;
}

/* The kernel clears each page as it is touched. By several cores, in turns of a huge page: one alone takes
 * longer for 1 GiB than all samples together. */
static void touch_body(struct host_team *team, void *shared, int index) {
    (void)team;
    struct state *s = shared;
    int n = s->n < TOUCHERS ? s->n : TOUCHERS;
    for (size_t chunk = (size_t)index * CHUNK; chunk < s->buffer.bytes; chunk += (size_t)n * CHUNK)
        for (size_t at = chunk; at < chunk + CHUNK && at < s->buffer.bytes; at += 4096)
            ((volatile unsigned char *)s->buffer.data)[at] = 1;
}

static bool prepare(struct case_context *context, struct error *err) {
    struct state *s = mem_zeroed(1, sizeof *s);
    context->state = s;
    size_t bytes = (size_t)case_number(context, "bytes");
    int os_node = (int)js_get_int(context->attributes, "os_node", -1);
    s->n = host_cpus(context, s->cpus, MAX_CORES);
    s->stream = strcmp(context->metric, metrics[BANDWIDTH].name) == 0;
    s->corrupt = case_text(context, "corrupt")[0] != '\0';
    s->seed = pattern_seed(context->seed, 0);
    s->wanted = context->wanted_samples;
    if (bytes < (1u << 20) || (bytes & (bytes - 1)) != 0)
        return FAIL(err, ERROR_DATA, "bytes must be a power of two from 1 MiB");
    if (s->n < 1)
        return FAIL(err, ERROR_DATA, "no CPUs to measure from");
    if (!host_buffer_reserve(bytes, os_node, &s->buffer, err) ||
        !host_team_run(s->cpus, s->n < TOUCHERS ? s->n : TOUCHERS, touch_body, s, err))
        return RELAY(err);
    host_buffer_read_back(&s->buffer);
    double huge = huge_share(&s->buffer);
    host_tell_memory(context, &s->buffer, false);
    js_set_number(context->extra, "huge_pages", huge);
    if (huge < enough_huge)
        js_append_string(context->flags, "small-pages");
    return true;
}

static void stream_body(struct host_team *team, void *shared, int index) {
    struct state *s = shared;
    struct stream_part *part = &s->parts[index];
    stream_fill(part);
    if (s->corrupt && index == 0)
        part->data[part->bytes / 2] ^= 1;
    for (int i = 0; i < s->wanted + 1; i++) { /* the first warms up */
        host_team_meet(team);
        double rate = stream_read(part, WINDOW_US * NS_PER_US);
        if (i > 0)
            s->rates[(size_t)(i - 1) * (size_t)s->n + (size_t)index] = rate;
    }
    stream_check(part);
}

static bool sample_stream(struct case_context *context, struct samples *out, struct error *err) {
    struct state *s = context->state;
    s->rates = mem_zeroed((size_t)s->wanted * (size_t)s->n, sizeof *s->rates);
    s->parts = mem_zeroed((size_t)s->n, sizeof *s->parts);
    for (int c = 0; c < s->n; c++)
        stream_share(s->buffer.data, s->buffer.bytes, s->n, c, s->seed, &s->parts[c]);
    if (!host_team_run(s->cpus, s->n, stream_body, s, err))
        return RELAY(err);
    for (int i = 0; i < s->wanted; i++) {
        double sum = 0;
        for (int c = 0; c < s->n; c++)
            sum += s->rates[(size_t)i * (size_t)s->n + (size_t)c];
        samples_add(out, sum);
    }
    js_set_int(context->extra, "cores", s->n);
    return true;
}

static bool sample_chase(struct case_context *context, struct samples *out, struct error *err) {
    struct state *s = context->state;
    unsigned bits = 0;
    while (((uint64_t)CHASE_LINE << bits) < s->buffer.bytes)
        bits++;
    uint64_t loads = (uint64_t)(s->wanted + 1) * STEPS;
    /* One more than is walked, so that a line left out shows by where the walk ends. */
    uint64_t length = chase_fill(s->buffer.data, bits, context->seed, loads + 2);
    if (s->corrupt) /* leaves a line out */
        chase_shorten(s->buffer.data, chase_line(STEPS, bits, context->seed));
    uint64_t step = 0;
    void *at = (char *)s->buffer.data + chase_line(0, bits, context->seed) * CHASE_LINE;
    for (int i = 0; i < s->wanted + 1; i++) { /* the first warms up */
        int64_t start = clock_raw();
        at = chase_walk(at, STEPS);
        int64_t ns = clock_raw() - start;
        step += STEPS;
        if (i > 0)
            samples_add(out, (double)ns / STEPS);
    }
    uint64_t found = (uint64_t)((char *)at - (char *)s->buffer.data) / CHASE_LINE;
    uint64_t expected = chase_line(step % length, bits, context->seed);
    if (found != expected)
        return FAIL(err, ERROR_VERIFY, "after %llu loads at line %llu instead of %llu",
                    (unsigned long long)step, (unsigned long long)found, (unsigned long long)expected);
    return true;
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    struct state *s = context->state;
    return s->stream ? sample_stream(context, out, err) : sample_chase(context, out, err);
}

static bool verify(struct case_context *context, struct verification *out, struct error *err) {
    (void)err;
    struct state *s = context->state;
    for (int c = 0; s->stream && c < s->n; c++)
        stream_verdict(&s->parts[c], s->buffer.data, out);
    return true;
}

static void finish(struct case_context *context) {
    struct state *s = context->state;
    if (s == NULL)
        return;
    for (int c = 0; s->parts != NULL && c < s->n; c++)
        free(s->parts[c].sums);
    host_buffer_free(&s->buffer);
    free(s->parts);
    free(s->rates);
    free(s);
}

const struct bench_case case_host_memory = {
    .name = "host.memory",
    .version = 1,
    .summary = "what a node's cores get from a node's memory: bandwidth of all, latency of one",
    .block = BLOCK_QUIET,
    .quiet = true,
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .prepare = prepare,
    .sample = sample,
    .verify = verify,
    .finish = finish,
};
