/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/nccl_set.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "bench/host_common.h"
#include "run/stage.h"
#include "run/where.h"
#include "system/pin.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_SETS = 64, SPINS_BEFORE_YIELD = 20000 };
static const char shelf_name[] = "nccl";
static const long tell_every_ns = 200 * NS_PER_MS;

/* What is kept for later items. */
struct kept {
    struct nccl *nccl;
    bool hashed;
    struct {
        char *key;
        struct nccl_set *set;
    } sets[MAX_SETS];
    int n_sets;
    struct {
        int ordinal;
        void *send, *receive;
        size_t room;
    } buffers[WHERE_MAX_GPUS];
    int n_buffers;
};

static struct kept *kept_of(struct case_context *context) {
    struct kept *kept = shelf_find(context->shelf, shelf_name);
    if (kept == NULL) {
        kept = mem_zeroed(1, sizeof *kept);
        shelf_put(context->shelf, shelf_name, kept);
    }
    return kept;
}

/* ---- threads ---- */

struct team {
    struct nccl_set *set;
    nccl_work_fn *work;
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int running;
    struct error first; /* failure */
};

struct seat {
    struct team *team;
    struct nccl_rank *rank;
    pthread_t thread;
};

/* Those who wait for a rank that will not come are told. */
static void set_failed(struct nccl_set *set) {
    set->failed = true;
    pthread_mutex_lock(&set->gathering);
    pthread_cond_broadcast(&set->gathered);
    pthread_mutex_unlock(&set->gathering);
}

static void *run_rank(void *arg) {
    struct seat *seat = arg;
    struct team *team = seat->team;
    struct error err = {0};
    bool good = gpu_use(&seat->rank->device, &err) && team->work(seat->rank, team->arg, &err);
    seat->rank->stage = good ? NCCL_DONE : seat->rank->stage;
    pthread_mutex_lock(&team->lock);
    if (!good && team->first.kind == ERROR_NONE) {
        error_context(&err, "rank %d (%s)", seat->rank->rank, seat->rank->device.bdf);
        team->first = err;
    }
    if (!good)
        set_failed(team->set);
    team->running--;
    pthread_cond_signal(&team->changed);
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

/* The others wait in operations that never end now; from outside only an abort gets them back. */
static void abort_all(struct nccl_set *set) {
    for (int i = 0; i < set->n; i++) {
        nccl_comm comm = set->ranks[i].comm;
        set->ranks[i].comm = NULL;
        if (set->nccl != NULL)
            nccl_abort(set->nccl, comm);
    }
}

static void tell_stage(struct case_context *context, struct team *team) {
    char words[400];
    nccl_set_describe(team->set, words, sizeof words);
    pthread_mutex_lock(&team->lock);
    bool failed = team->first.kind != ERROR_NONE;
    stage_set(shelf_find(context->shelf, STAGE_ON_SHELF), "%s%.200s%s", words, failed ? "; " : "",
              failed ? team->first.text : "");
    pthread_mutex_unlock(&team->lock);
}

/* While a communicator is being made there is nothing to abort yet; NCCL itself tells the others then. */
static bool can_abort(const struct nccl_set *set) {
    for (int i = 0; i < set->n; i++)
        if (set->ranks[i].stage == NCCL_JOINING || set->ranks[i].stage == NCCL_NOT_COME)
            return false;
    return true;
}

/* Meanwhile the supervisor can read what each rank is at. After a failure the others are given a moment to
 * notice it by themselves: a communicator must not go while somebody still asks it something. */
static void wait_for_all(struct case_context *context, struct team *team) {
    enum { PATIENCE = 4 };
    int since_failure = 0;
    bool aborted = false;
    pthread_mutex_lock(&team->lock);
    while (team->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += tell_every_ns;
        until.tv_sec += until.tv_nsec / NS_PER_S;
        until.tv_nsec %= NS_PER_S;
        bool woken = pthread_cond_timedwait(&team->changed, &team->lock, &until) == 0;
        since_failure += team->set->failed && !woken ? 1 : 0;
        bool abort_now = since_failure >= PATIENCE && !aborted && team->running > 0 && can_abort(team->set);
        pthread_mutex_unlock(&team->lock);
        tell_stage(context, team);
        if (abort_now)
            abort_all(team->set);
        aborted = aborted || abort_now;
        pthread_mutex_lock(&team->lock);
    }
    pthread_mutex_unlock(&team->lock);
}

bool nccl_set_run(struct case_context *context, struct nccl_set *set, nccl_work_fn *work, void *arg,
                  struct error *err) {
    struct team team = {.set = set, .work = work, .arg = arg};
    struct seat *seats = mem_zeroed((size_t)set->n, sizeof *seats);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&team.lock, NULL);
    pthread_cond_init(&team.changed, &monotonic);
    set->arrived = set->generation = 0;
    set->come = 0;
    set->failed = false;
    int started = 0;
    pthread_mutex_lock(&team.lock);
    for (; started < set->n; started++) {
        seats[started] = (struct seat){.team = &team, .rank = &set->ranks[started]};
        set->ranks[started].stage = NCCL_NOT_COME;
        if (pthread_create(&seats[started].thread, NULL, run_rank, &seats[started]) != 0)
            break;
        team.running++;
    }
    if (started < set->n) {
        FAIL(&team.first, ERROR_SYSTEM, "cannot start a thread for rank %d: see ulimit -u", started);
        set_failed(set);
    }
    pthread_mutex_unlock(&team.lock);
    wait_for_all(context, &team);
    for (int i = 0; i < started; i++)
        pthread_join(seats[i].thread, NULL);
    stage_set(shelf_find(context->shelf, STAGE_ON_SHELF), "%s", "");
    pthread_cond_destroy(&team.changed);
    pthread_mutex_destroy(&team.lock);
    pthread_condattr_destroy(&monotonic);
    free(seats);
    if (team.first.kind == ERROR_NONE)
        return true;
    *err = team.first;
    return RELAY(err);
}

