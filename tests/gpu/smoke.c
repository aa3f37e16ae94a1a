/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/ and kernels/ on every GPU of this machine, without the harness: each check prints PASS or FAIL, each
 * figure a line of a table. Exit 0 all passed, 1 not, 77 no GPU (with the reason). */
#include "base/clock.h"
#include "gpu/chase.h"
#include "gpu/facts_child.h"
#include "gpu/gpu.h"
#include "gpu/nvml.h"
#include "gpu/smoke_lanes.h"
#include "gpu/smoke_peers.h"
#include "kernels/chase.h"
#include "kernels/corrupt.h"
#include "kernels/delay.h"
#include "kernels/launch.h"
#include "kernels/pattern.h"
#include "system/pin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 256 << 20, COPIES = 8, LAUNCHES = 500, SEED = 4711 };

struct bench {
    struct gpu_device device;
    gpu_stream stream;
    gpu_event start, stop, sleeping;
    struct gpu_gate *gate;
    struct gpu_clock_probe *probe;
    struct host_buffer host;
    bool registered;
    void *hostalloc, *a, *b; /* on the device: a, b */
    int failures;
};

static bool report(struct bench *t, bool good, const char *what, const char *detail) {
    printf("%s  %s  %s%s%s\n", good ? "PASS" : "FAIL", t->device.bdf, what, detail[0] == '\0' ? "" : ": ",
           detail);
    t->failures += !good;
    return good;
}

/* A call that must succeed. */
static bool must(struct bench *t, bool good, const char *what, const struct error *err) {
    return good || report(t, false, what, err->text);
}

/* ---- data ---- */

static bool finds(struct bench *t, const char *what, const struct pattern_fault *fault, uint64_t offset,
                  uint64_t bad, uint32_t found) {
    char detail[200];
    bool good = fault->first_offset == offset && fault->bad == bad && fault->found == found &&
                fault->expected == pattern_word(offset / 4, SEED);
    snprintf(detail, sizeof detail,
             "%" PRIu64 " wrong words, first at %" PRIu64 ", expected 0x%08x, found 0x%08x", fault->bad,
             fault->first_offset, fault->expected, fault->found);
    return report(t, good, what, detail);
}

static struct pattern_fault on_device(struct bench *t, const void *buffer, uint32_t seed) {
    struct error err = {0};
    struct pattern_fault fault = {.bad = UINT64_MAX};
    must(t, gpu_check(pattern_check_device(buffer, BYTES, seed, &fault, t->stream), "checking", &err),
         "check", &err);
    return fault;
}

static bool fill(struct bench *t, void *buffer, uint32_t seed) {
    struct error err = {0};
    return must(t,
                gpu_check(pattern_fill_device(buffer, BYTES, seed, t->stream), "filling", &err) &&
                    gpu_stream_wait(t->stream, &err),
                "fill", &err);
}

static void damages(struct bench *t) {
    static const uint64_t offsets[] = {0, 1048592, BYTES - CORRUPT_SHIFT_BYTES};
    struct error err = {0};
    uint32_t other = pattern_seed(SEED, 1);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        uint64_t at = offsets[i];
        fill(t, t->a, SEED);
        report(t, on_device(t, t->a, SEED).bad == 0, "a filled buffer is right", "");
        must(t, gpu_check(corrupt_word_device(t->a, at, t->stream), "word", &err), "word", &err);
        struct pattern_fault fault = on_device(t, t->a, SEED);
        finds(t, "one word damaged", &fault, at, 4, ~pattern_word(at / 4, SEED));
        fill(t, t->a, SEED);
        must(t, gpu_check(corrupt_shift_device(t->a, at, t->stream), "shift", &err), "shift", &err);
        fault = on_device(t, t->a, SEED);
        finds(t, "a block shifted", &fault, at, CORRUPT_SHIFT_BYTES / 4,
              pattern_word((at + CORRUPT_SHIFT_BYTES) / 4 - 4, SEED));
    }
    fill(t, t->a, SEED);
    fill(t, t->b, other);
    must(t, gpu_check(corrupt_swap_device(t->a, t->b, BYTES, t->stream), "swap", &err), "swap", &err);
    struct pattern_fault fault = on_device(t, t->a, SEED);
    finds(t, "two buffers exchanged", &fault, 0, BYTES / 4, pattern_word(0, other));
    report(t, on_device(t, t->a, other).bad == 0 && on_device(t, t->b, SEED).bad == 0,
           "the exchange is whole", "");
}

