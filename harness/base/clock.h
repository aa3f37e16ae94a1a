/* SPDX-License-Identifier: Apache-2.0 */
/* Time, real or made up. Code that waits or stamps takes a struct clock, so that the whole pipeline also runs
 * under a fake one, in which sleeping only moves the hand. Durations are nanoseconds in int64_t. */
#ifndef GPUVET_BASE_CLOCK_H
#define GPUVET_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

struct clock {
    bool fake;
    int64_t fake_monotonic; /* ns */
    int64_t fake_wall;      /* ns since 1970 */
};

/* The real clock, or a fake one that starts at `wall_start` (ns since 1970) and monotonic 0. */
struct clock clock_real(void);
struct clock clock_fake(int64_t wall_start);

/* CLOCK_MONOTONIC: for deadlines and waiting; setting the wall clock does not move it. */
int64_t clock_now(const struct clock *clock);
/* CLOCK_REALTIME, for stamps only. */
int64_t clock_wall(const struct clock *clock);
/* Sleeps (or moves the fake hand); a signal ends it early. */
void clock_sleep(struct clock *clock, int64_t ns);

/* CLOCK_MONOTONIC_RAW, always real: for samples. Nobody slews it, so that a
 * correction of the wall clock that falls into a run does not show as a change. */
int64_t clock_raw(void);

enum { CLOCK_STAMP_SIZE = 32 };
/* "2026-01-31T12:00:00.123Z" */
void clock_stamp(int64_t wall_ns, char out[CLOCK_STAMP_SIZE]);
/* "20260131T120000Z", for file names. */
void clock_stamp_compact(int64_t wall_ns, char out[CLOCK_STAMP_SIZE]);

#endif