bool nccl_barrier(struct nccl_rank *rank, struct error *err) {
    struct nccl_set *set = rank->set;
    int generation = set->generation;
    int stage = rank->stage;
    rank->stage = NCCL_AT_BARRIER;
    if (atomic_fetch_add(&set->arrived, 1) + 1 == set->n) {
        set->arrived = 0;
        set->generation = generation + 1;
    }
    for (int spins = 0; set->generation == generation; spins++) {
        if (set->failed)
            return FAIL(err, ERROR_GPU, "another rank failed");
        if (spins > SPINS_BEFORE_YIELD) /* more ranks than cores */
            sched_yield();
    }
    rank->stage = stage;
    return true;
}

bool nccl_gather(struct nccl_rank *rank, struct error *err) {
    struct nccl_set *set = rank->set;
    int stage = rank->stage;
    rank->stage = NCCL_AT_BARRIER;
    pthread_mutex_lock(&set->gathering);
    int meeting = set->meetings;
    if (++set->come == set->n) {
        set->come = 0;
        set->meetings++;
        pthread_cond_broadcast(&set->gathered);
    }
    while (set->meetings == meeting && !set->failed)
        pthread_cond_wait(&set->gathered, &set->gathering);
    bool all = set->meetings != meeting;
    pthread_mutex_unlock(&set->gathering);
    rank->stage = stage;
    return all || FAIL(err, ERROR_GPU, "another rank failed");
}

void nccl_settle(struct nccl_rank *rank) {
    struct error ignored = {0};
    if (rank->cpu >= 0)
        pin_thread(rank->cpu, &ignored);
}

bool nccl_wait(struct nccl_rank *rank, struct error *err) {
    bool done = false;
    rank->stage = NCCL_WAITING;
    while (gpu_stream_done(rank->stream, &done, err) && !done) {
        nccl_comm comm = rank->comm;
        if (rank->set->failed)
            return FAIL(err, ERROR_GPU, "another rank failed");
        if (comm != NULL && !nccl_sound(rank->set->nccl, comm, err))
            return RELAY(err);
        sched_yield(); /* with every question: while one rank asks, another issues through the same driver */
    }
    return done || RELAY(err);
}

