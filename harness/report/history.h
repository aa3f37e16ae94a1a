/* SPDX-License-Identifier: Apache-2.0 */
/* Series over many runs. */
#ifndef GPUVET_REPORT_HISTORY_H
#define GPUVET_REPORT_HISTORY_H

#include "report/parts.h"

struct trend {
    const char *key, *unit; /* borrowed */
    char *label;            /* owned */
    bool primary, higher_is_better;
    double delta; /* the smallest change that matters, relative */
    size_t n;
    size_t *runs;                /* of each value, from 0 */
    double *values, *low, *high; /* medians, and the middle half of each run's rounds */
    double slope;                /* Theil and Sen's, per run, relative to the median */
    double p;                    /* of no trend at all (Mann and Kendall); NAN under 4 runs */
};

struct history {
    struct trend *trends; /* primary first, then the surest trend first */
    size_t n;
};

void history_make(const struct report *r, struct history *out);
void history_free(struct history *h);

#endif
