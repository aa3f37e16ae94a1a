/* SPDX-License-Identifier: Apache-2.0 */
/* What gpuvet run can be told. */
#ifndef GPUVET_CLI_RUN_OPTIONS_H
#define GPUVET_CLI_RUN_OPTIONS_H

#include "base/error.h"
#include "base/options.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct run_values {
    const char *profile, *from, *label, *results, *baseline, *report, *nccl;
    struct strings cases, gpus, effects, in;
    int64_t seed;      /* -1: the baseline's, else 1 */
    int64_t rounds;    /* 0: the profile's */
    double wait_quiet; /* seconds */
    bool start, no_own_placement;
    bool dry_run, simulate, allow_busy, json, no_baseline, strict;
};

extern const struct option_row run_options[];
void run_defaults(void *values);

/* False: two of them contradict each other, or one would do nothing. */
bool run_options_check(const struct run_values *v, struct error *err);

#endif
