/* SPDX-License-Identifier: Apache-2.0 */
/* Is a warm-up over? Two batches in a row that take the same time say so only as long as what they ran on was
 * the same too: two equally slow ones on a link that is still coming up, or at a clock that is, are not it.
 */
#ifndef GPUVET_RUN_STEADY_H
#define GPUVET_RUN_STEADY_H

#include "base/json.h"

#include <stdbool.h>

struct steady {
    double tolerance; /* of the batches' times, relative; set by the caller, the rest zero */
    int batches;
    double seconds, mhz; /* of the last batch */
    js *links;           /* as they were in it, owned */
};

/* Takes one more batch: `mhz` is the mean SM clock in it, not above 0 where unknown; `links` what
 * run/link_look.h keeps, NULL: no link is filled. True when it agrees with the one before in all that is
 * known of both: the time within the tolerance, the clock within 1 %, generation and width of each link. */
bool steady_agrees(struct steady *steady, double seconds, double mhz, const js *links);
void steady_free(struct steady *steady);

#endif