static void host_and_device_agree(struct bench *t) {
    struct error err = {0};
    struct pattern_fault fault = {0};
    pattern_fill_host(t->host.data, BYTES, SEED);
    if (must(t, gpu_copy(t->a, t->host.data, BYTES, &err), "copy to the device", &err))
        report(t, on_device(t, t->a, SEED).bad == 0, "filled by the host, checked by the device", "");
    fill(t, t->a, SEED + 1);
    if (must(t, gpu_copy(t->host.data, t->a, BYTES, &err), "copy to the host", &err)) {
        pattern_check_host(t->host.data, BYTES, SEED + 1, &fault);
        report(t, fault.bad == 0, "filled by the device, checked by the host", "");
    }
    if (must(t, gpu_memset(t->a, 0, BYTES, &err), "memset", &err))
        /* The words are all different, so one of them may well be zero. */
        report(t, on_device(t, t->a, SEED).bad >= BYTES / 4 - 1, "zeros are no data", "");
}

/* ---- gate ---- */

static void gate_holds(struct bench *t) {
    struct error err = {0};
    struct clock clock = clock_real();
    bool early = true, done = false;
    char detail[160];
    bool good = gpu_gate_close(t->gate, t->stream, 5 * NS_PER_S, &err) &&
                gpu_event_record(t->start, t->stream, &err) &&
                gpu_check(empty_launch(t->stream), "launch", &err) &&
                gpu_event_record(t->stop, t->stream, &err);
    clock_sleep(&clock, 50 * NS_PER_MS);
    good = good && gpu_stream_done(t->stream, &early, &err);
    int64_t opened = clock_raw();
    gpu_gate_open(t->gate);
    good = good && gpu_stream_wait(t->stream, &err) && gpu_stream_done(t->stream, &done, &err) &&
           gpu_gate_held(t->gate, &err);
    double us = (double)(clock_raw() - opened) / 1e3, seconds = 1;
    good = good && gpu_event_elapsed(t->start, t->stop, &seconds, &err);
    if (!must(t, good, "gate", &err))
        return;
    snprintf(detail, sizeof detail,
             "done before it opened: %s; %.1f us from opening to the end; %.1f us of work behind it",
             early ? "yes" : "no", us, seconds * 1e6);
    report(t, !early && done && seconds < 1e-3, "the gate holds, and what waits runs at once", detail);
}

static void gate_gives_up(struct bench *t) {
    struct error err = {0};
    char detail[160];
    int64_t limit = 100 * NS_PER_MS, start = clock_raw();
    bool good = gpu_gate_close(t->gate, t->stream, limit, &err) && gpu_stream_wait(t->stream, &err);
    double ms = (double)(clock_raw() - start) / 1e6;
    if (!must(t, good, "gate with a limit", &err))
        return;
    bool held = gpu_gate_held(t->gate, &err);
    snprintf(detail, sizeof detail, "after %.2f ms of 100", ms);
    report(t, !held && ms >= 99 && ms < 200, "a gate that nobody opens gives up", detail);
    report(t, strncmp(err.text, "gate", 4) == 0, "and says so", err.text);
    gpu_gate_open(t->gate);
    error_clear(&err);
    good = gpu_gate_close(t->gate, t->stream, limit, &err);
    gpu_gate_open(t->gate);
    report(t, good && gpu_stream_wait(t->stream, &err) && gpu_gate_held(t->gate, &err),
           "the gate works again", err.text);
}

/* ---- figures ---- */

