/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/host_team.h"

#include "base/mem.h"
#include "system/pin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum go { GO_WAIT, GO_RUN, GO_HOME };

struct member {
    struct host_team *team;
    int index, cpu;
    struct error err;
    bool pinned;
};

struct host_team {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum go go; /* under `lock` */
    int n;
    atomic_int here;
    atomic_uint turn;
    void (*body)(struct host_team *team, void *shared, int index);
    void *shared;
};

void host_team_meet(struct host_team *team) {
    unsigned turn = atomic_load(&team->turn);
    if (atomic_fetch_add(&team->here, 1) + 1 == team->n) {
        atomic_store(&team->here, 0);
        atomic_fetch_add(&team->turn, 1);
        return;
    }
    while (atomic_load_explicit(&team->turn, memory_order_acquire) == turn)
        host_relax();
}

static void say(struct host_team *team, enum go go) {
    pthread_mutex_lock(&team->lock);
    team->go = go;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
}

static void *member_thread(void *argument) {
    struct member *m = argument;
    struct host_team *team = m->team;
    m->pinned = pin_thread(m->cpu, &m->err);
    pthread_mutex_lock(&team->lock);
    while (team->go == GO_WAIT)
        pthread_cond_wait(&team->changed, &team->lock);
    bool run = team->go == GO_RUN;
    pthread_mutex_unlock(&team->lock);
    if (run)
        team->body(team, team->shared, m->index);
    return NULL;
}

bool host_team_run(const int *cpus, int n, void (*body)(struct host_team *team, void *shared, int index),
                   void *shared, struct error *err) {
    struct host_team team = {.lock = PTHREAD_MUTEX_INITIALIZER,
                             .changed = PTHREAD_COND_INITIALIZER,
                             .n = n,
                             .body = body,
                             .shared = shared};
    struct member *members = mem_zeroed((size_t)n, sizeof *members);
    pthread_t *threads = mem_zeroed((size_t)n, sizeof *threads);
    int started = 0;
    for (; started < n; started++) {
        members[started] = (struct member){.team = &team, .index = started, .cpu = cpus[started]};
        if (pthread_create(&threads[started], NULL, member_thread, &members[started]) != 0)
            break;
    }
    say(&team, started == n ? GO_RUN : GO_HOME);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    bool good = started == n || FAIL(err, ERROR_SYSTEM, "cannot start %d threads, only %d", n, started);
    for (int i = 0; good && i < n; i++)
        if (!members[i].pinned) {
            *err = members[i].err;
            good = RELAY(err);
        }
    free(threads);
    free(members);
    return good;
}
