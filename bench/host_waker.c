/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/host_waker.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bench/host_common.h"
#include "bench/host_team.h"
#include "system/pin.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The waker sleeps itself until so long before its time, then spins: its own way out of idle stays out of
 * the figure, and for most of a long idle time its core is as quiet as the measured one. */
static const int64_t spin_ns = 200 * NS_PER_US;

enum { BEGINNING, READY, FAILED };
enum { NEVER = 0, OVER = -1 };

struct waker {
    pthread_t thread;
    int cpu, fd;
    int64_t idle_ns;
    atomic_int state;
    _Atomic int64_t asleep_at; /* when the caller went to sleep, NEVER or OVER */
    _Atomic int64_t woken_at;  /* just before the write that ends it */
    struct error err;
};

static int64_t next_sleep(struct waker *w, int64_t last) {
    int64_t start;
    while ((start = atomic_load_explicit(&w->asleep_at, memory_order_acquire)) == last)
        host_relax();
    return start;
}

static void wait_until(int64_t target) {
    if (target - host_monotonic() > 2 * spin_ns)
        host_sleep_until(target - spin_ns);
    while (host_monotonic() < target)
        host_relax();
}

static void *waker_thread(void *argument) {
    struct waker *w = argument;
    bool good = pin_thread(w->cpu, &w->err);
    prctl(PR_SET_TIMERSLACK, 1UL); /* of this thread alone */
    atomic_store(&w->state, good ? READY : FAILED);
    int64_t last = NEVER;
    while (good && (last = next_sleep(w, last)) != OVER) {
        wait_until(last + w->idle_ns);
        atomic_store_explicit(&w->woken_at, host_monotonic(), memory_order_release);
        if (eventfd_write(w->fd, 1) != 0)
            abort(); /* the sleeper would never wake: the supervisor reports the crash */
    }
    return NULL;
}

struct waker *waker_start(int cpu, int64_t idle_ns, struct error *err) {
    struct waker *w = mem_zeroed(1, sizeof *w);
    w->cpu = cpu;
    w->idle_ns = idle_ns;
    w->fd = eventfd(0, EFD_CLOEXEC);
    int why = w->fd < 0 ? errno : pthread_create(&w->thread, NULL, waker_thread, w);
    if (why != 0) {
        FAIL_NATIVE(err, ERROR_SYSTEM, why, "cannot start a thread that wakes another: %s", strerror(why));
        if (w->fd >= 0)
            close(w->fd);
        free(w);
        return NULL;
    }
    int state;
    while ((state = atomic_load(&w->state)) == BEGINNING)
        host_sleep_until(host_monotonic() + 100 * NS_PER_US);
    if (state == READY)
        return w;
    *err = w->err;
    RELAY(err);
    waker_stop(w);
    return NULL;
}

bool waker_lateness(struct waker *w, int64_t *ns, struct error *err) {
    eventfd_t value;
    atomic_store_explicit(&w->asleep_at, host_monotonic(), memory_order_release);
    while (eventfd_read(w->fd, &value) != 0)
        if (errno != EINTR)
            return FAIL_NATIVE(err, ERROR_SYSTEM, errno, "cannot wait for another core: %s", strerror(errno));
    *ns = host_monotonic() - atomic_load_explicit(&w->woken_at, memory_order_acquire);
    return true;
}

void waker_stop(struct waker *w) {
    if (w == NULL)
        return;
    atomic_store(&w->asleep_at, OVER);
    pthread_join(w->thread, NULL);
    close(w->fd);
    free(w);
}