static void bandwidth(struct bench *t, const char *what, void *to, void *from, double factor) {
    struct error err = {0};
    double gbps[3] = {0}, seconds = 0, mhz = -1;
    for (int s = -1; s < 3; s++) { /* the first warms up, behind the gate: all kernels are loaded */
        bool good = gpu_gate_close(t->gate, t->stream, 5 * NS_PER_S, &err) &&
                    gpu_clock_probe_read(t->probe, t->stream, 0, &err) &&
                    gpu_event_record(t->start, t->stream, &err);
        for (int i = 0; good && i < COPIES; i++)
            good = gpu_copy_async(to, from, BYTES, t->stream, &err);
        good = good && gpu_event_record(t->stop, t->stream, &err) &&
               gpu_clock_probe_read(t->probe, t->stream, 1, &err);
        gpu_gate_open(t->gate);
        good = good && gpu_stream_wait(t->stream, &err) && gpu_gate_held(t->gate, &err) &&
               gpu_event_elapsed(t->start, t->stop, &seconds, &err);
        if (!must(t, good, what, &err))
            return;
        if (s >= 0)
            gbps[s] = factor * COPIES * (double)BYTES / seconds / 1e9;
        mhz = gpu_clock_probe_mhz(t->probe);
    }
    printf("      %-36s %8.2f %8.2f %8.2f GB/s   SM %.0f MHz\n", what, gbps[0], gbps[1], gbps[2], mhz);
    report(t, mhz > 100 && mhz < 4000, "the SM clock is plausible", what);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void latency(struct bench *t, const char *what, enum gpu_wait how, bool copy) {
    struct error err = {0};
    double us[LAUNCHES];
    for (int i = -100; i < LAUNCHES; i++) {
        int64_t start = clock_raw();
        bool good = (copy ? gpu_copy_async(t->a, t->host.data, 4096, t->stream, &err)
                          : gpu_check(empty_launch(t->stream), "launch", &err)) &&
                    gpu_wait_for(t->stream, how, t->sleeping, &err);
        if (!must(t, good, what, &err))
            return;
        if (i >= 0)
            us[i] = (double)(clock_raw() - start) / 1e3;
    }
    qsort(us, LAUNCHES, sizeof *us, ascending);
    printf("      %-36s p50 %7.2f   p99 %7.2f us\n", what, us[LAUNCHES / 2], us[LAUNCHES * 99 / 100]);
}

static void figures(struct bench *t) {
    bandwidth(t, "H2D pinned", t->a, t->host.data, 1);
    bandwidth(t, "D2H pinned", t->host.data, t->a, 1);
    bandwidth(t, "H2D hostalloc", t->a, t->hostalloc, 1);
    bandwidth(t, "D2H hostalloc", t->hostalloc, t->a, 1);
    bandwidth(t, "D2D, read + write", t->b, t->a, 2);
    latency(t, "launch, spin", GPU_WAIT_SPIN, false);
    latency(t, "launch, block", GPU_WAIT_BLOCK, false);
    latency(t, "launch, poll", GPU_WAIT_POLL, false);
    latency(t, "copy of 4 KiB, spin", GPU_WAIT_SPIN, true);
}

/* ---- delays, graphs, chases ---- */

/* A delay says that it begins, lasts as long as asked by the device's clock, and by the host's. */
static void delays(struct bench *t) {
    static const int64_t lengths[] = {50000, 1000000, 10000000};
    struct error err = {0};
    struct clock clock = clock_real();
    struct delay_words *words = t->hostalloc;
    char detail[200];
    memset(words, 0, sizeof *words);
    for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint64_t ns = (uint64_t)lengths[i];
        int64_t end = clock_now(&clock) + 5 * NS_PER_S;
        bool good = gpu_check(delay_launch(words, i + 1, ns, true, t->stream), "delay", &err);
        while (good && __atomic_load_n(&words->started, __ATOMIC_ACQUIRE) != i + 1 && clock_now(&clock) < end)
            ;
        int64_t start = clock_raw();
        good = good && gpu_wait_for(t->stream, GPU_WAIT_SPIN, NULL, &err);
        int64_t seen = clock_raw() - start;
        if (!must(t, good, "delay", &err))
            return;
        double mhz = (double)words->cycles * 1e3 / (double)words->ns;
        snprintf(detail, sizeof detail,
                 "%.3f us asked, %.3f by the device, %.3f as the host sees it, SM %.0f MHz", (double)ns / 1e3,
                 (double)words->ns / 1e3, (double)seen / 1e3, mhz);
        report(t,
               words->started == i + 1 && words->ns >= ns && words->ns < ns + 5000 && mhz > 100 &&
                   mhz < 4000 && seen > lengths[i] - 5000 && seen < lengths[i] + 5000000,
               "a delay of known length", detail);
    }
}

enum { NODES = 64 };

