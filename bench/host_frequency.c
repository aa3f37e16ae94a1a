/* SPDX-License-Identifier: Apache-2.0 */
/* host.frequency: the clock a core really runs at, from chains of dependent instructions whose latency in
 * cycles is known: add register to register (1) and imul (3). The figure is imul's; both must agree, or the
 * latencies are not what they are taken to be. The kernel's cycle counter is asked too, where it may be. With
 * load=vector all cores multiply vectors nine tenths of the time, and the chains run in between. */
#include "base/clock.h"
#include "base/mem.h"
#include "bench/host_chain.h"
#include "bench/host_common.h"
#include "bench/host_team.h"
#include "stats/robust.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SEGMENTS = 40, /* a sample; the faster quarter counts: interrupts and steal only ever slow one down */
    LOADED_SEGMENTS = 20, /* of the vector load, where each has a burst before it */
    BURST_US = 400,
    SAMPLES = 10,
    WARM_US = 30000,
    MAX_CORES = 1024,
    TRIES = 3, /* while the chains cannot be what they are taken to be */
};
static const double agreement = 0.02;  /* beyond: flagged, a sibling thread shares the core's issue slots */
static const double impossible = 0.10; /* beyond: measured again; the latencies are then not what we take */

static const struct metric metrics[] = {{"frequency", QUANTITY_FREQUENCY, TIMING_HOST}, {0}};

static const struct series_row series[] = {
    {.metric = "frequency", .statistic = "", .delta_rel = 0.01, .between_rel = 0.003},
    {0},
};

static void instances(const struct node *node, struct instance_list *out) {
    static const struct {
        const char *cores, *load;
        double segment_us; /* of both chains and what comes before them */
        int segments;
    } rows[] = {{"one", "none", 60, SEGMENTS},
                {"all", "none", 60, SEGMENTS},
                {"all", "vector", 60 + BURST_US, LOADED_SEGMENTS}};
    int nodes[1];
    host_gpu_nodes(node, nodes, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct instance *instance = instance_add(out, &metrics[0], LEVEL_PRIMARY);
        js_set_int(instance->where, "cpu_node", nodes[0]);
        js_set_string(instance->params, "cores", rows[i].cores);
        js_set_string(instance->params, "load", rows[i].load);
        instance->samples = SAMPLES;
        instance->seconds = WARM_US * 1e-6 + SAMPLES * rows[i].segments * rows[i].segment_us * 1e-6 + 0.01;
        if (i == 0) {
            instance->cpu = topology_pin_cpu(node->topology, nodes[0]);
            if (instance->cpu < 0)
                host_skip(instance, "no CPU of this node is allowed");
        } else {
            int found[MAX_CORES];
            host_set_cpus(instance, found, topology_all_cores(node->topology, found, MAX_CORES));
        }
        host_mark(node, instance);
        if (chain_unknown() != NULL)
            host_skip(instance, "%s", chain_unknown());
    }
}

/* ---- the kernel's counter ---- */

/* Cycles of this thread in user space; -1 with the reason in errno. */
static int cycles_open(void) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_HW_CPU_CYCLES,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* GHz over one chain of about 200 us, so that the two reads do not count; NAN: the counter gave nothing. */
static double counted_ghz(int fd) {
    uint64_t before = 0;
    uint64_t after = 0;
    int64_t start = clock_raw();
    bool good = read(fd, &before, sizeof before) == (ssize_t)sizeof before;
    chain_imul(8 * CHAIN_IMUL_25_US);
    good = read(fd, &after, sizeof after) == (ssize_t)sizeof after && good;
    int64_t ns = clock_raw() - start;
    return good && after > before && ns > 0 ? (double)(after - before) / (double)ns : NAN;
}

static void cross_check(struct case_context *context, double ghz) {
    enum { READS = 8 };
    double values[READS];
    size_t n = 0;
    int fd = cycles_open();
    if (fd < 0) {
        js_set_string(context->extra, "cycle_counter", strerror(errno));
        return;
    }
    for (int i = 0; i < READS; i++) {
        values[n] = counted_ghz(fd);
        n += isfinite(values[n]) ? 1 : 0;
    }
    close(fd);
    if (n == 0) {
        js_set_string(context->extra, "cycle_counter", "does not count");
        return;
    }
    double counted = stats_quantile(values, n, 0.75);
    js_set_number(context->extra, "counted_ghz", counted);
    if (fabs(counted - ghz) > agreement * ghz)
        js_append_string(context->flags, "counter-disagrees");
}

/* ---- measuring ---- */

/* One core's samples of both chains. */
struct core_work {
    double *add, *imul; /* [wanted] */
};

struct work {
    int wanted;
    bool vector;
    struct core_work *cores;
};

static void warm(bool vector) {
    int64_t end = clock_raw() + WARM_US * NS_PER_US;
    while (clock_raw() < end) {
        if (vector)
            chain_vector(1000);
        else
            chain_add(CHAIN_ADD_25_US);
    }
}

