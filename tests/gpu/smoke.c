/* SPDX-License-Identifier: Apache-2.0 */
/* Every call of gpu/gpu.h and every kernel once on a real GPU: gpuvet_gpu_smoke [UUID]. A line "PASS what" or
 * "FAIL what: why" each; the exit status is 1 after any FAIL, 77 with a reason where there is no GPU.
 * Bandwidths are printed to be read, never judged. */
#include "base/clock.h"
#include "base/mem.h"
#include "gpu/facts_child.h"
#include "gpu/gpu.h"
#include "kernels/corrupt.h"
#include "kernels/fault.h"
#include "kernels/launch.h"
#include "kernels/pattern.h"
#include "system/pin.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 64 << 20, COPIES = 8, CHILD_LIMIT_S = 60, SEED = 1234567, OTHER_SEED = 7654321 };

struct smoke {
    int failed;
    struct error err;
    struct gpu_device gpu;
    gpu_stream stream;
    struct host_buffer paged;
    bool registered;
    void *host, *other_host; /* the driver's own */
    void *device, *other;
};

static void report(struct smoke *s, bool good, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void report(struct smoke *s, bool good, const char *format, ...) {
    va_list args;
    printf("%s ", good ? "PASS" : "FAIL");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    if (!good && s->err.kind != ERROR_NONE)
        printf(": %s", s->err.text);
    printf("\n");
    fflush(stdout);
    s->failed += !good;
    error_clear(&s->err);
}

static void pause_ms(int64_t ms) {
    struct clock clock = clock_real();
    clock_sleep(&clock, ms * NS_PER_MS);
}

/* ---- what spoils a process, each in a process of its own, before this one starts CUDA ---- */

static int spoil_by_address(const char *uuid) {
    struct error err = {0};
    struct gpu_device gpu;
    if (!gpu_open(uuid, &gpu, &err) || !gpu_alive(&err))
        return 2;
    if (!gpu_check(fault_bad_address(NULL), "launching", &err))
        return 3;
    if (gpu_synchronize(&err))
        return 4; /* went unnoticed */
    error_clear(&err);
    return gpu_alive(&err) ? 5 : 0;
}

static int spoil_by_spinning(const char *uuid) {
    struct error err = {0};
    struct gpu_device gpu;
    gpu_stream stream = NULL;
    bool done = true;
    if (!gpu_open(uuid, &gpu, &err) || !gpu_stream_make(&stream, &err))
        return 2;
    if (!gpu_check(fault_spin_forever(stream), "launching", &err))
        return 3;
    pause_ms(300);
    return gpu_stream_done(stream, &done, &err) && !done ? 0 : 4;
}

static void in_child(struct smoke *s, int (*body)(const char *uuid), const char *uuid, const char *what) {
    pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_LIMIT_S);
        _exit(body(uuid));
    }
    int status = -1;
    bool waited = pid > 0 && waitpid(pid, &status, 0) == pid;
    report(s, waited && WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s (wait status 0x%x)", what,
           (unsigned)status);
}

/* ---- devices and memory ---- */

static bool open_device(struct smoke *s, const char *uuid) {
    int count = 0;
    bool started = gpu_start(&count, &s->err);
    report(s, started && count > 0, "gpu_start: %d GPUs", count);
    bool refused = !gpu_open("GPU-00000000-0000-0000-0000-000000000000", &s->gpu, &s->err);
    report(s, refused && strstr(s->err.text, "GPU-00000000") != NULL,
           "gpu_open refuses a UUID that is not there");
    bool opened = gpu_open(uuid, &s->gpu, &s->err);
    report(s, opened && strcasecmp(s->gpu.uuid, uuid) == 0,
           "gpu_open: %s at %s, cc %d.%d, %d SMs, %lld MiB, L2 %lld KiB", s->gpu.name, s->gpu.bdf,
           s->gpu.cc_major, s->gpu.cc_minor, s->gpu.sm_count, (long long)(s->gpu.memory_bytes >> 20),
           (long long)(s->gpu.l2_bytes >> 10));
    if (!opened)
        return false;
    report(s, gpu_use(&s->gpu, &s->err), "gpu_use");
    report(s, gpu_alive(&s->err), "gpu_alive");
    report(s, gpu_check(kernels_load(), "loading kernels", &s->err), "kernels_load");
    report(s, !gpu_check(1, "an invalid value", &s->err) && s->err.native == 1, "gpu_check names an error");
    return true;
}