static bool queue_counting(void *arg, gpu_stream stream, struct error *err) {
    for (uint32_t i = 0; i < NODES; i++)
        if (!gpu_check(count_launch(arg, i, stream), "count", err))
            return false;
    return true;
}

static bool queue_that_fails(void *arg, gpu_stream stream, struct error *err) {
    (void)arg, (void)stream;
    return FAIL(err, ERROR_DATA, "on purpose");
}

static void graphs(struct bench *t) {
    struct error err = {0};
    gpu_graph graph = NULL;
    size_t nodes = 0;
    uint32_t first = 1, after = 0, again = 0;
    char detail[160];
    bool good = gpu_memset(t->a, 0, 4, &err) &&
                gpu_graph_capture(t->stream, queue_counting, t->a, &graph, &nodes, &err) &&
                gpu_stream_wait(t->stream, &err) && gpu_copy(&first, t->a, 4, &err) &&
                gpu_graph_upload(graph, t->stream, &err) && gpu_graph_launch(graph, t->stream, &err) &&
                gpu_stream_wait(t->stream, &err) && gpu_copy(&after, t->a, 4, &err) &&
                gpu_graph_launch(graph, t->stream, &err) && gpu_stream_wait(t->stream, &err) &&
                gpu_copy(&again, t->a, 4, &err);
    gpu_graph_free(graph);
    if (!must(t, good, "graph", &err))
        return;
    snprintf(detail, sizeof detail,
             "%zu nodes; counter %u after the capture, %u after one launch, %u after two", nodes, first,
             after, again);
    /* The second launch finds a counter that is no longer 0, so its first node does not count, nor the next.
     */
    report(t, nodes == NODES && first == 0 && after == NODES && again == NODES,
           "a graph runs its nodes in order", detail);
    bool captured = gpu_graph_capture(t->stream, queue_that_fails, NULL, &graph, &nodes, &err);
    error_clear(&err);
    report(t,
           !captured && graph == NULL && gpu_check(empty_launch(t->stream), "launch", &err) &&
               gpu_stream_wait(t->stream, &err),
           "a capture that failed leaves the stream usable", err.text);
}

static void chase(struct bench *t, const char *what, void *memory, bool on_device, bool plain) {
    struct error err = {0};
    struct gpu_chase chase = {.memory = memory, .bytes = 2 << 20, .stride = 128, .hops = 256, .plain = plain};
    struct gpu_chase_result result = {0}, bad = {0};
    char detail[200];
    bool good = true;
    if (on_device)
        good = gpu_check(chase_fill_device(memory, chase.bytes, chase.stride, t->stream), "chain", &err) &&
               gpu_stream_wait(t->stream, &err);
    else
        chase_fill_host(memory, chase.bytes, chase.stride);
    for (int i = 0; good && i < 3; i++)
        good = gpu_chase_sweep(&chase, &t->device, t->stream, &result, &err);
    if (!must(t, good, what, &err))
        return;
    snprintf(detail, sizeof detail, "%.1f ns a hop, %d multiprocessors of %d, SM %.0f MHz, %d astray",
             result.ns, result.multiprocessors, t->device.sm_count, result.sm_mhz, result.wrong);
    report(t,
           result.wrong == 0 && result.multiprocessors == t->device.sm_count && result.ns > 50 &&
               result.ns < 10000 && result.sm_mhz > 100 && result.sm_mhz < 4000,
           what, detail);
    /* A chain that leads elsewhere: the plan's stride is not the one that was laid. */
    chase.stride = 256;
    if (must(t, gpu_chase_sweep(&chase, &t->device, t->stream, &bad, &err), what, &err))
        report(t, bad.wrong > 0, "and a wrong chain is seen", "");
}

static void chases(struct bench *t) {
    chase(t, "chase, own memory, sys", t->a, true, false);
    chase(t, "chase, pinned, sys", t->host.data, false, false);
    chase(t, "chase, hostalloc, sys", t->hostalloc, false, false);
    chase(t, "chase, hostalloc, plain (nvbandwidth)", t->hostalloc, false, true);
}

/* ---- what must fail, and clean up ---- */