void nccl_set_describe(const struct nccl_set *set, char *out, size_t size) {
    static const char *const words[NCCL_STAGES] = {
        [NCCL_NOT_COME] = "has not come",
        [NCCL_JOINING] = "waits for the others to join the communicator",
        [NCCL_PREPARING] = "prepares its data",
        [NCCL_ISSUING] = "issues operations",
        [NCCL_WAITING] = "waits for its GPU to end what was issued",
        [NCCL_AT_BARRIER] = "waits for the other ranks",
        [NCCL_DONE] = "is through",
    };
    struct text all = {0};
    for (int i = 0; i < set->n; i++) {
        int stage = set->ranks[i].stage;
        text_addf(&all, "%srank %d (%s) %s", i > 0 ? ", " : "", i, set->ranks[i].device.bdf,
                  stage >= 0 && stage < NCCL_STAGES ? words[stage] : "?");
    }
    snprintf(out, size, "%s", text_string(&all));
    text_free(&all);
}

/* ---- making ---- */

struct joining {
    struct nccl_id id;
    int absent;
};

static bool join(struct nccl_rank *rank, void *arg, struct error *err) {
    const struct joining *joining = arg;
    const struct nccl_set *set = rank->set;
    while (rank->rank == joining->absent) { /* a fault that was asked for */
        struct timespec second = {.tv_sec = 1};
        nanosleep(&second, NULL);
    }
    rank->stage = NCCL_JOINING;
    return nccl_join(set->nccl, set->n, &joining->id, rank->rank, &rank->comm, err) || RELAY(err);
}

static bool make_streams(struct nccl_set *set, struct error *err) {
    for (int i = 0; i < set->n; i++)
        if (!gpu_use(&set->ranks[i].device, err) || !gpu_stream_make(&set->ranks[i].stream, err))
            return RELAY(err);
    return true;
}

static bool make_communicators(struct case_context *context, struct nccl_set *set,
                               const struct nccl_set_options *options, struct error *err) {
    struct joining joining = {.absent = options->absent_rank};
    int64_t start = clock_raw();
    for (int i = 0; i < set->n; i++)
        if (!nccl_fits(set->nccl, &set->ranks[i].device, err))
            return RELAY(err);
    bool good = nccl_make_id(set->nccl, &joining.id, err) && nccl_set_run(context, set, join, &joining, err);
    set->join_seconds = (double)(clock_raw() - start) / 1e9;
    return good || RELAY(err);
}

static void free_set(struct nccl_set *set) {
    for (int i = 0; i < set->n; i++)
        gpu_stream_free(set->ranks[i].stream);
    pthread_mutex_destroy(&set->gathering);
    pthread_cond_destroy(&set->gathered);
    free(set->ranks);
    free(set);
}

/* The ranks' GPUs: places in context->gpus. */
static bool seat_ranks(const struct case_context *context, struct nccl_set *set, struct error *err) {
    const js *order = js_get(context->attributes, "order");
    int *cpus = mem_zeroed((size_t)context->n_gpus, sizeof *cpus);
    int n_cpus = host_cpus(context, cpus, context->n_gpus);
    set->n = context->n_gpus;
    set->ranks = mem_zeroed((size_t)set->n, sizeof *set->ranks);
    bool good = set->n > 0 || FAIL(err, ERROR_DATA, "no GPU is named");
    for (int i = 0; good && i < set->n; i++) {
        int64_t place = js_length(order) == (size_t)set->n ? js_int(js_at(order, (size_t)i), -1) : i;
        if (place < 0 || place >= set->n)
            good = FAIL(err, ERROR_DATA, "the order of the ranks is no order");
        else
            set->ranks[i] = (struct nccl_rank){.set = set,
                                               .rank = i,
                                               .cpu = n_cpus == set->n ? cpus[i] : -1,
                                               .device = context->gpus[place]};
    }
    free(cpus);
    return good;
}

static char *key_of(const struct nccl_set *set) {
    struct text key = {0};
    for (int i = 0; i < set->n; i++)
        text_addf(&key, "%d+", set->ranks[i].device.ordinal);
    text_addf(&key, "%s", set->nccl == NULL ? "alone" : "");
    return text_take(&key);
}

static struct nccl_set *find_set(const struct kept *kept, const char *key) {
    for (int i = 0; i < kept->n_sets; i++)
        if (strcmp(kept->sets[i].key, key) == 0)
            return kept->sets[i].set;
    return NULL;
}