static bool make_buffers(struct smoke *s) {
    void *huge = NULL;
    bool refused = !gpu_alloc((size_t)1 << 60, &huge, &s->err) && huge == NULL;
    report(s, refused, "gpu_alloc refuses 2^60 bytes");
    report(s, gpu_alive(&s->err), "gpu_alive after a refusal");
    report(s, gpu_alloc(BYTES, &s->device, &s->err) && gpu_alloc(BYTES, &s->other, &s->err), "gpu_alloc");
    report(s, gpu_host_alloc(BYTES, &s->host, &s->err) && gpu_host_alloc(BYTES, &s->other_host, &s->err),
           "gpu_host_alloc");
    report(s, host_buffer_make(BYTES, -1, &s->paged, &s->err), "host_buffer_make");
    s->registered = s->paged.data != NULL && gpu_register(s->paged.data, BYTES, &s->err);
    report(s, s->registered, "gpu_register");
    bool again = s->registered && gpu_register(s->paged.data, BYTES, &s->err);
    report(s, s->registered && !again, "gpu_register refuses the same memory twice");
    report(s, gpu_stream_make(&s->stream, &s->err), "gpu_stream_make");
    return s->failed == 0;
}

static void free_all(struct smoke *s) {
    if (s->registered)
        gpu_unregister(s->paged.data);
    gpu_unregister(NULL);
    host_buffer_free(&s->paged);
    gpu_host_free(s->host);
    gpu_host_free(s->other_host);
    gpu_host_free(NULL);
    gpu_free(s->device);
    gpu_free(s->other);
    gpu_free(NULL);
    gpu_stream_free(s->stream);
}

/* ---- data: the same function on both sides, damage found where it was done ---- */

static bool fill_device(struct smoke *s, void *buffer, uint32_t seed) {
    return gpu_check(pattern_fill_device(buffer, BYTES, seed, s->stream), "filling", &s->err) &&
           gpu_stream_wait(s->stream, &s->err);
}

static bool check_device(struct smoke *s, struct pattern_fault *fault) {
    return gpu_check(pattern_check_device(s->device, BYTES, SEED, fault, s->stream), "checking", &s->err);
}

static void both_sides_agree(struct smoke *s) {
    struct pattern_fault fault = {.bad = 1};
    bool good = fill_device(s, s->device, SEED) && check_device(s, &fault);
    report(s, good && fault.bad == 0, "device fills, device checks");
    good = gpu_copy(s->host, s->device, BYTES, &s->err);
    pattern_check_host(s->host, BYTES, SEED, &fault);
    report(s, good && fault.bad == 0, "device fills, host checks");
    pattern_fill_host(s->paged.data, BYTES, SEED);
    good = gpu_memset(s->device, 0xa5, BYTES, &s->err) && check_device(s, &fault);
    report(s, good && fault.bad > BYTES / 4 - 16 && fault.found == 0xa5a5a5a5U,
           "gpu_memset, and the check sees it");
    good = gpu_copy(s->device, s->paged.data, BYTES, &s->err) && check_device(s, &fault);
    report(s, good && fault.bad == 0, "host fills, device checks");
}

/* `most_bad`: a damaged word may hold by chance what belongs there, though hardly one in a thousand. */
static void expect_fault(struct smoke *s, bool asked, const char *what, const struct pattern_fault *fault,
                         uint64_t offset, uint64_t most_bad, uint32_t found) {
    bool good = asked && fault->first_offset == offset && fault->expected == pattern_word(offset / 4, SEED) &&
                fault->found == found && fault->bad <= most_bad &&
                fault->bad > most_bad - most_bad / 1000 - 1;
    report(s, good, "%s at %llu: %llu bad words, first at %llu, expected 0x%08x, found 0x%08x", what,
           (unsigned long long)offset, (unsigned long long)fault->bad,
           (unsigned long long)fault->first_offset, fault->expected, fault->found);
}

