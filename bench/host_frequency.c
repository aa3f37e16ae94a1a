/* SPDX-License-Identifier: Apache-2.0 */
/* host.frequency: the clock a core really runs at, from chains of dependent instructions whose latency in
 * cycles is known: add register to register (1) and imul (3). add with an immediate is no use: newer cores
 * eliminate it. The figure is imul's, which leaves a sibling thread room; both chains must agree, or the
 * latencies are not what they are taken to be. */
#include "base/clock.h"
#include "base/mem.h"
#include "bench/host_common.h"
#include "stats/robust.h"
#include "system/pin.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEGMENTS = 40,    /* a sample; the faster quarter counts: interrupts and steal only ever slow one down */
    UNROLL = 16,      /* dependent instructions in the loop's body */
    ADD_LOOPS = 5000, /* about 25 us at 3.2 GHz */
    IMUL_LOOPS = 1700,
    IMUL_CYCLES = 3,
    WARM_MS = 50,
    MAX_CORES = 1024,
};
static const double agreement = 0.02;  /* beyond: flagged, a sibling thread shares the core's issue slots */
static const double impossible = 0.10; /* beyond: the latencies are not what they are taken to be */

static const struct metric metrics[] = {{"frequency", QUANTITY_FREQUENCY, TIMING_HOST}, {0}};

static const struct series_row series[] = {
    {.metric = "frequency", .statistic = "", .delta_rel = 0.01, .between_rel = 0.003},
    {0},
};

static void instances(const struct node *node, struct instance_list *out) {
    static const char *const cores[] = {"one", "all"};
    int nodes[1];
    host_gpu_nodes(node, nodes, 1);
    for (size_t i = 0; i < 2; i++) {
        struct instance *instance = instance_add(out, &metrics[0], LEVEL_PRIMARY);
        js_set_int(instance->where, "cpu_node", nodes[0]);
        js_set_string(instance->params, "cores", cores[i]);
        instance->cpu = i == 0 ? topology_pin_cpu(node->topology, nodes[0]) : -1;
        instance->samples = 10;
        instance->seconds = WARM_MS * 1e-3 + 10 * SEGMENTS * 2 * 30e-6 + (i == 0 ? 0.02 : 0.05);
        if (i == 1) {
            int found[MAX_CORES];
            int n = topology_all_cores(node->topology, found, MAX_CORES);
            js *list = js_new_array();
            for (int c = 0; c < n; c++)
                js_append(list, js_new_int(found[c]));
            js_set(instance->attributes, "cpus", list);
        }
        host_mark(node, instance);
#if !defined(__x86_64__)
        instance->skip = strdup("not written for this processor: x86-64 only");
#endif
    }
}

