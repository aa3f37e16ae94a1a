/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/smoke_lanes.h"

#include "base/clock.h"
#include "bench/copy_pair.h"
#include "bench/lanes.h"
#include "bench/pinned.h"
#include "kernels/copy.h"
#include "kernels/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GPUS = 2, MAX_LANES = 2 * MAX_GPUS, OPERATIONS = 4, ODD = (3 << 20) + 13 };

struct smoke {
    struct gpu_device gpus[MAX_GPUS];
    int n_gpus;
    struct case_context context; /* what copy_pair and lanes take from one */
    int failures;
};

/* One lane of a test. */
struct want {
    int gpu;
    bool to_device;
    struct lane_load load;
};

static bool report(struct smoke *t, bool good, const char *what, const char *detail) {
    printf("%s  lanes  %s%s%s\n", good ? "PASS" : "FAIL", what, detail[0] == '\0' ? "" : ": ", detail);
    t->failures += !good;
    return good;
}

static bool queue(void *arg, int lane, gpu_stream stream, int count, struct error *err) {
    struct copy_pair *pairs = arg;
    return copy_pair_enqueue(&pairs[lane], stream, count, err);
}

static bool queue_fails(void *arg, int lane, gpu_stream stream, int count, struct error *err) {
    (void)arg, (void)stream, (void)count;
    return lane == 0 || FAIL(err, ERROR_GPU, "lane %d cannot, on purpose", lane);
}

/* ---- one set of lanes ---- */

static bool poison(struct copy_pair *pairs, int n, struct error *err) {
    for (int i = 0; i < n; i++)
        if (!copy_pair_poison(&pairs[i], err))
            return false;
    return true;
}

static bool make(struct smoke *t, struct copy_pair *pairs, const struct want *want, int n,
                 struct lanes **lanes, struct error *err) {
    const struct gpu_device *devices[MAX_LANES];
    for (int i = 0; i < n; i++) {
        devices[i] = &t->gpus[want[i].gpu];
        copy_pair_plan(&pairs[i], &t->context, devices[i], want[i].to_device, -1, i);
        pairs[i].name_gpu = true;
        if (!copy_pair_make(&pairs[i], &t->context, err))
            return false;
    }
    return lanes_make(n, devices, lanes, err);
}

static void check_data(struct smoke *t, const char *what, struct copy_pair *pairs, int n) {
    struct verification v = {0};
    struct error err = {0};
    char detail[200] = "";
    bool good = true;
    for (int i = 0; good && i < n; i++)
        good = copy_pair_verify(&pairs[i], &v, &err);
    if (v.bad > 0)
        snprintf(detail, sizeof detail, "%llu wrong words in the %s", (unsigned long long)v.bad, v.what);
    report(t, good && v.bad == 0, what, good ? detail : err.text);
}

static void judge(struct smoke *t, const char *what, const struct want *want, const struct lane_load *loads,
                  const struct lane_time *times, int n, double mhz) {
    double sum = 0;
    printf("      %-36s", what);
    for (int i = 0; i < n; i++) {
        double its = loads[i].timed == 0 ? 0 : (double)COPY_LARGE * loads[i].timed / times[i].seconds / 1e9;
        sum += its;
        if (loads[i].timed > 0)
            printf("  GPU %d %s %7.2f", want[i].gpu, want[i].to_device ? "h2d" : "d2h", its);
    }
    printf("  sum %7.2f GB/s   SM %.0f MHz\n", sum, mhz);
    report(t, lanes_overlapped(loads, times, n), "all lanes ran while one was measured", what);
    report(t, mhz > 100 && mhz < 4000 && sum > 1, "clock and bandwidth are plausible", what);
}

static void run(struct smoke *t, const char *what, const struct want *want, int n) {
    struct copy_pair pairs[MAX_LANES] = {0};
    struct lane_load loads[MAX_LANES];
    struct lane_time times[MAX_LANES];
    struct lanes *lanes = NULL;
    struct error err = {0};
    for (int i = 0; i < n; i++)
        loads[i] = want[i].load;
    const struct lanes_work work = {.loads = loads, .queue = queue, .arg = pairs};
    int64_t begun = clock_raw();
    bool good = make(t, pairs, want, n, &lanes, &err) && lanes_warm_up(lanes, &work, &t->context, &err) &&
                poison(pairs, n, &err);
    if (good && n > 1) { /* after a lane that cannot be queued the lanes work as before */
        struct error expected = {0};
        report(t, !lanes_run(lanes, loads, queue_fails, pairs, times, &expected), "a lane fails",
               expected.text);
    }
    good = good && lanes_run(lanes, loads, queue, pairs, times, &err);
    if (good) {
        judge(t, what, want, loads, times, n, lanes_mhz(lanes));
        check_data(t, "what they copied is right", pairs, n);
    }
    lanes_free(lanes);
    for (int i = 0; i < n; i++)
        copy_pair_free(&pairs[i], t->context.shelf);
    printf("      %-36s  %.3f s in all\n", what, (double)(clock_raw() - begun) / 1e9);
    if (!good)
        report(t, false, what, err.text);
}

/* ---- tests ---- */