static void damage_at(struct smoke *s, uint64_t offset) {
    uint32_t turned = ~pattern_word(offset / 4, SEED);
    uint32_t moved = pattern_word((offset + CORRUPT_SHIFT_BYTES - 16) / 4, SEED);
    const uint64_t word = CORRUPT_WORD_BYTES / 4, block = CORRUPT_SHIFT_BYTES / 4;
    struct pattern_fault fault = {0};
    bool asked = fill_device(s, s->device, SEED) &&
                 gpu_check(corrupt_word_device(s->device, offset, s->stream), "damaging", &s->err) &&
                 check_device(s, &fault);
    expect_fault(s, asked, "device word", &fault, offset, word, turned);
    asked = fill_device(s, s->device, SEED) &&
            gpu_check(corrupt_shift_device(s->device, offset, s->stream), "damaging", &s->err) &&
            check_device(s, &fault);
    expect_fault(s, asked, "device shift", &fault, offset, block, moved);
    pattern_fill_host(s->host, BYTES, SEED);
    corrupt_word_host(s->host, offset);
    pattern_check_host(s->host, BYTES, SEED, &fault);
    expect_fault(s, true, "host word", &fault, offset, word, turned);
    pattern_fill_host(s->host, BYTES, SEED);
    corrupt_shift_host(s->host, offset);
    pattern_check_host(s->host, BYTES, SEED, &fault);
    expect_fault(s, true, "host shift", &fault, offset, block, moved);
}

static void exchange(struct smoke *s) {
    struct pattern_fault fault = {0};
    uint32_t found = pattern_word(0, OTHER_SEED);
    bool asked = fill_device(s, s->device, SEED) && fill_device(s, s->other, OTHER_SEED) &&
                 gpu_check(corrupt_swap_device(s->device, s->other, BYTES, s->stream), "damaging", &s->err) &&
                 check_device(s, &fault);
    expect_fault(s, asked, "device swap", &fault, 0, BYTES / 4, found);
    asked = gpu_check(corrupt_swap_device(s->device, s->other, BYTES, s->stream), "damaging", &s->err) &&
            check_device(s, &fault);
    report(s, asked && fault.bad == 0, "device swap twice is none");
    pattern_fill_host(s->host, BYTES, SEED);
    pattern_fill_host(s->other_host, BYTES, OTHER_SEED);
    corrupt_swap_host(s->host, s->other_host, BYTES);
    pattern_check_host(s->host, BYTES, SEED, &fault);
    expect_fault(s, true, "host swap", &fault, 0, BYTES / 4, found);
}

/* ---- waiting, the gate, the clock probe ---- */

static void waiting(struct smoke *s) {
    gpu_event event = NULL;
    bool done = false;
    report(s, gpu_event_make(true, &event, &s->err), "gpu_event_make");
    static const char *const names[] = {"spin", "block", "poll"};
    for (int how = 0; how < 3; how++) {
        bool good = gpu_check(empty_launch(s->stream), "launching", &s->err) &&
                    gpu_wait_for(s->stream, (enum gpu_wait)how, event, &s->err) &&
                    gpu_stream_done(s->stream, &done, &s->err);
        report(s, good && done, "gpu_wait_for: %s", names[how]);
    }
    report(s, gpu_synchronize(&s->err), "gpu_synchronize");
    gpu_event_free(event);
}

static void gate_holds(struct smoke *s, struct gpu_gate *gate) {
    bool done = true;
    bool good = gpu_gate_close(gate, s->stream, 10 * NS_PER_S, &s->err) &&
                gpu_check(pattern_fill_device(s->other, 16, SEED, s->stream), "filling", &s->err);
    pause_ms(50);
    good = good && gpu_stream_done(s->stream, &done, &s->err);
    report(s, good && !done, "the gate holds what is queued behind it");
    gpu_gate_open(gate);
    good = gpu_stream_wait(s->stream, &s->err) && gpu_stream_done(s->stream, &done, &s->err);
    report(s, good && done && gpu_gate_held(gate, &s->err), "the gate opens, and held until then");
}

static void gate_gives_up(struct smoke *s, struct gpu_gate *gate) {
    bool good =
        gpu_gate_close(gate, s->stream, 50 * NS_PER_MS, &s->err) && gpu_stream_wait(s->stream, &s->err);
    bool held = gpu_gate_held(gate, &s->err);
    report(s, good && !held && strstr(s->err.text, "gave up") != NULL,
           "the gate gives up at its limit, and says so");
    good = gpu_gate_close(gate, s->stream, 10 * NS_PER_S, &s->err);
    gpu_gate_open(gate);
    report(s, good && gpu_stream_wait(s->stream, &s->err) && gpu_gate_held(gate, &s->err),
           "a gate that gave up can be closed again");
}

static void gates(struct smoke *s) {
    struct gpu_gate *gate = NULL;
    bool made = gpu_gate_make(&gate, &s->err);
    report(s, made, "gpu_gate_make");
    if (!made)
        return;
    gate_holds(s, gate);
    gate_gives_up(s, gate);
    /* Freed while closed: the stream must come free. */
    bool good = gpu_gate_close(gate, s->stream, 2 * NS_PER_S, &s->err);
    gpu_gate_free(gate);
    report(s, good && gpu_stream_wait(s->stream, &s->err) && gpu_alive(&s->err),
           "gpu_gate_free of a closed gate");
}

