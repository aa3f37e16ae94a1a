/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.paths: how NCCL connects the ranks: transport and channels of each pair, from its own log of an
 * initialisation that is not timed and has a process of its own, since NCCL reads its debugging variables
 * once and writing a log costs time. */
#include "base/mem.h"
#include "base/text.h"
#include "bench/nccl_common.h"
#include "bench/nccl_log.h"
#include "bench/nccl_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATHS_BYTES = 64 << 20, LOG_LIMIT = 4 << 20 };
static const char shelf_name[] = "nccl-log";
/* A fresh process starts CUDA. */
static const double start_seconds = 0.4, start_seconds_gpu = 0.15;

static const struct metric metrics[] = {{"channels", QUANTITY_COUNT, TIMING_HOST}, {0}};
static const struct series_row series[] = {
    {.metric = "channels", .statistic = "", .delta_rel = 0.01, .descriptive = true}, {0}};

static void add(const struct p2p_party *party, const struct nccl_group *group, enum level level,
                struct instance_list *out) {
    struct instance *instance = nccl_instance(party, group, &metrics[0], level, out);
    if (level == LEVEL_HIDDEN)
        js_set_string(instance->params, "corrupt", "none");
    instance->env = js_new_object();
    js_set_string(instance->env, "NCCL_DEBUG", "INFO");
    js_set_string(instance->env, "NCCL_DEBUG_SUBSYS", "INIT,GRAPH,P2P,SHM,NET");
    instance->seconds =
        start_seconds + start_seconds_gpu * group->n + nccl_load_estimate() + nccl_join_estimate(group->n);
}

static void instances(const struct node *node, struct instance_list *out) {
    struct p2p_party party;
    struct nccl_group groups[8] = {0}, alone = {.n = 1};
    p2p_gather(node, &party);
    int n = nccl_groups(&party, groups);
    for (int i = 0; i < n; i++)
        add(&party, &groups[i], groups[i].largest ? LEVEL_DESCRIPTIVE : LEVEL_THOROUGH, out);
    if (n == 0)
        instance_add(out, &metrics[0], LEVEL_DESCRIPTIVE)->skip =
            mem_copy_string("needs 2 GPUs that can be used");
    if (n == 0 && party.n == 1)
        add(&party, &alone, LEVEL_HIDDEN, out);
}

/* ---- the log ---- */

/* The descriptor stays open: NCCL writes to it until the process ends, and a second item in the same process
 * finds its lines behind the first one's. No file is left behind, however that end comes. */
static bool open_log(struct case_context *context, int *fd, struct error *err) {
    int *kept = shelf_find(context->shelf, shelf_name);
    char path[64];
    if (kept != NULL) {
        *fd = *kept;
        return true;
    }
    *fd = memfd_create(shelf_name, MFD_CLOEXEC);
    if (*fd < 0)
        return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot make a place for NCCL's log: %s",
                           strerror(errno));
    kept = mem_zeroed(1, sizeof *kept);
    *kept = *fd;
    shelf_put(context->shelf, shelf_name, kept);
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    setenv("NCCL_DEBUG_FILE", path, 1);
    return true;
}

static void read_log(int fd, off_t at, struct text *out) {
    char chunk[65536];
    ssize_t n;
    while (out->length < LOG_LIMIT && (n = pread(fd, chunk, sizeof chunk, at)) > 0) {
        text_add_bytes(out, chunk, (size_t)n);
        at += n;
    }
}

static js *describe_pair(const struct nccl_set *set, const struct nccl_log_pair *pair) {
    js *one = js_new_object();
    js_set_string(one, "from", set->ranks[pair->from].device.bdf);
    js_set_string(one, "to", set->ranks[pair->to].device.bdf);
    js_set_string(one, "transport", pair->transport);
    if (pair->mixed)
        js_set_bool(one, "mixed", true);
    js_set_int(one, "channels", nccl_log_channels(pair));
    return one;
}

/* False where nothing was understood. */
static bool tell(const struct nccl_set *set, const struct nccl_log *log, js *out, int *channels) {
    js *pairs = js_new_array();
    int most = 0;
    for (int i = 0; i < log->n_pairs; i++) {
        const struct nccl_log_pair *pair = &log->pairs[i];
        if (pair->from >= set->n || pair->to >= set->n)
            continue;
        js_append(pairs, describe_pair(set, pair));
        most = nccl_log_channels(pair) > most ? nccl_log_channels(pair) : most;
    }
    js_set(out, "pairs", pairs);
    js_set(out, "collective_channels", log->collective >= 0 ? js_new_int(log->collective) : js_new_null());
    js_set(out, "nvls_channels", log->nvls >= 0 ? js_new_int(log->nvls) : js_new_null());
    js_set(out, "p2p_channels", log->peer >= 0 ? js_new_int(log->peer) : js_new_null());
    *channels = log->collective > 0 ? log->collective : most;
    return *channels > 0;
}

/* ---- the item ---- */

static bool reduce_once(struct nccl_rank *rank, void *arg, struct error *err) {
    struct nccl_shape shape;
    (void)arg;
    nccl_shape_make(NCCL_ALL_REDUCE, rank->set->n, NCCL_FLOAT, PATHS_BYTES, false, &shape);
    rank->stage = NCCL_ISSUING;
    return (nccl_issue(rank->set->nccl, &shape, rank->rank, rank->send, rank->receive, rank->comm,
                       rank->stream, err) &&
            nccl_wait(rank, err)) ||
           RELAY(err);
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    struct nccl_set_options options = {.absent_rank =
                                           -1}; /* its process is its own: nothing older is found */
    struct nccl_set *set = NULL;
    struct text text = {0};
    int fd = -1, channels = 0;
    bool opened = open_log(context, &fd, err);
    off_t before = opened ? lseek(fd, 0, SEEK_END) : 0;
    bool got = opened && nccl_set_get(context, &options, &set, err);
    bool good = got && nccl_set_room(context, set, PATHS_BYTES, err) &&
                nccl_set_run(context, set, reduce_once, NULL, err);
    if (good) {
        struct nccl_log *log = mem_zeroed(1, sizeof *log);
        read_log(fd, before, &text);
        nccl_log_read(text_string(&text), text.length, log);
        good = tell(set, log, context->extra, &channels) ||
               FAIL(err, ERROR_ABSENT, "transport unknown: NCCL's log (%zu bytes) tells no channel",
                    text.length);
        free(log);
    }
    if (good)
        samples_add(out, channels);
    if (got && set->failed) /* else it ends with its process: leaving takes as long as joining */
        nccl_set_drop(context, set, true);
    text_free(&text);
    return good || RELAY(err);
}

const struct bench_case case_nccl_paths = {
    .name = "nccl.paths",
    .version = 1,
    .summary = "how NCCL connects the GPUs: transport and channels of each pair",
    .block = BLOCK_OWN,
    .needs = {.gpus = 1, .nccl = true},
    .control = nccl_control,
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