/* A number of bytes that no word divides, from a device buffer to another. */
static void odd_kernel_copy(struct smoke *t, int gpu) {
    struct error err = {0};
    unsigned char *a = NULL, *b = NULL, tail[32];
    struct pattern_fault fault = {0};
    void *p = NULL, *q = NULL;
    bool good = gpu_use(&t->gpus[gpu], &err) && gpu_alloc(ODD + 64, &p, &err) &&
                gpu_alloc(ODD + 64, &q, &err) && gpu_memset(q, 0x5a, ODD + 64, &err) &&
                gpu_check(pattern_fill_device(p, ODD + 51, 3, NULL), "filling", &err) &&
                gpu_synchronize(&err) && gpu_check(copy_kernel_launch(q, p, ODD, NULL), "copying", &err) &&
                gpu_synchronize(&err) &&
                gpu_check(pattern_check_device(q, ODD / 4 * 4, 3, &fault, NULL), "checking", &err);
    a = p;
    b = q;
    good = good && gpu_copy(tail, b + ODD - 1, sizeof tail, &err);
    unsigned char last = 0;
    good = good && gpu_copy(&last, a + ODD - 1, 1, &err);
    report(t, good && fault.bad == 0 && tail[0] == last && tail[1] == 0x5a,
           "a kernel copies an odd number of bytes, and no more", err.text);
    gpu_free(p);
    gpu_free(q);
}

static void one_gpu(struct smoke *t, int gpu) {
    js *params = js_new_object();
    js_set_int(params, "bytes", COPY_LARGE);
    js_set_string(params, "memory", "pinned");
    js_set_string(params, "cache", "cold");
    t->context.params = params;
    run(t, "h2d while d2h runs",
        (struct want[]){{gpu, true, {OPERATIONS, OPERATIONS}}, {gpu, false, {0, 2 * OPERATIONS}}}, 2);
    run(t, "d2h while h2d runs",
        (struct want[]){{gpu, true, {0, 2 * OPERATIONS}}, {gpu, false, {OPERATIONS, OPERATIONS}}}, 2);
    run(t, "both ways",
        (struct want[]){{gpu, true, {OPERATIONS, 2 * OPERATIONS}},
                        {gpu, false, {OPERATIONS, 2 * OPERATIONS}}},
        2);
    js_set_string(params, "engine", "sm");
    run(t, "h2d by a kernel", (struct want[]){{gpu, true, {OPERATIONS, OPERATIONS}}}, 1);
    run(t, "d2h by a kernel", (struct want[]){{gpu, false, {OPERATIONS, OPERATIONS}}}, 1);
    js_set_string(params, "engine", "ce");
    js_set_int(params, "bytes", 4096);
    run(t, "d2h of 4 KiB, block by block", (struct want[]){{gpu, false, {200, 200}}}, 1);
    js_free(params);
    odd_kernel_copy(t, gpu);
}

static void two_gpus(struct smoke *t) {
    const struct lane_load load = {OPERATIONS, 2 * OPERATIONS};
    js *params = js_new_object();
    js_set_int(params, "bytes", COPY_LARGE);
    js_set_string(params, "memory", "pinned");
    t->context.params = params;
    run(t, "two GPUs, h2d", (struct want[]){{0, true, load}, {1, true, load}}, 2);
    run(t, "two GPUs, d2h", (struct want[]){{0, false, load}, {1, false, load}}, 2);
    run(t, "two GPUs, both ways",
        (struct want[]){{0, true, load}, {0, false, load}, {1, true, load}, {1, false, load}}, 4);
    js_free(params);
}

/* Memory that was pinned while only the first GPU had a context, seen from the second. */
static void pinned_for_later(struct smoke *t) {
    struct error err = {0};
    const struct host_buffer *buffer = NULL, *again = NULL;
    void *address = NULL;
    bool good = pinned_take(t->context.shelf, PINNED_REGISTERED, COPY_LARGE, -1, false, &buffer, &err);
    char uuid[80];
    snprintf(uuid, sizeof uuid, "%s", t->gpus[1].uuid);
    good = good && gpu_open(uuid, &t->gpus[1], &err);
    good = good && gpu_device_address(buffer->data, &address, &err);
    report(t, good, "pinned memory is known to a GPU whose context came later", err.text);
    pinned_give(t->context.shelf, buffer);
    good = good && pinned_take(t->context.shelf, PINNED_REGISTERED, COPY_LARGE, -1, false, &again, &err);
    report(t, good && again == buffer, "and is the same for the next item", err.text);
    pinned_give(t->context.shelf, again);
}

int smoke_lanes(const struct gpu_list *list) {
    struct smoke t = {0};
    struct error err = {0};
    t.context = (struct case_context){.seed = 4711,
                                      .shelf = shelf_make(),
                                      .extra = js_new_object(),
                                      .flags = js_new_array(),
                                      .links = js_new_object(),
                                      .sm_mhz = js_new_array()};
    for (size_t i = 0; i < list->count && t.n_gpus < MAX_GPUS; i++)
        if (!list->items[i].mig && list->items[i].unusable[0] == '\0')
            snprintf(t.gpus[t.n_gpus++].uuid, sizeof t.gpus[0].uuid, "%s", list->items[i].uuid);
    char first[80];
    snprintf(first, sizeof first, "%s", t.gpus[0].uuid);
    if (t.n_gpus > 0 && report(&t, gpu_open(first, &t.gpus[0], &err), "the first GPU opens", err.text)) {
        if (t.n_gpus > 1)
            pinned_for_later(&t);
        one_gpu(&t, 0);
        if (t.n_gpus > 1)
            two_gpus(&t);
    }
    char *flags = js_text(t.context.flags);
    printf("      flags of the lanes: %s\n", flags);
    free(flags);
    js_free(t.context.extra);
    js_free(t.context.flags);
    js_free(t.context.links);
    js_free(t.context.sm_mhz);
    return t.failures;
}
