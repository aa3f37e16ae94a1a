/* SPDX-License-Identifier: Apache-2.0 */
/* Which collectives run: what is judged in every round, and what is only shown. */
#include "base/mem.h"
#include "bench/cache_word.h"
#include "bench/launch_common.h"
#include "bench/nccl_common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 300, LOOP = 20, MIN_LOOP = 2, SAMPLES = 15, MOST_SAMPLES = 600 };
static const size_t small[] = {32 << 10, 256 << 10}, large[] = {1 << 20, 64 << 20};
/* As long as a sample of 20 operations may get: its start and end cost some 30 us, 1 % of one operation of
 * 1 GiB. */
static const double sample_seconds = 0.012;
/* As long as all samples may take that wait for a narrow interval: every round has the judged ones. Above 1
 * GiB an operation takes one of several times for seconds. Of recorded samples these bounds leave 1 series in
 * 30 wider than it should be. */
static const double judged_seconds = 0.12, shown_seconds = 0.8, huge_seconds = 2;
enum { HUGE_FROM = 1 << 30 };               /* beyond it nccl-tests is seldom asked */
static const double set_up_seconds = 0.015; /* the item's own start and end, threads, filling, checking */
static const double assumed_gbps = 20;      /* busbw, where no limit is known */
static const double usual_share = 0.65;     /* of the links' rate that a collective reaches */

const struct metric nccl_metrics[] = {
    [NCCL_TIME] = {"time", QUANTITY_TIME, TIMING_HOST},
    [NCCL_CALL] = {"call", QUANTITY_TIME, TIMING_HOST},
    [NCCL_ALGBW] = {"algbw", QUANTITY_BANDWIDTH, TIMING_HOST},
    [NCCL_BUSBW] = {"busbw", QUANTITY_BANDWIDTH, TIMING_HOST},
    [NCCL_METRICS] = {0},
};

const struct series_row nccl_series[] = {
    {.metric = "time", .statistic = "p50", .delta_rel = 0.03, .between_rel = 0.02},
    {.metric = "call", .statistic = "p50", .delta_rel = 0.10, .delta_abs = 0.2, .between_rel = 0.05},
    {.metric = "call", .statistic = "p99", .delta_rel = 0.25, .between_rel = 0.15, .descriptive = true},
    {.metric = "algbw", .statistic = "", .delta_rel = 0.03, .between_rel = 0.02, .descriptive = true},
    {.metric = "busbw", .statistic = "", .delta_rel = 0.03, .between_rel = 0.02, .descriptive = true},
    {0},
};

const char *const nccl_control[] = {"NCCL_P2P_DISABLE=1", NULL};

struct maker {
    struct p2p_party party;
    const struct nccl_group *group;
    enum nccl_op op;
    double link_raw;
    struct instance_list *out;
};

/* ---- cost ---- */

static double operation_seconds(const struct maker *m, size_t bytes) {
    double link = isfinite(m->link_raw) ? m->link_raw * usual_share : assumed_gbps;
    double n = m->group->n;
    return 10e-6 + 2e-6 * n + (double)bytes * nccl_busbw_factor(m->op, m->group->n) / (link * 1e9);
}

static int loop_of(double each) {
    int loop = (int)fmin(LOOP, fmax(MIN_LOOP, sample_seconds / each));
    return loop < LOOP && loop > 4 ? loop / 4 * 4 : loop; /* so that all windows can be in it alike */
}

/* Samples that wait for a narrow interval: as many as they may be, and as they are likely to be. */
static double until_narrow(struct instance *instance, size_t bytes, double sample) {
    bool judged = instance->level == LEVEL_PRIMARY;
    double most = judged ? judged_seconds : bytes > HUGE_FROM ? huge_seconds : shown_seconds;
    double share = judged ? 1 / 4.0 : bytes > HUGE_FROM ? 1 / 3.0 : 1 / 8.0; /* few need all of them */
    instance->samples = (int)fmin(MOST_SAMPLES, fmax(NCCL_LEAST_SAMPLES, most / sample));
    return NCCL_LEAST_SAMPLES + (instance->samples - NCCL_LEAST_SAMPLES) * share;
}