static void refusals(struct bench *t) {
    struct error err = {0};
    void *none = NULL;
    report(t, !gpu_alloc((size_t)1 << 50, &none, &err) && none == NULL, "a petabyte is refused", err.text);
    error_clear(&err);
    report(t, gpu_alive(&err), "and the context lives on", err.text);
    struct gpu_device other;
    report(t, !gpu_open("GPU-none", &other, &err), "an unknown GPU is refused", err.text);
}

static bool set_up(struct bench *t, const struct gpu_info *info) {
    struct error err = {0};
    bool good = gpu_open(info->uuid, &t->device, &err) && gpu_use(&t->device, &err) &&
                gpu_stream_make(&t->stream, &err) && gpu_event_make_timed(&t->start, &err) &&
                gpu_event_make_timed(&t->stop, &err) && gpu_event_make(true, &t->sleeping, &err) &&
                gpu_gate_make(&t->gate, &err) && gpu_clock_probe_make(&t->probe, &err) &&
                host_buffer_make(BYTES, -1, &t->host, &err) && gpu_register(t->host.data, BYTES, &err);
    t->registered = good;
    good = good && gpu_host_alloc(BYTES, &t->hostalloc, &err) && gpu_alloc(BYTES, &t->a, &err) &&
           gpu_alloc(BYTES, &t->b, &err);
    return must(t, good, "set up", &err);
}

static void tear_down(struct bench *t) {
    gpu_free(t->a);
    gpu_free(t->b);
    gpu_host_free(t->hostalloc);
    if (t->registered)
        gpu_unregister(t->host.data);
    host_buffer_free(&t->host);
    gpu_clock_probe_free(t->probe);
    gpu_gate_free(t->gate);
    gpu_event_free(t->sleeping);
    gpu_event_free(t->stop);
    gpu_event_free(t->start);
    gpu_stream_free(t->stream);
}

static int try_gpu(const struct gpu_info *info) {
    struct bench t = {0};
    if (set_up(&t, info)) {
        const struct gpu_device *d = &t.device;
        printf("      %s %s, sm_%d%d, %d SMs, L2 %" PRId64 " MiB, %" PRId64 " MiB, %d copy engines\n", d->bdf,
               d->name, d->cc_major, d->cc_minor, d->sm_count, d->l2_bytes >> 20, d->memory_bytes >> 20,
               d->copy_engines);
        report(&t, strcmp(d->bdf, info->bdf) == 0, "CUDA and NVML name the same device", info->bdf);
        host_and_device_agree(&t);
        damages(&t);
        gate_holds(&t);
        gate_gives_up(&t);
        figures(&t);
        delays(&t);
        graphs(&t);
        chases(&t);
        refusals(&t);
    }
    tear_down(&t);
    return t.failures;
}

static void show_counters(const struct gpu_list *list) {
    struct error err = {0};
    struct nvml *nvml = nvml_open(&err);
    for (size_t i = 0; nvml != NULL && i < list->count; i++) {
        js *counters = nvml_counters(nvml, list->items[i].uuid, NVML_STATE | NVML_LINK);
        char *text = js_text(counters);
        printf("      %s\n", text);
        free(text);
        js_free(counters);
    }
    nvml_close(nvml);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was said before a crash must be there */
    struct error err = {0};
    struct gpu_list list = {0};
    int count = 0, failures = 0;
    if (!gpu_facts_child(&list, 20 * NS_PER_S, &err) || list.count == 0) {
        printf("skip: %s\n", err.text[0] != '\0' ? err.text : list.reason);
        gpu_list_free(&list);
        return 77;
    }
    char *raw = js_text(list.raw);
    printf("NVML: %s\n", raw);
    free(raw);
    if (!gpu_start(&count, &err)) {
        printf("%s: %s\n", gpu_built() ? "FAIL" : "skip", err.text);
        gpu_list_free(&list);
        return gpu_built() ? 1 : 77;
    }
    failures += smoke_peers(&list);
    show_counters(&list);
    failures += smoke_lanes(&list);
    for (size_t i = 0; i < list.count; i++)
        if (!list.items[i].mig && list.items[i].unusable[0] == '\0')
            failures += try_gpu(&list.items[i]);
    show_counters(&list);
    printf("%s: %d failures\n", failures == 0 ? "PASS" : "FAIL", failures);
    gpu_list_free(&list);
    return failures == 0 ? 0 : 1;
}
