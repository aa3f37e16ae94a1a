/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.fault: collectives that go wrong on purpose, one way an instance, so that tests can prove that each
 * costs one item only and is called by its name. */
#include "bench/nccl_common.h"
#include "bench/nccl_set.h"
#include "kernels/fault.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

enum { FAULT_BYTES = 4 << 20, SMALL_SHM_MIB = 64 };

static const struct metric metrics[] = {{"value", QUANTITY_COUNT, TIMING_HOST}, {0}};
static const struct series_row series[] = {{.metric = "value", .statistic = "", .delta_rel = 0.02}, {0}};

/* Ways that need no GPU, one, and two. */
static const char *const host_ways[] = {"stopped", "hangs-with-p2p"};
static const char *const gpu_ways[] = {"none", "missing-rank", "endless-kernel", "aborted", "stopped-rank"};
static const char silent[] = "silent-with-p2p";
static const char no_space[] = "no-space";

static struct instance *add_on_gpus(const struct p2p_party *party, const struct nccl_group *group,
                                    const char *how, struct instance_list *out) {
    struct instance *instance = nccl_instance(party, group, &metrics[0], LEVEL_HIDDEN, out);
    js_set_string(instance->params, "how", how);
    instance->seconds = 0.6; /* of which the deadline is ten times: NCCL is loaded and joined in 2 s */
    return instance;
}

static void instances(const struct node *node, struct instance_list *out) {
    struct p2p_party party;
    struct nccl_group group = {.gpus = {0, 1}};
    p2p_gather(node, &party);
    for (size_t i = 0; i < sizeof host_ways / sizeof *host_ways; i++) {
        struct instance *instance = instance_add(out, &metrics[0], LEVEL_HIDDEN);
        js_set_string(instance->params, "how", host_ways[i]);
        instance->seconds = 0.01;
    }
    group.n = party.n >= 2 ? 2 : party.n;
    for (size_t i = 0; group.n > 0 && i < sizeof gpu_ways / sizeof *gpu_ways; i++)
        add_on_gpus(&party, &group, gpu_ways[i], out);
    if (group.n < 2)
        return;
    add_on_gpus(&party, &group, silent, out);
    struct instance *instance = add_on_gpus(&party, &group, no_space, out);
    js_set_int(instance->params, "shm_mib", SMALL_SHM_MIB);
    instance->env = js_new_object();
    js_set_string(instance->env, "NCCL_P2P_DISABLE", "1");
    js_set_string(instance->env, "NCCL_CUMEM_HOST_ENABLE", "0"); /* or newer ones need no /dev/shm */
}

/* A small /dev/shm that only this process sees. */
static bool shrink_shm(int64_t mib, struct error *err) {
    char size[32];
    snprintf(size, sizeof size, "size=%lldm", (long long)mib);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, size) != 0)
        return FAIL_NATIVE(err, ERROR_ABSENT, errno, "a small /dev/shm cannot be made (needs root): %s",
                           strerror(errno));
    return true;
}

static _Noreturn void wait_for_ever(void) {
    for (;;)
        pause();
}

static bool without_p2p(void) {
    const char *disabled = getenv("NCCL_P2P_DISABLE");
    return disabled != NULL && strcmp(disabled, "1") == 0;
}

static bool reduce(struct nccl_rank *rank, struct error *err) {
    struct nccl_shape shape;
    nccl_shape_make(NCCL_ALL_REDUCE, rank->set->n, NCCL_FLOAT, FAULT_BYTES, false, &shape);
    rank->stage = NCCL_ISSUING;
    return (nccl_issue(rank->set->nccl, &shape, rank->rank, rank->send, rank->receive, rank->comm,
                       rank->stream, err) &&
            nccl_wait(rank, err)) ||
           RELAY(err);
}

/* One operation went well, so connections and buffers are in use; in the second the other ranks' GPUs wait
 * for this one for ever. What the ranks are at is told several times a second: first a moment for it. */
static bool fall_silent(struct nccl_rank *rank, bool stopped, struct error *err) {
    struct timespec moment = {.tv_nsec = 800000000};
    if (!reduce(rank, err))
        return RELAY(err);
    if (rank->rank != 0)
        return reduce(rank, err) || RELAY(err);
    rank->stage = NCCL_ISSUING;
    nanosleep(&moment, NULL);
    if (!stopped)
        wait_for_ever();
    if (raise(SIGSTOP) != 0)
        return FAIL(err, ERROR_SYSTEM, "this process cannot stop itself");
    return reduce(rank, err) || RELAY(err); /* somebody let it go on */
}

/* Each rank: one operation, with what goes wrong before it. */
static bool reduce_once(struct nccl_rank *rank, void *arg, struct error *err) {
    const char *how = arg;
    struct timespec moment = {.tv_nsec = 200000000};
    bool stopped = strcmp(how, "stopped-rank") == 0;
    if (stopped || (strcmp(how, silent) == 0 && !without_p2p()))
        return fall_silent(rank, stopped, err) || RELAY(err);
    if (rank->rank == 0 && strcmp(how, "endless-kernel") == 0 &&
        !gpu_check(fault_spin_forever(rank->stream), "cannot launch a kernel that never ends", err))
        return RELAY(err);
    if (rank->rank == 0 && strcmp(how, "aborted") == 0) {
        nanosleep(&moment, NULL);
        return FAIL(err, ERROR_GPU, "this rank gives up, and the communicator is aborted");
    }
    return reduce(rank, err) || RELAY(err);
}

static bool reduce_wrongly(struct case_context *context, const char *how, struct error *err) {
    struct nccl_set *set = NULL;
    struct nccl_set_options options = {.absent_rank = -1, .fresh = true};
    char *way = strdup(how);
    if (strcmp(how, "missing-rank") == 0)
        options.absent_rank = context->n_gpus - 1;
    bool got = way != NULL && nccl_set_get(context, &options, &set, err);
    bool good = got && nccl_set_room(context, set, FAULT_BYTES, err) &&
                nccl_set_run(context, set, reduce_once, way, err);
    if (got)
        nccl_set_drop(context, set, !good);
    free(way);
    return good || RELAY(err);
}

static bool sample(struct case_context *context, struct samples *out, struct error *err) {
    const char *how = case_text(context, "how");
    samples_add(out, 1);
    if (strcmp(how, "stopped") == 0)
        return raise(SIGSTOP) == 0;
    if (strcmp(how, "hangs-with-p2p") == 0 && !without_p2p())
        wait_for_ever();
    if (strcmp(how, no_space) == 0 && !shrink_shm(case_number(context, "shm_mib"), err))
        return RELAY(err);
    return context->n_gpus == 0 || reduce_wrongly(context, how, err) || RELAY(err);
}

const struct bench_case case_nccl_fault = {
    .name = "nccl.fault",
    .version = 1,
    .summary = "collectives that go wrong on purpose",
    .block = BLOCK_COLLECTIVE,
    .hidden = true,
    .needs = {.nccl = true},
    .control = nccl_control,
    .metrics = metrics,
    .series = series,
    .instances = instances,
    .sample = sample,
};