static bool load_nccl(struct case_context *context, struct kept *kept, struct error *err) {
    js *about = js_new_object();
    bool hash = context->round == 0 && !kept->hashed;
    bool good = kept->nccl != NULL || nccl_open(&kept->nccl, err);
    if (good)
        nccl_describe(kept->nccl, hash, about);
    kept->hashed = kept->hashed || (good && hash);
    js_set(context->extra, "nccl", about);
    return good || RELAY(err);
}

/* An old set of the same GPUs keeps its communicators and takes the new item's cores. */
static struct nccl_set *reuse(struct nccl_set *old, struct nccl_set *asked) {
    for (int i = 0; i < old->n; i++)
        old->ranks[i].cpu = asked->ranks[i].cpu;
    old->join_seconds = 0;
    free_set(asked);
    return old;
}

bool nccl_set_get(struct case_context *context, const struct nccl_set_options *options, struct nccl_set **out,
                  struct error *err) {
    struct kept *kept = kept_of(context);
    *out = NULL;
    if (!options->without_nccl && !load_nccl(context, kept, err))
        return RELAY(err);
    struct nccl_set *set = mem_zeroed(1, sizeof *set);
    set->nccl = options->without_nccl ? NULL : kept->nccl;
    pthread_mutex_init(&set->gathering, NULL);
    pthread_cond_init(&set->gathered, NULL);
    if (!seat_ranks(context, set, err)) {
        free_set(set);
        return RELAY(err);
    }
    char *key = key_of(set);
    struct nccl_set *old = options->fresh ? NULL : find_set(kept, key);
    if (old != NULL) {
        free(key);
        *out = reuse(old, set);
        return true;
    }
    bool good =
        make_streams(set, err) && (options->without_nccl || make_communicators(context, set, options, err));
    if (!good || options->fresh || kept->n_sets == MAX_SETS) {
        free(key);
    } else {
        kept->sets[kept->n_sets].key = key;
        kept->sets[kept->n_sets++].set = set;
    }
    if (good && set->join_seconds > 0)
        js_set_number(context->extra, "communicator_seconds", set->join_seconds);
    if (good)
        *out = set;
    else
        free_set(set); /* what was aborted or never made is not left: leaving waits for the others */
    return good || RELAY(err);
}

void nccl_set_drop(struct case_context *context, struct nccl_set *set, bool broken) {
    struct kept *kept = kept_of(context);
    for (int i = 0; i < kept->n_sets; i++)
        if (kept->sets[i].set == set) {
            free(kept->sets[i].key);
            kept->sets[i] = kept->sets[--kept->n_sets];
            break;
        }
    if (broken || set->nccl == NULL)
        abort_all(set);
    for (int i = 0; i < set->n && set->nccl != NULL; i++)
        nccl_leave(set->nccl, set->ranks[i].comm);
    free_set(set);
}

/* ---- memory ---- */

static bool buffers_of(struct kept *kept, struct nccl_rank *rank, size_t bytes, struct error *err) {
    int at = 0;
    while (at < kept->n_buffers && kept->buffers[at].ordinal != rank->device.ordinal)
        at++;
    if (at == WHERE_MAX_GPUS)
        return FAIL(err, ERROR_DATA, "more than %d GPUs", WHERE_MAX_GPUS);
    if (at == kept->n_buffers) {
        kept->buffers[at].ordinal = rank->device.ordinal;
        kept->n_buffers++;
    }
    bool good = gpu_use(&rank->device, err);
    if (good && kept->buffers[at].room < bytes) {
        gpu_free(kept->buffers[at].send);
        gpu_free(kept->buffers[at].receive);
        kept->buffers[at].send = kept->buffers[at].receive = NULL;
        kept->buffers[at].room = 0;
        good = gpu_alloc(bytes, &kept->buffers[at].send, err) &&
               gpu_alloc(bytes, &kept->buffers[at].receive, err);
        kept->buffers[at].room = good ? bytes : 0;
    }
    rank->send = kept->buffers[at].send;
    rank->receive = kept->buffers[at].receive;
    return good || RELAY(err);
}

bool nccl_set_room(struct case_context *context, struct nccl_set *set, size_t bytes, struct error *err) {
    struct kept *kept = kept_of(context);
    for (int i = 0; i < set->n; i++)
        if (!buffers_of(kept, &set->ranks[i], bytes, err))
            return RELAY(err);
    return gpu_use(&set->ranks[0].device, err) || RELAY(err);
}
