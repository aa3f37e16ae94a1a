/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "bench/host_team.h"
#include "bench/host_waker.h"
#include "system/pin.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { TURNS = 50 };

/* The CPUs that we may run on; returns how many. */
static int allowed(int *out, int capacity) {
    cpu_set_t set;
    int n = 0;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE && n < capacity; cpu++)
        if (CPU_ISSET((size_t)cpu, &set))
            out[n++] = cpu;
    return n;
}

struct shared {
    atomic_int total;
    atomic_int early; /* someone went on before all had come */
    int n;
    int cpus[4];
};

static void body(struct host_team *team, void *argument, int index) {
    struct shared *s = argument;
    s->cpus[index] = pin_bound_cpu();
    for (int turn = 1; turn <= TURNS; turn++) {
        atomic_fetch_add(&s->total, 1);
        host_team_meet(team);
        if (atomic_load(&s->total) != turn * s->n)
            atomic_fetch_add(&s->early, 1);
        host_team_meet(team);
    }
}

static void all_meet(void **state) {
    (void)state;
    struct error err = {0};
    struct shared s = {0};
    int cpus[4];
    s.n = allowed(cpus, 4);
    if (!host_team_run(cpus, s.n, body, &s, &err))
        fail_msg("%s", err.text);
    assert_int_equal(atomic_load(&s.total), TURNS * s.n);
    assert_int_equal(atomic_load(&s.early), 0);
    for (int i = 0; i < s.n; i++)
        assert_int_equal(s.cpus[i], cpus[i]);
}

/* One that cannot be pinned keeps nobody waiting, and is reported. */
static void a_cpu_that_is_none(void **state) {
    (void)state;
    struct error err = {0};
    struct shared s = {.n = 2};
    int cpus[2];
    allowed(cpus, 1);
    cpus[1] = 1 << 20;
    assert_false(host_team_run(cpus, 2, body, &s, &err));
    assert_non_null(strstr(err.text, "out of range"));
    assert_int_equal(atomic_load(&s.early), 0);
}

static void wakes_again_and_again(void **state) {
    (void)state;
    struct error err = {0};
    int cpus[2];
    if (allowed(cpus, 2) < 2)
        skip_because("needs two CPUs");
    assert_true(pin_thread(cpus[0], &err));
    struct waker *waker = waker_start(cpus[1], 1000, &err);
    if (waker == NULL)
        fail_msg("%s", err.text);
    for (int i = 0; i < 100; i++) {
        int64_t ns = 0;
        assert_true(waker_lateness(waker, &ns, &err));
        assert_true(ns > 0);
    }
    waker_stop(waker);
    assert_true(pin_release(&err));
    waker_stop(NULL);
}

static void no_waker_without_its_core(void **state) {
    (void)state;
    struct error err = {0};
    assert_null(waker_start(1 << 20, 1000, &err));
    assert_non_null(strstr(err.text, "out of range"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_meet),
        cmocka_unit_test(a_cpu_that_is_none),
        cmocka_unit_test(wakes_again_and_again),
        cmocka_unit_test(no_waker_without_its_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