#if defined(__x86_64__)
static void add_chain(int loops) {
    long x = 1;
    long y = 1;
    for (int i = 0; i < loops; i++)
        __asm__ volatile(".rept 16\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(y));
}

static void imul_chain(int loops) {
    long x = 1;
    long y = 1;
    for (int i = 0; i < loops; i++)
        __asm__ volatile(".rept 16\n\timul %1, %0\n\t.endr" : "+r"(x) : "r"(y));
}
#else
static void add_chain(int loops) {
    (void)loops;
}
static void imul_chain(int loops) {
    (void)loops;
}
#endif

/* GHz over one segment: cycles per nanosecond. */
static double segment(void (*chain)(int), int loops, int cycles) {
    int64_t start = clock_raw();
    chain(loops);
    int64_t ns = clock_raw() - start;
    return (double)loops * UNROLL * cycles / (double)ns;
}

/* One core's samples of one chain kind after the other. */
struct core_work {
    int cpu;
    int wanted;
    pthread_barrier_t *together; /* NULL: alone */
    double *add, *imul;          /* [wanted] */
    struct error err;
    bool good;
};

static void measure_core(struct core_work *w) {
    int64_t end = clock_raw() + WARM_MS * NS_PER_MS;
    while (clock_raw() < end)
        add_chain(ADD_LOOPS);
    if (w->together != NULL)
        pthread_barrier_wait(w->together);
    for (int i = 0; i < w->wanted; i++) {
        double add[SEGMENTS];
        double imul[SEGMENTS];
        for (int s = 0; s < SEGMENTS; s++) {
            add[s] = segment(add_chain, ADD_LOOPS, 1);
            imul[s] = segment(imul_chain, IMUL_LOOPS, IMUL_CYCLES);
        }
        w->add[i] = stats_quantile(add, SEGMENTS, 0.75);
        w->imul[i] = stats_quantile(imul, SEGMENTS, 0.75);
    }
}

static void *core_thread(void *argument) {
    struct core_work *w = argument;
    w->good = pin_thread(w->cpu, &w->err);
    measure_core(w); /* also unpinned: the others wait at the barrier */
    return NULL;
}

static bool agree(struct case_context *context, const struct core_work *w, struct error *err) {
    double add = stats_median(w->add, (size_t)w->wanted);
    double imul = stats_median(w->imul, (size_t)w->wanted);
    if (fabs(add - imul) > agreement * imul)
        js_append_string(context->flags, "chains-disagree");
    if (fabs(add - imul) <= impossible * imul)
        return true;
    return FAIL(err, ERROR_DATA, "the two instruction chains disagree: %.3f GHz by add, %.3f GHz by imul",
                add, imul);
}

static bool run_threads(struct core_work *work, int n, struct error *err) {
    pthread_t *threads = mem_zeroed((size_t)n, sizeof *threads);
    pthread_barrier_t together;
    int started = 0;
    if (pthread_barrier_init(&together, NULL, (unsigned)n) != 0) {
        free(threads);
        return FAIL(err, ERROR_SYSTEM, "cannot prepare %d threads", n);
    }
    for (; started < n; started++) {
        work[started].together = &together;
        if (pthread_create(&threads[started], NULL, core_thread, &work[started]) != 0)
            break;
    }
    if (started <
        n) /* the others would wait at the barrier for ever: the process is given up with the item */
        return FAIL(err, ERROR_SYSTEM, "cannot start %d threads", n);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
    free(threads);
    for (int i = 0; i < n; i++)
        if (!work[i].good) {
            *err = work[i].err;
            return RELAY(err);
        }
    return true;
}

static bool collect(struct case_context *context, const struct core_work *work, int n, struct samples *out,
                    struct error *err) {
    double *across = mem_zeroed((size_t)n, sizeof *across);
    double slowest = INFINITY;
    for (int i = 0; i < context->wanted_samples; i++) {
        for (int c = 0; c < n; c++)
            across[c] = work[c].imul[i];
        samples_add(out, stats_median(across, (size_t)n));
    }
    for (int c = 0; c < n; c++)
        slowest = fmin(slowest, stats_median(work[c].imul, (size_t)work[c].wanted));
    js_set_number(context->extra, "slowest_core_ghz", slowest);
    js_set_number(context->extra, "add_ghz", stats_median(work[0].add, (size_t)work[0].wanted));
    js_set_int(context->extra, "cores", n);
    free(across);
    return agree(context, &work[0], err);
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    const js *cpus = js_get(context->attributes, "cpus");
    bool all = strcmp(case_text(context, "cores"), "all") == 0;
    int n = all ? (int)js_length(cpus) : 1;
    size_t wanted = (size_t)context->wanted_samples;
    struct core_work *work = mem_zeroed((size_t)n, sizeof *work);
    double *values = mem_zeroed((size_t)n * wanted * 2, sizeof *values);
    bool good = n > 0;
    if (!good)
        FAIL(err, ERROR_SYSTEM, "no core to measure");
    for (int c = 0; good && c < n; c++) {
        work[c].cpu = all ? (int)js_int(js_at(cpus, (size_t)c), -1) : context->cpu;
        work[c].wanted = context->wanted_samples;
        work[c].add = values + (size_t)c * wanted * 2;
        work[c].imul = work[c].add + wanted;
    }
    if (good && all)
        good = run_threads(work, n, err);
    else if (good)
        measure_core(work);
    good = good && collect(context, work, n, out, err);
    free(values);
    free(work);
    return good;
}

const struct bench_case case_host_frequency = {
    .name = "host.frequency",
    .version = 1,
    .summary = "the clock that cores really run at, one alone and all together",
    .block = BLOCK_QUIET,
    .quiet = true,
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