static void measure_core(struct work *w, struct core_work *core) {
    int segments = w->vector ? LOADED_SEGMENTS : SEGMENTS;
    for (int i = 0; i < w->wanted; i++) {
        double add[SEGMENTS];
        double imul[SEGMENTS];
        for (int s = 0; s < segments; s++) {
            if (w->vector)
                chain_vector(BURST_US);
            add[s] = chain_ghz(chain_add, CHAIN_ADD_25_US, CHAIN_ADD_CYCLES);
            imul[s] = chain_ghz(chain_imul, CHAIN_IMUL_25_US, CHAIN_IMUL_CYCLES);
        }
        core->add[i] = stats_quantile(add, (size_t)segments, 0.75);
        core->imul[i] = stats_quantile(imul, (size_t)segments, 0.75);
    }
}

static void core_body(struct host_team *team, void *shared, int index) {
    struct work *w = shared;
    warm(w->vector);
    host_team_meet(team);
    measure_core(w, &w->cores[index]);
    /* Who is done first keeps the load up for the others. */
    if (w->vector)
        chain_vector(BURST_US);
}

/* How far the two chains are apart, on the first core. */
static double apart(const struct core_work *core, int wanted) {
    double imul = stats_median(core->imul, (size_t)wanted);
    return fabs(stats_median(core->add, (size_t)wanted) - imul) / imul;
}

static void collect(struct case_context *context, const struct core_work *cores, int n, struct samples *out) {
    double *across = mem_zeroed((size_t)n, sizeof *across);
    size_t wanted = (size_t)context->wanted_samples;
    double slowest = INFINITY;
    for (size_t i = 0; i < wanted; i++) {
        for (int c = 0; c < n; c++)
            across[c] = cores[c].imul[i];
        samples_add(out, stats_median(across, (size_t)n));
    }
    for (int c = 0; c < n; c++)
        slowest = fmin(slowest, stats_median(cores[c].imul, wanted));
    js_set_number(context->extra, "slowest_core_ghz", slowest);
    js_set_number(context->extra, "add_ghz", stats_median(cores[0].add, wanted));
    js_set_int(context->extra, "cores", n);
    free(across);
}

static bool measure_once(const int *cpus, int n, struct work *w, struct error *err) {
    if (cpus != NULL)
        return host_team_run(cpus, n, core_body, w, err) || RELAY(err);
    warm(w->vector);
    measure_core(w, &w->cores[0]);
    return true;
}

/* A neighbour on the sibling thread takes issue slots from the adds and leaves imul alone. It may be gone the
 * next time; in a guest, where nobody can ask it to go, imul's figure stands, with a flag. */
static bool measure(struct case_context *context, const int *cpus, int n, struct work *w, struct error *err) {
    double gap = INFINITY;
    int tries = 0;
    while (tries < TRIES && !(gap <= impossible)) {
        if (!measure_once(cpus, n, w, err))
            return RELAY(err);
        gap = apart(&w->cores[0], w->wanted);
        tries++;
    }
    if (tries > 1)
        js_set_int(context->extra, "tries", tries);
    if (!(gap <= agreement))
        js_append_string(context->flags, "chains-disagree");
    if (gap <= impossible || js_get(context->attributes, "guest") != NULL)
        return true;
    return FAIL(err, ERROR_DATA,
                "the two instruction chains disagree in each of %d tries: %.3f GHz by add, %.3f GHz by imul",
                tries, stats_median(w->cores[0].add, (size_t)w->wanted),
                stats_median(w->cores[0].imul, (size_t)w->wanted));
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    int cpus[MAX_CORES];
    bool all = strcmp(case_text(context, "cores"), "all") == 0;
    struct work w = {.wanted = context->wanted_samples,
                     .vector = strcmp(case_text(context, "load"), "vector") == 0};
    int n = all ? host_cpus(context, cpus, MAX_CORES) : 1;
    size_t wanted = (size_t)w.wanted;
    if (n < 1)
        return FAIL(err, ERROR_SYSTEM, "no core to measure");
    w.cores = mem_zeroed((size_t)n, sizeof *w.cores);
    double *values = mem_zeroed((size_t)n * wanted * 2, sizeof *values);
    for (int c = 0; c < n; c++) {
        w.cores[c].add = values + (size_t)c * wanted * 2;
        w.cores[c].imul = w.cores[c].add + wanted;
    }
    bool good = measure(context, all ? cpus : NULL, n, &w, err);
    if (good && !all)
        cross_check(context, stats_median(w.cores[0].imul, wanted));
    if (w.vector)
        js_set_string(context->extra, "vectors", chain_vector_kind());
    if (good)
        collect(context, w.cores, n, out);
    free(values);
    free(w.cores);
    return good;
}

const struct bench_case case_host_frequency = {
    .name = "host.frequency",
    .version = 2,
    .summary = "the clock that cores really run at: one alone, all together, all under a vector load",
    .block = BLOCK_QUIET,
    .quiet = true,
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