/* Copies behind a gate, timed by events, the SM clock read around them. */
static void bandwidth(struct smoke *s, const char *what, void *to, const void *from, double counted) {
    gpu_event start = NULL, stop = NULL;
    struct gpu_gate *gate = NULL;
    struct gpu_clock_probe *probe = NULL;
    double seconds = 0;
    bool good =
        gpu_event_make_timed(&start, &s->err) && gpu_event_make_timed(&stop, &s->err) &&
        gpu_gate_make(&gate, &s->err) && gpu_clock_probe_make(&probe, &s->err) &&
        gpu_copy(to, from, BYTES, &s->err) && gpu_gate_close(gate, s->stream, 5 * NS_PER_S, &s->err) &&
        gpu_clock_probe_read(probe, s->stream, 0, &s->err) && gpu_event_record(start, s->stream, &s->err);
    for (int i = 0; good && i < COPIES; i++)
        good = gpu_copy_async(to, from, BYTES, s->stream, &s->err);
    good = good && gpu_event_record(stop, s->stream, &s->err) &&
           gpu_clock_probe_read(probe, s->stream, 1, &s->err);
    if (gate != NULL)
        gpu_gate_open(gate);
    good = good && gpu_stream_wait(s->stream, &s->err) && gpu_event_wait(stop, &s->err) &&
           gpu_gate_held(gate, &s->err) && gpu_event_elapsed(start, stop, &seconds, &s->err);
    double rate = counted * COPIES * BYTES / seconds / 1e9;
    double mhz = good ? gpu_clock_probe_mhz(probe) : -1;
    report(s, good && isfinite(rate) && rate > 0 && mhz > 0, "%s: %.2f GB/s, SM clock %.0f MHz", what, rate,
           mhz);
    gpu_clock_probe_free(probe);
    gpu_gate_free(gate);
    gpu_event_free(start);
    gpu_event_free(stop);
}

static void measure(struct smoke *s) {
    bandwidth(s, "h2d pinned", s->device, s->paged.data, 1);
    bandwidth(s, "h2d hostalloc", s->device, s->host, 1);
    bandwidth(s, "d2h pinned", s->paged.data, s->device, 1);
    bandwidth(s, "d2h hostalloc", s->host, s->device, 1);
    bandwidth(s, "d2d, read and write counted", s->other, s->device, 2);
}

/* The GPU to use, or why there is none. */
static char *choose(int argc, char **argv, char *why, size_t size) {
    struct gpu_list list = {0};
    struct error err = {0};
    char *uuid = NULL;
    if (!gpu_built()) {
        snprintf(why, size, "built without CUDA");
        return NULL;
    }
    if (argc > 1)
        return mem_copy_string(argv[1]);
    if (!gpu_facts_child(&list, 10 * NS_PER_S, &err)) {
        snprintf(why, size, "%s", err.text);
        return NULL;
    }
    snprintf(why, size, "%s", list.count > 0 ? "every GPU is in MIG mode or unusable" : list.reason);
    for (size_t i = 0; uuid == NULL && i < list.count; i++)
        if (!list.items[i].mig && list.items[i].unusable[0] == '\0')
            uuid = mem_copy_string(list.items[i].uuid);
    gpu_list_free(&list);
    return uuid;
}

int main(int argc, char **argv) {
    struct smoke s = {0};
    char why[1024] = "";
    char *uuid = choose(argc, argv, why, sizeof why);
    if (uuid == NULL) {
        printf("skip: %s\n", why);
        return 77;
    }
    in_child(&s, spoil_by_address, uuid, "a bad address ends the context, and gpu_alive sees it");
    in_child(&s, spoil_by_spinning, uuid, "a kernel that never ends goes with its process");
    if (open_device(&s, uuid) && make_buffers(&s)) {
        both_sides_agree(&s);
        damage_at(&s, 0);
        damage_at(&s, 1234 * 16);
        damage_at(&s, BYTES - CORRUPT_SHIFT_BYTES);
        exchange(&s);
        waiting(&s);
        gates(&s);
        measure(&s);
        report(&s, gpu_alive(&s.err), "gpu_alive at the end");
    }
    free_all(&s);
    free(uuid);
    printf("%d failed\n", s.failed);
    return s.failed == 0 ? 0 : 1;
}
