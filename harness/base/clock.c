/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id) {
    struct timespec t = {0};
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

struct clock clock_real(void) {
    return (struct clock){0};
}

struct clock clock_fake(int64_t wall_start) {
    return (struct clock){.fake = true, .fake_wall = wall_start};
}

int64_t clock_now(const struct clock *clock) {
    return clock->fake ? clock->fake_monotonic : read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall(const struct clock *clock) {
    return clock->fake ? clock->fake_wall : read_clock(CLOCK_REALTIME);
}

void clock_sleep(struct clock *clock, int64_t ns) {
    if (ns <= 0)
        return;
    if (clock->fake) {
        clock->fake_monotonic += ns;
        clock->fake_wall += ns;
        return;
    }
    struct timespec t = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

int64_t clock_raw(void) {
    return read_clock(CLOCK_MONOTONIC_RAW);
}

static void stamp(int64_t wall_ns, const char *format, const char *end, char out[CLOCK_STAMP_SIZE]) {
    time_t seconds = (time_t)(wall_ns / NS_PER_S);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    size_t n = strftime(out, CLOCK_STAMP_SIZE, format, &parts);
    snprintf(out + n, CLOCK_STAMP_SIZE - n, "%s", end);
}

void clock_stamp(int64_t wall_ns, char out[CLOCK_STAMP_SIZE]) {
    char end[8];
    snprintf(end, sizeof end, ".%03uZ", (unsigned)(wall_ns / NS_PER_MS % 1000) % 1000U);
    stamp(wall_ns, "%Y-%m-%dT%H:%M:%S", end, out);
}

void clock_stamp_compact(int64_t wall_ns, char out[CLOCK_STAMP_SIZE]) {
    stamp(wall_ns, "%Y%m%dT%H%M%S", "Z", out);
}