static void set_cost(const struct maker *m, struct instance *instance, size_t bytes) {
    double each = operation_seconds(m, bytes);
    if (instance->metric == &nccl_metrics[NCCL_CALL]) {
        instance->samples = CALLS;
        instance->seconds = CALLS * (each + 4e-6);
    } else {
        instance->operations = loop_of(each);
        double sample = instance->operations * each, samples = SAMPLES;
        instance->samples = SAMPLES;
        if (bytes >= NCCL_NARROW_FROM)
            samples = until_narrow(instance, bytes, sample);
        instance->seconds = samples * sample + 4 * each;
    }
    /* Filling and checking, at a cautious rate; up to 20 windows and 512 MiB. */
    instance->seconds += set_up_seconds + (double)(bytes * 20 < 512U << 20 ? bytes * 20 : 512U << 20) / 5e11;
    if (instance->level == LEVEL_PRIMARY)
        instance->seconds += nccl_join_share(m->group);
}

/* ---- one ---- */

/* In-switch reduction (NVLS) sends each byte once where a ring sends it 2 (n - 1) ÷ n times. */
static void set_limit(const struct maker *m, struct instance *instance) {
    double n = m->group->n;
    double factor = m->op == NCCL_ALL_REDUCE ? fmax(1, 2 * (n - 1) / n) : 1;
    if (instance->metric != &nccl_metrics[NCCL_BUSBW] || !isfinite(m->link_raw))
        return;
    instance->limit_raw = m->link_raw * factor;
    instance->limit = instance->limit_raw;
}

static struct instance *add(const struct maker *m, enum nccl_metric metric, size_t bytes, enum nccl_type type,
                            bool in_place, enum level level) {
    struct nccl_shape shape;
    if (!nccl_shape_make(m->op, m->group->n, type, bytes, in_place, &shape))
        return NULL;
    struct instance *instance = nccl_instance(&m->party, m->group, &nccl_metrics[metric], level, m->out);
    js_set_int(instance->params, "bytes", (int64_t)shape.bytes);
    js_set_string(instance->params, "dtype", nccl_type_name(type));
    js_set_string(instance->params, "place", in_place ? "in" : "out");
    if (m->op == NCCL_BROADCAST || m->op == NCCL_REDUCE)
        js_set_int(instance->params, "root", 0);
    if (metric == NCCL_BUSBW && shape.bytes < large[0])
        js_set_string(instance->attributes, "start", "signal"); /* where it shows */
    if (metric == NCCL_CALL) {
        launch_set_wait(m->party.node, instance, GPU_WAIT_SPIN);
        launch_set_after(instance, 0);
    }
    set_cost(m, instance, shape.bytes);
    int loop = metric == NCCL_CALL ? 1 : instance->operations;
    cache_set(instance, cache_word_gpu(m->party.gpus[m->group->gpus[0]], nccl_walked(&shape, loop)));
    set_limit(m, instance);
    return instance;
}

/* ---- all ---- */

static void add_judged(const struct maker *m) {
    if (m->op == NCCL_ALL_REDUCE) {
        for (int i = 0; i < 2; i++) {
            add(m, NCCL_CALL, small[i], NCCL_FLOAT, false, LEVEL_PRIMARY);
            add(m, NCCL_CALL, small[i], NCCL_BF16, false, LEVEL_PRIMARY);
            add(m, NCCL_TIME, large[i], NCCL_FLOAT, false, LEVEL_PRIMARY);
            add(m, NCCL_TIME, large[i], NCCL_BF16, false, LEVEL_PRIMARY);
        }
    } else if (m->group->largest) {
        add(m, NCCL_TIME, large[1], NCCL_FLOAT, false, LEVEL_PRIMARY); /* the first is the quick profile's */
        add(m, NCCL_CALL, small[1], NCCL_FLOAT, false, LEVEL_PRIMARY);
    }
}

static bool fits_memory(const struct maker *m, size_t bytes) {
    for (int i = 0; i < m->group->n; i++) {
        int64_t mib = m->party.gpus[m->group->gpus[i]]->memory_mib;
        if (mib > 0 && (double)mib * 1048576 * 0.6 < 2.0 * (double)bytes)
            return false;
    }
    return true;
}

/* Whether add_judged has it on the largest group, judged or shown. */
static bool is_judged(const struct maker *m, enum nccl_metric metric, size_t bytes, enum nccl_type type) {
    const size_t *sizes = metric == NCCL_CALL ? small : large;
    bool all_reduce = m->op == NCCL_ALL_REDUCE;
    return (type == NCCL_FLOAT || (all_reduce && type == NCCL_BF16)) &&
           (bytes == sizes[1] || (all_reduce && bytes == sizes[0]));
}

/* busbw at all sizes, as nccl-tests prints it, and the time of one operation at every sixteenth of the small
 * ones. */
