/* SPDX-License-Identifier: Apache-2.0 */
/* A thread on another core that wakes the caller through an eventfd after an idle time, as a GPU's completion
 * does: no timer that the idle core could foresee. */
#ifndef GPUVET_BENCH_HOST_WAKER_H
#define GPUVET_BENCH_HOST_WAKER_H

#include "base/error.h"

#include <stdint.h>

struct waker;

/* Starts the thread on this CPU (OS index); it wakes the caller `idle_ns` after it went to sleep. NULL with
 * `err`. */
struct waker *waker_start(int cpu, int64_t idle_ns, struct error *err);
/* Sleeps until woken; nanoseconds from just before the waker's write to the return. */
bool waker_lateness(struct waker *waker, int64_t *ns, struct error *err);
void waker_stop(struct waker *waker); /* NULL allowed */

#endif