static void add_sweep(const struct maker *m) {
    for (size_t bytes = 8, step = 0; bytes <= (size_t)4 << 30; bytes *= 2, step++) {
        if (bytes != large[1] && fits_memory(m, bytes))
            add(m, NCCL_BUSBW, bytes, NCCL_FLOAT, false, LEVEL_THOROUGH);
        if (bytes < large[0] && step % 4 == 1 && !is_judged(m, NCCL_CALL, bytes, NCCL_FLOAT))
            add(m, NCCL_CALL, bytes, NCCL_FLOAT, false, LEVEL_THOROUGH);
    }
}

/* Types beside float by a small size; where the sum is what costs, by a large one too. */
static void add_types(const struct maker *m) {
    for (int type = NCCL_INT32; type <= NCCL_BF16; type++)
        for (int i = 0; i < 2; i++) {
            if (i == 1 && type != NCCL_FLOAT && m->op != NCCL_ALL_REDUCE)
                continue;
            if (!is_judged(m, NCCL_TIME, large[i], (enum nccl_type)type))
                add(m, NCCL_TIME, large[i], (enum nccl_type)type, false, LEVEL_THOROUGH);
            add(m, NCCL_TIME, large[i], (enum nccl_type)type, true, LEVEL_THOROUGH);
        }
}

static void add_shown(const struct maker *m) {
    enum level most = m->op == NCCL_ALL_REDUCE ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH;
    add(m, NCCL_BUSBW, large[1], NCCL_FLOAT, false, most);
    add(m, NCCL_ALGBW, large[1], NCCL_FLOAT, false, LEVEL_THOROUGH);
    add_sweep(m);
    add_types(m);
}

/* One pair of each kind of path, but the first two GPUs, which are a group: what a path costs shows best in
 * two. */
static void add_pairs(struct maker *m) {
    struct p2p_path *paths = NULL;
    int n = p2p_paths(&m->party, &paths);
    for (int i = 0; i < n; i++) {
        struct nccl_group pair = {.gpus = {paths[i].from, paths[i].to}, .n = 2};
        if (!paths[i].stands_for_others || (paths[i].from == 0 && paths[i].to == 1))
            continue;
        m->group = &pair;
        m->link_raw = nccl_link_raw(&m->party, m->group);
        add(m, NCCL_CALL, small[0], NCCL_FLOAT, false, LEVEL_THOROUGH);
        add(m, NCCL_BUSBW, large[1], NCCL_FLOAT, false, LEVEL_THOROUGH);
        m->group = NULL;
    }
    free(paths);
}

static void add_hidden(const struct maker *m, size_t bytes, bool in_place) {
    struct instance *instance = add(m, NCCL_TIME, bytes, NCCL_FLOAT, in_place, LEVEL_HIDDEN);
    if (instance != NULL)
        js_set_string(instance->params, "corrupt", "word");
}

/* On a machine with one GPU the rest can be shown to work: loading, a communicator of one rank, data, times.
 */
static void add_alone(struct maker *m) {
    struct nccl_group one = {.n = 1, .largest = true};
    m->group = &one;
    m->link_raw = NAN;
    for (int metric = NCCL_TIME; metric <= NCCL_CALL; metric++) {
        struct instance *instance =
            add(m, (enum nccl_metric)metric, large[0], NCCL_FLOAT, false, LEVEL_HIDDEN);
        if (instance != NULL)
            js_set_string(instance->params, "corrupt", "none");
    }
    add_hidden(m, large[0], false);
    m->group = NULL;
}

static void skip_all(const struct node *node, const struct p2p_party *party, struct instance_list *out) {
    struct instance *instance = instance_add(out, &nccl_metrics[NCCL_TIME], LEVEL_PRIMARY);
    char why[160];
    snprintf(why, sizeof why, "needs 2 GPUs that can be used, %d of %zu can", party->n, node->gpus.count);
    instance->skip = mem_copy_string(why);
}

void nccl_instances(const struct node *node, enum nccl_op op, struct instance_list *out) {
    struct maker m = {.op = op, .out = out};
    struct nccl_group groups[8] = {0};
    p2p_gather(node, &m.party);
    int n = nccl_groups(&m.party, groups);
    if (n == 0)
        skip_all(node, &m.party, out);
    if (n == 0 && m.party.n == 1)
        add_alone(&m);
    for (int i = 0; i < n; i++) {
        m.group = &groups[i];
        m.link_raw = nccl_link_raw(&m.party, m.group);
        add_judged(&m);
        if (!groups[i].largest)
            continue;
        add_shown(&m);
        add_hidden(&m, large[0], false);
        add_hidden(&m, large[0], true);
    }
    if (op == NCCL_ALL_REDUCE)
        add_pairs(&m);
}
